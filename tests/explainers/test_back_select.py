from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import saywhy
from saywhy.errors import OptionError
from saywhy.explainers.back_select import _highest_first
from tests import zoo

WEIGHTS = {"superb": 4.0, "good": 2.0, "fine": 1.0, "slow": -1.0, "awful": -3.0}


def liking(texts: list[str]) -> list[list[float]]:
    logits = np.asarray([sum(WEIGHTS.get(w, 0.0) for w in t.split()) for t in texts])
    p = 1 / (1 + np.exp(-logits))
    return np.stack([1 - p, p], axis=1).tolist()


MODEL = saywhy.load(liking, labels=["no", "yes"])


def back_select(model: Any, inputs: Any, **options: Any) -> Any:
    return saywhy.explain(model, inputs, "back-select", **options)


def test_the_order_is_that_of_the_weights() -> None:
    # Against the target first, then what counts nothing, from the left; the strongest stays longest.
    why = back_select(MODEL, "good awful film superb slow scene fine", target="yes")
    order = ["awful", "slow", "film", "scene", "fine", "good", "superb"]
    assert dict(zip((w.text for w in why.words), why.scores, strict=True)) == pytest.approx(
        {word: (i + 1) / 7 for i, word in enumerate(order)}
    )
    # The input, 7 + 6 + ... + 2 masks; equal texts are read once.
    assert why.cost["forwards"] <= 1 + 7 * 8 / 2 - 1
    against = back_select(MODEL, "good awful film", target="no")
    assert against.scores == pytest.approx((1 / 3, 1, 2 / 3))


def test_it_finds_a_sufficient_pair_that_leaving_one_out_cannot() -> None:
    def pairs(texts: list[str]) -> list[list[float]]:
        found = [0.9 if {"a", "b"} <= set(t.split()) or {"c", "d"} <= set(t.split()) else 0.1 for t in texts]
        return [[1 - p, p] for p in found]

    model = saywhy.load(pairs, labels=["no", "yes"])
    why = back_select(model, "x a c b d y", target="yes")
    last = sorted(zip(why.scores, (w.text for w in why.words), strict=True))[-2:]
    assert {word for _, word in last} == {"b", "d"} or {word for _, word in last} in ({"a", "b"}, {"c", "d"})
    assert max(map(abs, saywhy.explain(model, "x a c b d y", "leave-one-out", target="yes").scores)) < 1e-6  # type: ignore[attr-defined]


def test_greedy_step_by_step_on_a_network() -> None:
    model, text = zoo.shared(), zoo.TEXTS[0]
    why = back_select(model, text, target=1)
    space = saywhy.models.word_space.WordSpace(model, [saywhy.Example((text,))])
    n = len(why.words)
    left, order = list(range(n)), []
    while len(left) > 1:
        keep = np.zeros((len(left), n))
        for row, gone in enumerate(left):
            keep[row, [i for i in left if i != gone]] = 1
        best = int(space.probabilities(np.zeros(len(left), dtype=int), keep)[:, 1].argmax())
        order.append(left.pop(best))
    assert np.argsort(why.scores).tolist() == order + left
    assert why.cost == {"forwards": n * (n + 1) // 2}


def test_steps_bound_the_cost() -> None:
    text = " ".join(["film"] * 30 + list(WEIGHTS) + ["scene"] * 25)
    why = back_select(MODEL, text, target="yes", step=0.2)
    assert sorted(why.scores) == pytest.approx(np.arange(1, 61) / 60)
    scores = dict(zip((w.text for w in why.words), why.scores, strict=True))
    assert scores["superb"] == 1.0
    assert scores["awful"] == pytest.approx(1 / 60)
    seen: list[int] = []

    def counted(texts: list[str]) -> list[list[float]]:
        seen.append(len(texts))
        return [[0.5 + 1e-3 * len(set(t.split())), 0.5 - 1e-3 * len(set(t.split()))] for t in texts]

    words = " ".join(f"w{i}" for i in range(60))
    spent = back_select(saywhy.load(counted, labels=["a", "b"]), words, step=0.2).cost["forwards"]
    assert spent <= 1 + 60 + 48 + 36 + 24 + 12
    assert back_select(zoo.shared(), "Dull film", step=1.0).scores in ((0.5, 1.0), (1.0, 0.5))


def test_one_word_constants_and_twins() -> None:
    assert back_select(MODEL, "good").scores == (1.0,)
    constant = saywhy.load(lambda ts: [[0.3, 0.7]] * len(ts), labels=["no", "yes"])
    # Nothing matters: from the left.
    assert back_select(constant, "a b c d").scores == (0.25, 0.5, 0.75, 1.0)
    assert back_select(MODEL, "good good good", target="yes").scores == pytest.approx((1 / 3, 2 / 3, 1))


def test_alignments() -> None:
    why: Any = back_select(zoo.pair_classifier(), ("Dull film", "It sleeps"), space="alignments")
    assert sorted(np.ravel(why.scores)) == [0.25, 0.5, 0.75, 1.0]
    assert why.cost == {"forwards": 10}


@pytest.mark.parametrize("step", [-0.1, 1.5])
def test_steps_that_cannot_be(step: float) -> None:
    with pytest.raises(OptionError, match="between 0 and 1"):
        back_select(MODEL, "good", step=step)


def test_values_that_differ_by_rounding_are_equal() -> None:
    assert _highest_first(np.array([0.5, 0.5 + 1e-8, 0.7, 0.1, 0.1 + 1e-5])).tolist() == [2, 0, 1, 4, 3]
