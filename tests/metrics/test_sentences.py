"""Metrics of explanations in plain language, and what they say about people's own."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
import sacrebleu

from saywhy.data import load_dataset
from saywhy.errors import DataError, InputError, OptionError
from saywhy.metrics import Bleu, InterRep, Sufficiency, evaluate, human_sentences
from saywhy.types import Example

from .stubs import WEIGHTS, StubModel, contributions, make_bench, say, sentence_bench

REFERENCES = [("a great film is good", "the film is great indeed"), ("bad is not good at all",), ()]
EXAMPLES = [Example((f"text {i}",), explanations=r) for i, r in enumerate(REFERENCES)]
SAID = ["a great film is great indeed", "bad is bad at all times", "anything"]


def trial(examples=EXAMPLES, said=SAID):
    return sentence_bench(examples).trial("hand", [say(e, s) for e, s in zip(examples, said, strict=True)])


def test_bleu_is_sacrebleus_on_the_corpus():
    result = Bleu().score(trial())
    padded = [[r[0] for r in REFERENCES[:2]], [REFERENCES[0][1], None]]
    expected = sacrebleu.corpus_bleu(SAID[:2], padded, tokenize="none", smooth_method="none")
    assert result.value == pytest.approx(expected.score)
    assert result.n == 2  # the third has nothing to compare with
    assert result.low <= result.value <= result.high


def test_bleu_options_change_it():
    capital = [Example(("x",), explanations=("A Good Film It Is",))]
    said = ["a good film it is"]
    assert Bleu(lowercase=False).score(trial(capital, said)).value == 0.0
    assert Bleu().score(trial(capital, said)).value == pytest.approx(100.0)
    one, two = (Bleu(references=n).score(trial(EXAMPLES[:1], SAID[:1])).value for n in (1, 2))
    assert one < two
    with pytest.raises(OptionError, match="tokenize must be one of none"):
        Bleu(tokenize="spacy")
    with pytest.raises(DataError, match="needs explanations people wrote"):
        Bleu().check(sentence_bench([Example(("x",))]))


def test_inter_rep_counts_trigrams_of_the_corpus():
    said = ["a b c d", "a b c e", "x y"]
    assert InterRep().score(trial(said=said)).value == pytest.approx(1 - 3 / 4)
    assert InterRep(n=1).score(trial(said=said)).value == pytest.approx(1 - 7 / 10)
    assert not InterRep().higher_is_better
    # The interval of a corpus without repetition is a point: resamples do not repeat anything.
    distinct = InterRep().score(trial(said=["a b c", "d e f", "g h i"]))
    assert (distinct.value, distinct.low, distinct.high) == (0.0, 0.0, 0.0)


def test_sentences_and_words_are_not_mixed():
    bench = make_bench(["a great film"])
    with pytest.raises(InputError, match="a sentence is needed, not word-scores"):
        InterRep().score(bench.trial("hand", contributions(bench)))
    with pytest.raises(OptionError, match="sufficiency measures explanations over words"):
        Sufficiency().check(sentence_bench(EXAMPLES))
    with pytest.raises(OptionError, match="so none can be erased"):
        sentence_bench(EXAMPLES, make_space=None).erasures  # noqa: B018


def test_evaluate_reads_sentences_that_are_there(monkeypatch):
    monkeypatch.setattr("saywhy.metrics.evaluation._load", lambda model: model)
    examples = EXAMPLES[:2]
    given = {"people": human_sentences(examples)}
    table = evaluate(StubModel(WEIGHTS), examples, given, ["bleu", "inter-rep"], erasure="delete")
    assert table["people", "bleu"].value == pytest.approx(100.0)
    with pytest.raises(OptionError, match="sufficiency measures explanations over words"):
        evaluate(StubModel(WEIGHTS), examples, given, "sufficiency", erasure="delete")
    with pytest.raises(DataError, match="has 0 explanations"):
        human_sentences(EXAMPLES)


@pytest.mark.realdata
def test_what_the_paper_has_for_people():
    """METHODS 7, number 41: the rows of MPII's Table 1 for the data themselves."""
    esnli = [e for e in load_dataset("esnli")["test"] if len(e.explanations) == 3]
    split = sentence_bench(esnli).trial("people", human_sentences(esnli))
    assert Bleu(samples=10).score(split).value == pytest.approx(22.685, abs=0.001)
    # The official files have apostrophes where people wrote them; in this copy they are words of their own.
    joined = [replace(e, explanations=tuple(re.sub(" ' ?", "'", s) for s in e.explanations)) for e in esnli]
    spoken = sentence_bench(joined).trial("people", human_sentences(joined))
    assert Bleu(samples=10).score(spoken).value == pytest.approx(22.5, abs=0.1)
    assert InterRep(samples=10).score(spoken).value == pytest.approx(0.395, abs=0.001)
    first = sentence_bench(joined).trial("people", human_sentences(joined, 0))
    assert InterRep(samples=10).score(first).value == pytest.approx(0.387, abs=0.001)
    cose = [e for e in load_dataset("cose")["dev"] if e.explanations]
    spoken = sentence_bench(cose).trial("people", human_sentences(cose))
    assert InterRep(samples=10).score(spoken).value == pytest.approx(0.163, abs=0.0005)
