from __future__ import annotations

import json
import os

import numpy as np
import pytest
from sklearn.metrics import f1_score

import saywhy
from saywhy.errors import DataError, InputError, LoadError
from saywhy.metrics import Accuracy, MacroF1, Workbench
from saywhy.metrics.accuracy import _frames, _matches
from saywhy.models.alignment_space import AlignmentSpace
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


def frames(path, *places):
    """A file of frames of the two texts below, whose walkers stand at these places."""
    rows = [
        {"text": text, "frames": [{"predicate": list(verb), "roles": [["ARG0", *agent], ["ARG1", *patient]]}]}
        for text, (agent, verb, patient) in zip(GUIDED, places, strict=True)
    ]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return str(path)


GUIDED = ("people walk car", "passengers walk film")
RIGHT = (((0, 6), (7, 11), (12, 15)), ((0, 10), (11, 15), (16, 20)))
SWAPPED = (RIGHT[0], tuple(reversed(RIGHT[1])))


@pytest.mark.parametrize("metric", ["accuracy", "macro-f1"])
@pytest.mark.parametrize("places", [RIGHT, SWAPPED])
def test_frames_in_a_file_guide(metric, places, tmp_path):
    model = zoo.pair_classifier("decomposable-attention")
    guide = frames(tmp_path / "frames.jsonl", *places)
    allowed = np.eye(3) if places is RIGHT else np.fliplr(np.eye(3))
    space = AlignmentSpace(model, [Example(GUIDED)])
    said = space.probabilities(np.zeros(1, dtype=int), allowed.reshape(1, -1))[0].argmax()
    for at, label in enumerate(model.labels):
        (result,) = saywhy.evaluate(model, [Example(GUIDED, label)], metrics=metric, guide=guide).results
        assert (result.value > 0) == (at == said)
        assert result.variant["guide"] == guide


def test_a_file_of_frames_is_read_again_when_it_has_changed(tmp_path):
    path = tmp_path / "frames.jsonl"
    found = []
    for time, places in enumerate((RIGHT, SWAPPED)):
        guide = frames(path, *places)
        os.utime(path, ns=(0, time))
        assert _frames(guide) is _frames(guide)
        found.append(_frames(guide)([GUIDED[1]]))
    assert found[0] != found[1]


def test_a_file_of_frames_is_checked_first(tmp_path):
    model = zoo.pair_classifier("decomposable-attention")
    guide = frames(tmp_path / "frames.json", *RIGHT)
    with pytest.raises(DataError, match=r"frames.json:2: not valid JSON at column 1"):
        Accuracy(guide=guide).check(Workbench(model, [Example(GUIDED, "neutral")]))
    guide = frames(tmp_path / "frames.jsonl", *RIGHT)
    with pytest.raises(DataError, match=r"frames.jsonl: no frames of 'people run'"):
        Accuracy(guide=guide).check(Workbench(model, [Example(("people run", GUIDED[1]), "neutral")]))
    with pytest.raises(DataError, match=r"nowhere.jsonl: no such file"):
        Accuracy(guide="nowhere.jsonl").check(Workbench(model, [Example(GUIDED, "neutral")]))
    with pytest.raises(LoadError, match="holds no tagger of roles"):
        saywhy.evaluate(model, [Example(GUIDED, "neutral")], metrics=Accuracy(guide=str(tmp_path)))
