from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from saywhy.data.words import map_pieces
from saywhy.models import Encoded, Row
from saywhy.models.differentiate import differentiate, group_by_length
from saywhy.models.tasks import make_task
from saywhy.types import Example


def item(*lengths: int) -> Encoded:
    rows = tuple(
        Row(np.zeros(n, dtype=np.int64), None, map_pieces((), ((0, 0),) * n, (None,) * n), ((0, 0),) * n, (None,) * n)
        for n in lengths
    )
    return Encoded(Example(("",)), (), rows)


@given(
    st.lists(st.lists(st.integers(1, 9), min_size=1, max_size=5), min_size=1, max_size=6),
    st.lists(st.integers(0, 5), max_size=12),
    st.integers(1, 6),
)
@settings(max_examples=200, deadline=None)
def test_groups_hold_every_item_once_and_fit(lengths: list[list[int]], owners: list[int], batch_size: int) -> None:
    encoded = [item(*own) for own in lengths]
    owner = np.asarray([n % len(encoded) for n in owners], dtype=np.int64)
    groups = group_by_length(encoded, owner, batch_size)
    assert sorted(int(i) for group in groups for i in group) == list(range(len(owner)))
    longest = []
    for group in groups:
        rows = sum(len(encoded[owner[i]].rows) for i in group)
        assert rows <= batch_size or len(group) == 1
        longest.append(max(len(row) for i in group for row in encoded[owner[i]].rows))
    assert longest == sorted(longest)


@pytest.mark.parametrize("batch_size", [1, 2, 3, 7, 99])
def test_one_pass_and_two_give_the_same_gradients(batch_size: int) -> None:
    torch.manual_seed(0)
    inputs, weight = torch.randn(7, 4), torch.randn(4, 2)
    index = torch.zeros(7, dtype=torch.long)
    task = make_task("text", ["a", "b"], 0)
    graphs = []

    def run(chunk: slice, grad: bool) -> tuple[Tensor, Tensor, Tensor]:
        leaf = inputs[chunk].clone().requires_grad_(grad)
        graphs.append(len(leaf) if grad else 0)
        return torch.tanh(leaf) @ weight, leaf, leaf.detach()

    def loss(scores: Tensor, owner: np.ndarray) -> Tensor:
        return scores.softmax(-1)[:, 0] * float(owner[0])

    scores, value, parts = differentiate(task, run, index, np.asarray([3]), loss, batch_size)
    found = torch.cat([grad for _, grad, _ in parts])
    leaf = inputs.clone().requires_grad_()
    expected = (torch.tanh(leaf) @ weight).mean(0).softmax(-1)[0] * 3
    expected.backward()
    torch.testing.assert_close(value, expected.detach()[None])
    torch.testing.assert_close(found, leaf.grad)
    assert not scores.requires_grad
    assert max(graphs) <= batch_size
