from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import f1_score

import saywhy
from saywhy.errors import DataError, InputError
from saywhy.metrics import Accuracy, MacroF1, Workbench
from saywhy.metrics.accuracy import _matches
from saywhy.types import Example, Span
from tests import zoo

from .stubs import LABELS, make_bench

TEXTS = ["good", "bad", "great", "awful", "good film", "so bad"]
GOLD = [1, 0, 0, 0, 1, 1]
PREDICTED = [1, 0, 1, 0, 1, 0]


def _bench(gold=GOLD, **options):
    return make_bench([Example((t,), label=LABELS[g]) for t, g in zip(TEXTS, gold, strict=True)], **options)


def test_accuracy():
    result = Accuracy().score(_bench().trial())
    assert result.value == pytest.approx(4 / 6)
    assert result.values == (1, 1, 0, 1, 1, 0)
    assert (result.method, result.family, result.n) == ("", "performance", 6)


def test_macro_f1_equals_sklearn_and_so_does_each_resample():
    result = MacroF1(samples=400).score(_bench(seed=3).trial())
    assert result.value == pytest.approx(f1_score(GOLD, PREDICTED, average="macro"))
    assert result.values == ()
    rng = np.random.default_rng(3)
    gold, predicted = np.array(GOLD), np.array(PREDICTED)
    resampled = []
    for _ in range(400):
        rows = rng.integers(0, 6, size=6)
        resampled.append(f1_score(gold[rows], predicted[rows], average="macro", zero_division=0))
    assert [result.low, result.high] == pytest.approx(np.quantile(resampled, [0.025, 0.975]).tolist())


def test_a_model_that_is_always_wrong():
    bench = _bench([1 - p for p in PREDICTED])
    for metric in (Accuracy(), MacroF1()):
        result = metric.score(bench.trial())
        assert (result.value, result.low, result.high) == (0, 0, 0)


def test_examples_without_label_are_left_out():
    bench = make_bench([Example(("good",), label="positive"), Example(("bad",))])
    for metric in (Accuracy(), MacroF1()):
        result = metric.score(bench.trial())
        assert (result.value, result.n) == (1.0, 1)
        assert any("1 of 2" in note for note in result.notes)


@pytest.mark.parametrize("metric", [Accuracy(), MacroF1()])
def test_no_labels_anywhere(metric):
    with pytest.raises(DataError, match="none of the 1 has a label"):
        metric.score(make_bench(["good"]).trial())


def test_the_model_is_asked_once():
    bench = _bench()
    asked = []
    predict = bench.model.predict
    bench.model.predict = lambda *args, **options: asked.append(1) or predict(*args, **options)
    Accuracy().score(bench.trial())
    MacroF1().score(bench.trial())
    assert len(asked) == 1


def test_a_label_that_denies_another_stands_for_all_the_others() -> None:
    def function(texts):
        table = {"e": [0.8, 0.1, 0.1], "n": [0.1, 0.8, 0.1], "c": [0.1, 0.1, 0.8]}
        return [table.get(t, table["n"]) for t in texts]

    model = saywhy.load(function, labels=["entailment", "neutral", "contradiction"])
    golds = [("e", "entailment"), ("n", "non-entailment"), ("c", "non-entailment"), ("e", "non-entailment")]
    golds += [("n", "entailment")]
    examples = [Example((text,), label) for text, label in golds]
    result = saywhy.evaluate(model, examples, metrics="accuracy").results[0]
    assert result.values == (1.0, 1.0, 1.0, 0.0, 0.0)
    with pytest.raises(InputError, match="no label 'non-sense'"):
        saywhy.evaluate(model, [Example(("e",), "non-sense")], metrics="accuracy")


def test_answers_are_found_whatever_case_articles_and_marks():
    model = zoo.shared_reader()
    texts = zoo.CONTEXTS[1]
    said = model.predict([Example(texts)])[0].label
    start = texts[1].index(said)
    right = Example(texts, answers=(Span(1, 0, 1), Span(1, start, start + len(said))))
    wrong = Example(texts, answers=(Span(1, 0, 1),))
    made = Accuracy().score(Workbench(model, [right, wrong, Example(texts)]).trial())
    assert made.values == (1.0, 0.0)
    assert "1 of 3 examples" in made.notes[0]
    context = "It was the  King, of old; a king of Old"
    example = Example(("Who?", context), answers=(Span(1, context.index("King"), context.index(";")),))
    assert _matches("a king of Old", example)
    assert not _matches("king", example)
    with pytest.raises(DataError, match="needs labelled examples"):
        MacroF1().check(Workbench(model, [right]))
