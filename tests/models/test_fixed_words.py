"""Words that must never be erased, such as the question about a document."""

from __future__ import annotations

import numpy as np
import pytest

import saywhy
from saywhy.models.word_space import WordSpace
from saywhy.types import Example
from tests import zoo

FIXED = Example(zoo.PAIR, meta={"fixed": (0,)})
FREE = Example(zoo.PAIR)


@pytest.mark.parametrize("erasure", ["delete", "mask-token", "attention-mask", "pad", "zero-embedding"])
def test_they_stay_whatever_a_mask_says(erasure: str) -> None:
    space = WordSpace(zoo.shared(), [FIXED, FREE], erasure=erasure)
    words = space.features[0]
    nothing, first = np.zeros(len(words)), np.asarray([float(word.field == 0) for word in words])
    asked = np.stack([nothing, nothing, first])
    given = asked.copy()
    kept, gone, expected = space.outputs(np.asarray([0, 1, 1]), asked)
    assert kept.tolist() == pytest.approx(expected.tolist(), abs=1e-4)
    assert kept.tolist() != pytest.approx(gone.tolist(), abs=1e-2)
    np.testing.assert_array_equal(asked, given)


def test_they_stay_in_texts_that_black_boxes_read() -> None:
    seen: list[tuple[str, str]] = []

    def box(pairs: list[tuple[str, str]]) -> list[list[float]]:
        seen.extend(pairs)
        return [[0.5, 0.5]] * len(pairs)

    model = saywhy.load(box, labels=["no", "yes"], task="pair")
    seen.clear()
    space = WordSpace(model, [Example(("what is it", "a red bus"), meta={"fixed": (0,)})])
    space.outputs(np.zeros(2, dtype=int), np.asarray([[0, 0, 0, 0, 0, 0], [0, 0, 0, 1, 0, 1]]))
    assert sorted(seen) == [("what is it", ""), ("what is it", "a bus")]


def test_they_have_no_gradient() -> None:
    space = WordSpace(zoo.shared(), [FIXED, FREE], erasure="attention-mask")
    words = space.features[0]
    fixed = np.asarray([word.field == 0 for word in words])
    _, _, gradient = space.value_and_grad(
        np.asarray([0, 1]), np.full((2, len(words)), 1.0), lambda scores, owner: scores[:, 0]
    )
    assert (gradient[0, fixed] == 0).all()
    assert (gradient[1, fixed] != 0).any()
    np.testing.assert_allclose(gradient[0, ~fixed], gradient[1, ~fixed], atol=1e-5)


def test_leaving_them_out_costs_nothing() -> None:
    why = saywhy.explain(zoo.shared(), FIXED, method="leave-one-out")
    scores = {field: [s for w, s in zip(why.words, why.scores, strict=True) if w.field == field] for field in (0, 1)}
    assert max(map(abs, scores[0])) < 1e-6
    assert max(map(abs, scores[1])) > 1e-3
