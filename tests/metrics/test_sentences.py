"""Metrics of explanations in plain language, and what they say about people's own."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import sacrebleu

import saywhy
from saywhy.data import load_dataset
from saywhy.errors import CapabilityError, DataError, InputError, OptionError, SayWhyError
from saywhy.metrics import (
    Bleu,
    CriticScore,
    InterRep,
    LabelAccuracy,
    LabelFollows,
    Perplexity,
    Similarity,
    Sufficiency,
    Workbench,
    evaluate,
    human_sentences,
)
from saywhy.models.sentences import follow
from saywhy.types import Example, Prediction
from tests import zoo

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


HERE = Path(__file__).parent


def test_perplexity_is_that_of_the_language_model():
    metric = Perplexity(learned_from="planted-nli", order=2)
    people = list(load_dataset("planted-nli")["dev"])[:50]
    own = metric.score(sentence_bench(people).trial("people", human_sentences(people)))
    mixed = [say(e, " ".join(reversed(e.explanations[0].split()))) for e in people]
    assert 1 < own.value < 0.2 * metric.score(sentence_bench(people).trial("mixed", mixed)).value
    assert own.notes == ("by a language model of order 2 of the explanations of planted-nli",)
    known = Perplexity(learned_from="planted-nli:dev", order=2).score(
        sentence_bench(people).trial("people", human_sentences(people))
    )
    assert known.value < own.value
    assert "learned from 50 of these 50 examples: it is too low" in known.notes[0]
    silent = sentence_bench(people[:1]).trial("silent", [say(people[0], "")])
    with pytest.raises(SayWhyError, match="perplexity can use none"):
        metric.score(silent)
    with pytest.raises(OptionError, match="has no explanations in train"):
        Perplexity(learned_from="planted-reviews").score(silent)


def test_similarity(tmp_path):
    said = ["a great film", "bad is not good at all", "no"]
    result = Similarity().score(trial(said=said))
    assert result.values == pytest.approx((3 / (3 * 5) ** 0.5, 1.0))
    assert sum(result.bins.values()) == pytest.approx(1.0)
    assert result.bins["0.9"] == 0.5
    (tmp_path / "glove.txt").write_text("great 1 0\ngood 1 0\nbad -1 0\n")
    near = Similarity(vectors=str(tmp_path / "glove.txt"), references=1).score(
        trial(said=["good", "bad bad bad", "no"])
    )
    assert near.values == pytest.approx((1.0, 0.0))


def test_a_critic_and_a_reader_judge():
    label = [Example(e.texts, label="negative", explanations=e.explanations) for e in EXAMPLES]
    said = ["a great film", "the film", "nothing"]
    judged = CriticScore(critic=f"{HERE}/judges.py:Critic").score(trial(label, said))
    assert judged.value == pytest.approx(200 / 3)
    assert judged.bins == {"right": pytest.approx(200 / 3)}
    read = LabelAccuracy(reader=f"{HERE}/judges.py:Reader").score(trial(label, said))
    assert read.value == pytest.approx(2 / 3)  # the reader takes the first one for positive
    with pytest.raises(OptionError, match=r"critic-score needs critic=\.\.\., a model trained on critic-pairs"):
        CriticScore().check(sentence_bench(label))


PEOPLE = [
    ("one", "negative", "bad"),
    ("two", "positive", "great"),
    ("three", "positive", "good"),
    ("four", "negative", "dull"),
]


def test_a_critic_and_a_reader_judge_people():
    label = [Example((text,), label=name, explanations=(f"a {word} film",)) for text, name, word in PEOPLE]
    people = sentence_bench(label).trial("people", human_sentences(label))
    judged = CriticScore(critic=f"{HERE}/judges.py:Positive").score(people)
    assert judged.value == pytest.approx(50)  # says yes to what is called positive
    assert judged.bins == {"right": pytest.approx(50)}
    assert LabelAccuracy(reader=f"{HERE}/judges.py:Reader").score(people).value == pytest.approx(0.75)
    unknown = [replace(label[0], label=None)]
    with pytest.raises(DataError, match="without a label"):
        CriticScore(critic=f"{HERE}/judges.py:Critic").score(
            sentence_bench(unknown).trial("people", human_sentences(unknown))
        )


def test_people_explain_the_choice_and_not_its_number():
    question = Example(("What now?",), choices=("sleep", "eat"), label=1, explanations=("I am hungry.",))
    for given in (question, replace(question, label="eat")):
        (why,) = human_sentences([given])
        assert (why.target, why.prediction.label) == ("eat", "eat")


def test_right_is_what_the_model_counts_as_right():
    # People's explanations are of the label; a label such as non-positive is all that is not positive.
    examples = [Example((text,), label=label) for text, label in [
        ("a great film", "positive"), ("a bad film", "positive"), ("a bad film", "non-positive"),
        ("a great film", "non-positive"), ("a bad film", None)]]  # fmt: skip
    found = CriticScore(critic=f"{HERE}/judges.py:Critic").measure(trial(examples, ["film", "film", "film", "", ""]))
    assert found.columns["right"].tolist() == [1, 0, 1, 0, -1]
    told = [replace(e, explanations=("a film",)) for e in examples[:4]]
    people = sentence_bench(told).trial("people", human_sentences(told))
    found = CriticScore(critic=f"{HERE}/judges.py:Critic").measure(people)
    assert found.columns["right"].tolist() == [1, 1, 1, 1]


def test_the_label_follows_only_where_words_feed_it():
    from tests.models.test_mpii import NLI
    from tests.objectives.test_mpii import TINY, learn, pets

    # One text for all, so that only the sentence can tell the label.
    same = [replace(e, texts=("it is a thing", "is it alive ?")) for e in pets(36)]
    rates = {}
    for integration in ("full", "no-interpretation"):
        model = learn(same, epochs=14, start_weight=0.0, model_options={**TINY, "integration": integration})
        # As if it had said all labels, and each in people's words.
        turned = [
            replace(w, sentence=e.explanations[0], header=replace(w.header, probabilities=tuple(p)))
            for w, e, p in zip(
                saywhy.explain(model, same[:8], "sentence"), same, np.eye(2)[[0, 1] * 4].tolist(), strict=False
            )
        ]
        bench = Workbench(model, same[:8], space="sentences")
        rates[integration] = LabelFollows().score(bench.trial("sentence", turned))
        assert rates[integration].n == 8
        if integration == "full":
            # People's sentences, which come with their label and nothing else.
            assert LabelFollows().score(bench.trial("people", human_sentences(same[:8], 0))).value == 1.0
    assert rates["full"].value == 1.0
    assert rates["full"].bins["changed"] == 1.0
    # A label that hears nothing is the same for all, and so the other one's for half of them.
    assert rates["no-interpretation"].value == 0.5
    with pytest.raises(CapabilityError, match="asks a model that speaks"):
        LabelFollows().check(Workbench(zoo.pair_classifier("bert"), NLI[:2], space="sentences"))


def test_a_model_that_knows_one_label_follows_nothing():
    from tests.models.test_mpii import NLI, nli

    model = nli()
    said = [
        replace(why, header=replace(why.header, probabilities=(0.8, 0.1, 0.1)))
        for why in saywhy.explain(model, NLI[:4], "sentence")
    ]
    found = LabelFollows().score(Workbench(model, NLI[:4], space="sentences").trial("sentence", said))
    assert (found.value, found.n) == (0.0, 4)
    assert "no other label" in found.notes[0]


def test_choices_follow_any_other_explanation():
    from tests.models.test_mpii import CHOICES, choices

    model = choices(choice_states="pooled")
    said = saywhy.explain(model, CHOICES[:6], "sentence")
    parts = LabelFollows().measure(Workbench(model, CHOICES[:6], space="sentences").trial("sentence", said))
    assert parts.columns["before"].tolist() == [why.prediction.index for why in said]
    hearing = model.prepare(CHOICES[:1], "error", 8)
    (heard,) = follow(model, hearing, [said[1].sentence], 8)
    assert parts.columns["after"][0] == int(heard.scores.argmax())
    twice = [replace(e, choices=(e.choices[0],) * len(e.choices), label=0) for e in CHOICES[:6]]
    bench = Workbench(model, twice, space="sentences")
    same = LabelFollows().score(bench.trial("sentence", saywhy.explain(model, twice, "sentence")))
    assert same.value == 0.0  # the answer is the same, whichever of its places wins
    found = LabelFollows().contributions(parts)
    assert found.values == tuple((parts.columns["after"] != parts.columns["before"]).astype(float))


def test_a_reader_of_choices_sees_them(monkeypatch):
    from tests.models.test_mpii import CHOICES, choices

    class Chooser:
        def predict(self, examples, **_):
            named = [next(choice for choice in e.choices if f"is {choice}." in e.texts[0]) for e in examples]
            return [Prediction(choice, 1.0, (choice,), (1.0,)) for choice in named]

    monkeypatch.setattr("saywhy.metrics.critic_score._load", lambda path: Chooser())
    bench = Workbench(choices(), CHOICES[:4], space="sentences")
    people = bench.trial("people", human_sentences(CHOICES[:4]))
    assert LabelAccuracy(reader="chooser").score(people).value == 1.0
    others = [replace(why, sentence=f"So the answer is {e.choices[int(e.label) - 1]}.") for why, e in
              zip(people.explanations, CHOICES, strict=False)]  # fmt: skip
    assert LabelAccuracy(reader="chooser").score(bench.trial("other", others)).value == 0.0


def test_evaluate_a_model_that_speaks():
    from tests.models.test_mpii import NLI, nli

    table = evaluate(nli(), NLI[:6], "sentence", ["accuracy", "bleu", "inter-rep", "similarity"], samples=20)
    assert {r.name for r in table.results} == {"accuracy", "bleu", "inter-rep", "similarity"}
    with pytest.raises(OptionError, match="bleu measures explanations over sentences, not words"):
        evaluate(nli(), NLI[:6], "random", "bleu")
