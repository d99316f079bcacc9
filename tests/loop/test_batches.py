from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from saywhy.errors import OptionError
from saywhy.loop import BatchOrder


@given(st.integers(1, 300), st.integers(1, 40), st.integers(0, 3), st.booleans(), st.integers(1, 4))
def test_every_example_comes_once_an_epoch(size: int, batch: int, epoch: int, by_length: bool, pool: int) -> None:
    lengths = [(7 * i) % 23 for i in range(size)] if by_length else None
    order = BatchOrder(size, batch, seed=3, lengths=lengths, pool=pool)
    batches = order.epoch(epoch)
    assert len(batches) == len(order)
    assert sorted(np.concatenate(batches).tolist()) == list(range(size))
    assert max(len(b) for b in batches) <= batch


def test_order_is_a_function_of_seed_and_epoch() -> None:
    lengths = list(range(100))
    flat = [
        np.concatenate(BatchOrder(100, 8, seed=seed, lengths=lengths).epoch(epoch)).tolist()
        for seed, epoch in [(0, 0), (0, 0), (0, 1), (1, 0)]
    ]
    assert flat[0] == flat[1]
    assert flat[0] != flat[2]
    assert flat[0] != flat[3]


def test_lengths_reduce_padding_and_batches_are_not_in_order_of_length() -> None:
    lengths = np.random.default_rng(0).integers(5, 200, 2000)
    plain = BatchOrder(2000, 20, seed=0).epoch(0)
    sorted_ = BatchOrder(2000, 20, seed=0, lengths=lengths.tolist()).epoch(0)
    padded = [sum(len(b) * lengths[b].max() for b in batches) for batches in (plain, sorted_)]
    assert padded[1] < 1.1 * lengths.sum() < padded[0]
    longest = [lengths[b].max() for b in sorted_]
    assert longest != sorted(longest)


def test_shares_are_whole_and_never_empty() -> None:
    shares = BatchOrder.shares(np.arange(3), 5)
    assert [s.tolist() for s in shares] == [[0], [1], [2]]


@pytest.mark.parametrize(("size", "batch"), [(0, 4), (4, 0)])
def test_impossible_sizes(size: int, batch: int) -> None:
    with pytest.raises(OptionError):
        BatchOrder(size, batch, seed=0)
