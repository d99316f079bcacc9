"""Metrics of selected alignments: inclusion, the phrase pair that matters most, words in them, matched fidelity."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import saywhy
from saywhy.errors import InputError, OptionError
from saywhy.explainers.alignments import selected_alignments
from saywhy.metrics import Compactness, Contiguity, ExactInc, Fidelity, IouF1, MaxF1, SoftInc, TokenF1, evaluate
from saywhy.models.alignment_space import AlignmentSpace
from saywhy.types import Example, Span
from tests import zoo

TEXTS = ("Dull film", "It is great")  # two by three words
GOLD = (Span(0, 0, 4), Span(1, 3, 11))  # dull - is great
EXAMPLE = Example(TEXTS, "neutral", alignments=(GOLD,), rationales=(GOLD,))


@pytest.fixture(scope="module")
def model() -> Any:
    return zoo.pair_classifier("bert")


@pytest.fixture(scope="module")
def scores(model: Any) -> Any:
    return saywhy.explain(model, TEXTS, "leave-one-out", space="alignments", verdict=False)


def value(model: Any, why: Any, metric: Any) -> float:
    return evaluate(model, [EXAMPLE], {"mine": [why]}, metric, space="alignments").results[0].value


def chosen(why: Any, table: Any) -> Any:
    return selected_alignments(why, np.asarray(table, dtype=bool))


def test_inclusion(model: Any, scores: Any) -> None:
    for table, exact, soft in (
        ([[0, 1, 1], [0, 0, 0]], 1.0, 1.0),
        ([[1, 1, 1], [1, 1, 1]], 1.0, 1.0),
        ([[0, 1, 0], [1, 1, 1]], 0.0, 0.5),
        ([[1, 0, 0], [1, 1, 1]], 0.0, 0.0),
    ):
        assert value(model, chosen(scores, table), ExactInc()) == exact
        assert value(model, chosen(scores, table), SoftInc()) == soft


def test_the_phrase_pair_that_matters_most(model: Any, scores: Any) -> None:
    space = AlignmentSpace(model, [EXAMPLE])
    gold_part, other = np.array([0, 1, 1, 0, 0, 0]), np.array([0, 0, 0, 1, 0, 0])
    whole = model.predict(TEXTS)[0].index
    without_gold, without_other = space.probabilities(np.zeros(2, dtype=int), np.stack([other, gold_part]))[:, whole]
    expected = 1.0 if without_gold < without_other else 0.0
    assert value(model, chosen(scores, (gold_part | other).reshape(2, 3)), MaxF1()) == expected
    assert value(model, chosen(scores, [[0, 1, 1], [0, 0, 0]]), MaxF1()) == 1.0
    assert value(model, chosen(scores, [[1, 1, 1], [0, 0, 0]]), MaxF1()) == pytest.approx(0.8)
    assert value(model, chosen(scores, np.zeros((2, 3))), MaxF1()) == 0.0


def test_a_selection_is_measured_as_it_is(model: Any, scores: Any) -> None:
    corner = chosen(scores, [[1, 1, 0], [1, 0, 0]])
    assert value(model, corner, Compactness()) == 50.0
    assert value(model, corner, Contiguity()) == 500.0
    space = AlignmentSpace(model, [EXAMPLE])
    whole, left = space.outputs(np.zeros(2, dtype=int), np.stack([np.ones(6), np.array([1, 1, 0, 1, 0, 0])]))
    assert value(model, corner, Fidelity()) == pytest.approx(float((whole - left).norm()), abs=1e-5)


def test_words_of_alignments(model: Any, scores: Any) -> None:
    right = chosen(scores, [[0, 1, 1], [0, 0, 0]])
    wrong = chosen(scores, [[0, 0, 0], [1, 0, 0]])
    for metric in (TokenF1(words=True), IouF1(words=True)):
        assert value(model, right, metric) == 1.0
        assert value(model, wrong, metric) == 0.0
    # dull, film - is: two of three gold words, and one that is not
    assert value(model, chosen(scores, [[0, 1, 0], [0, 1, 0]]), TokenF1(words=True)) == pytest.approx(2 / 3)
    marked = Example(TEXTS, "neutral", rationales=(GOLD,))
    table = evaluate(model, [marked], {"mine": [right]}, TokenF1(words=True), space="alignments")
    assert table.results[0].value == 1.0
    with pytest.raises(OptionError, match="iou-f1 measures explanations over words, not alignments"):
        value(model, right, IouF1())


def test_attributions_select_until_they_are_as_faithful_as_another_method(model: Any) -> None:
    options = {"arec": {"steps": 30, "samples": 4, "lambda": 0.01}}
    pairs = [Example(TEXTS), Example(zoo.PAIR)]
    chosen_by = [Fidelity(until="arec", slack=0.05), Compactness(until="arec", slack=0.05)]
    names = ["arec", "leave-one-out"]
    table = evaluate(model, pairs, names, chosen_by, space="alignments", method_options=options)
    theirs, mine = table["arec", "fidelity"].values, table["leave-one-out", "fidelity"].values
    assert all(m <= t + 0.05 + 1e-6 for m, t in zip(mine, theirs, strict=True))
    sizes = table["leave-one-out", "compactness"].values
    space = AlignmentSpace(model, pairs)
    made: Any = saywhy.explain(model, pairs, "leave-one-out", space="alignments")
    for i, (share, bound) in enumerate(zip(sizes, theirs, strict=True)):
        order = np.argsort(-np.asarray(made[i].scores).reshape(-1), kind="stable")
        masks = np.stack([np.isin(np.arange(len(order)), order[:k]) for k in range(len(order) + 1)]).astype(float)
        out = space.outputs(np.full(len(masks), i), masks)
        moved = (out - out[-1]).norm(dim=1).numpy()
        assert share == pytest.approx(100 * np.flatnonzero(moved <= bound + 0.05)[0] / len(order))


def test_mistakes(model: Any, scores: Any) -> None:
    with pytest.raises(OptionError, match="until='arec' is not one of the methods"):
        evaluate(model, [EXAMPLE], ["random", "gradient"], Fidelity(until="arec"), space="alignments")
    with pytest.raises(OptionError, match="until='gradient' gives scores and selects nothing"):
        evaluate(model, [EXAMPLE], ["leave-one-out", "gradient"], Fidelity(until="gradient"), space="alignments")
    pair = [chosen(scores, np.ones((2, 3))), scores]
    with pytest.raises(InputError, match="some of the explanations select alignments and some do not"):
        evaluate(model, [EXAMPLE] * 2, {"mine": pair}, ExactInc(), space="alignments")
