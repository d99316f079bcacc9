from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import saywhy
from saywhy.errors import OptionError
from saywhy.metrics import LabelKept, evaluate
from saywhy.models.alignment_space import AlignmentSpace
from saywhy.types import Alignments, Example
from tests import zoo

from .stubs import align, contributions, make_bench, pair_bench, score_words, select_words


def test_by_hand():
    # A sum above 0 is positive, and nothing is negative: without words the label of the second text is kept.
    texts = ["great bad bad x", "bad film", "good bad"]
    bench = make_bench(texts, weights={"great": 3, "bad": -2, "good": 2.5, "film": 0.1})
    chosen = [select_words(e, [0]) for e in bench.examples]
    got = LabelKept().score(bench.trial("hand", chosen))
    # great alone turns a negative text; bad and good stay what they were.
    assert got.values == (0.0, 1.0, 1.0)
    assert got.value == pytest.approx(2 / 3)
    assert got.notes == ("with nothing selected the label of 66.7% of the examples is kept",)
    assert (got.range, got.higher_is_better, got.erasure) == ((0.0, 1.0), True, "delete")


def test_it_has_an_interval():
    bench = make_bench(["great x", "bad great great"] * 20)
    chosen = [select_words(e, [0]) for e in bench.examples]
    got = LabelKept().score(bench.trial("hand", chosen))
    assert got.value == 0.5
    # Of 40 examples the deviation of a share of a half is 0.08.
    assert (got.low, got.high) == (pytest.approx(0.5 - 0.155, abs=0.03), pytest.approx(0.5 + 0.155, abs=0.03))
    wide = replace(LabelKept(), level=0.5).score(bench.trial("hand", chosen))
    assert got.low < wide.low <= 0.5 <= wide.high < got.high


def test_scores_select_their_share_or_until_they_are_faithful():
    example = Example(("bad x great good",))
    trial = make_bench([example]).trial("hand", [score_words(example, [4, 3, 2, 1])])
    assert LabelKept(top=0.25).score(trial).value == 0.0
    assert LabelKept(top=0.75).score(trial).value == 1.0
    assert LabelKept(until=0.0).score(trial).value == 1.0
    assert LabelKept(until=99.0).score(trial).notes == LabelKept().score(trial).notes


def test_a_model_that_says_one_thing_keeps_it():
    bench = make_bench(["great x", "bad x"], weights={}, bias=1.0)
    assert LabelKept().score(bench.trial("hand", contributions(bench))).value == 1.0


@pytest.mark.parametrize(("cell", "kept"), [((0, 0), 1.0), ((0, 1), 1.0), ((1, 1), 0.0)])
def test_alignments(cell, kept):
    # Equal words speak for the positive class, "not" with anything speaks more strongly against it.
    bench = pair_bench([("not red", "not red")])
    table = np.zeros((2, 2))
    table[cell] = 1.0
    trial = bench.trial("hand", [align(bench.examples[0], table)])
    assert LabelKept(top=0.25).score(trial).value == kept


def test_it_says_what_arec_says_of_itself():
    model = zoo.pair_classifier("bert")
    pairs = [Example(zoo.PAIR), Example(("Dull film", "A gripping, beautifully shot film."))]
    options = {"arec": {"steps": 20, "samples": 2, "lambda": 0.3}}
    table = evaluate(
        model, pairs, ["arec", "leave-one-out"], LabelKept(until="arec"), space="alignments", method_options=options
    )
    made = saywhy.explain(model, pairs, "arec", verdict=False, **options["arec"])
    assert [why.kept for why in made] == [True, False]
    assert [bool(v) for v in table["arec", "label-kept"].values] == [why.kept for why in made]
    space = AlignmentSpace(model, pairs)
    for i, why in enumerate(made):
        assert isinstance(why, Alignments)
        mask = np.asarray(why.selected, dtype=np.float32).reshape(1, -1)
        alone = space.probabilities(np.asarray([i]), mask)[0]
        assert bool(alone.argmax() == model.predict(pairs)[i].index) == why.kept


def test_span_qa_has_no_label():
    class Task:
        name = "span-qa"

    bench = make_bench(["so bad"])
    bench.model.task = Task()
    with pytest.raises(OptionError, match="use fidelity"):
        LabelKept().check(bench)
