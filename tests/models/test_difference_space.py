from __future__ import annotations

import numpy as np
import pytest
from torch import Tensor

from saywhy.models.difference_space import DifferenceSpace
from saywhy.types import Example
from tests import zoo


def first(scores: Tensor, owner: np.ndarray) -> Tensor:
    return scores[:, 0]


def summed(way: Tensor) -> Tensor:
    return way.sum(-1, keepdim=True)


def test_it_counts_what_it_runs() -> None:
    model = zoo.shared()
    space = DifferenceSpace(model, model.encode([Example((text,)) for text in zoo.TEXTS]), batch_size=4)
    found = space.contributions(first, summed)
    assert space.calls == 6
    for one in found:
        assert sum(row.sum() for row in one.rows) == pytest.approx(one.total, rel=1e-4)
        assert one.total == pytest.approx(one.gain, rel=1e-3)


@pytest.mark.parametrize("batch_size", [1, 3, 64])
def test_the_loss_sees_inputs_before_their_references(batch_size: int) -> None:
    model = zoo.shared()
    examples = [Example((text,)) for text in zoo.TEXTS]
    plain = [prediction.probabilities for prediction in model.predict(examples)]
    space = DifferenceSpace(model, model.encode(examples), batch_size=batch_size)
    seen: dict[int, np.ndarray] = {}

    def loss(scores: Tensor, owner: np.ndarray) -> Tensor:
        half = len(owner) // 2
        assert owner[:half].tolist() == owner[half:].tolist()
        for number, row in zip(owner[:half], scores[:half].detach().softmax(-1), strict=True):
            seen[int(number)] = row.numpy()
        return scores[:, 0]

    found = space.contributions(loss, summed)
    for number, one in enumerate(found):
        np.testing.assert_allclose(seen[number], plain[number], atol=1e-5)
        np.testing.assert_allclose(np.exp(one.scores) / np.exp(one.scores).sum(), plain[number], atol=1e-5)
        assert one.unknown == ()
