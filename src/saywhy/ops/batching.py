"""Batches of inputs of different lengths: how many rows fit, and which go together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

__all__ = ["length_batches", "rows_that_fit"]

# Rows up to this length fill a batch; of longer ones fewer go in. Batches of long rows are no faster, but need memory.
FULL_LENGTH = 128
# What a call of a small network costs besides its pieces, in pieces.
CALL_COST = 32


def rows_that_fit(batch_size: int, longest: int, *, square: bool = False) -> int:
    """How many rows of this length make up a batch: ``batch_size``, or as many as have the memory of 128 pieces each.

    Where tables of attention are kept for gradients, memory grows with the ``square`` of the length.

    Example:
        >>> rows_that_fit(32, 30), rows_that_fit(32, 512), rows_that_fit(32, 512, square=True)
        (32, 8, 2)
    """
    share = FULL_LENGTH / max(1, longest)
    return max(1, min(batch_size, int(batch_size * (share * share if square else share))))


def length_batches(
    lengths: Sequence[int],
    batch_size: int,
    *,
    rows: Sequence[int] | None = None,
    square: bool = False,
    call_cost: int = CALL_COST,
) -> list[list[int]]:
    """Numbers of inputs in batches, the shortest first, so that padding and calls together cost least.

    A call is taken to cost as much as 32 pieces more: short rows go together, but not with much longer ones.

    Args:
        lengths: of the longest row of each input.
        batch_size: the most rows of a batch, as for `rows_that_fit`; an input that brings more comes alone.
        rows: that each input brings; one by default.
        square: where memory grows with the square of the length.
        call_cost: of a batch, in pieces.

    Example:
        >>> length_batches([5, 512, 3, 512, 4], 2)
        [[2], [4, 0], [1], [3]]
        >>> length_batches([10, 12, 60, 64], 32)
        [[0, 1], [2, 3]]
        >>> length_batches([10, 12, 60, 64], 32, rows=[8, 8, 8, 8])
        [[0, 1], [2, 3]]
        >>> length_batches([10, 12, 60, 64], 32, call_cost=1000)
        [[0, 1, 2, 3]]
    """
    order = np.argsort(np.asarray(lengths, dtype=np.int64), kind="stable")
    ranked = np.asarray(lengths, dtype=np.int64)[order]
    brought = np.ones(len(order), dtype=np.int64) if rows is None else np.asarray(rows, dtype=np.int64)[order]
    before = np.concatenate([[0], np.cumsum(brought)])
    # The least cost of the first i inputs, and where the last of their batches begins.
    least, begins = np.zeros(len(order) + 1), np.zeros(len(order) + 1, dtype=np.int64)
    for end in range(1, len(order) + 1):
        longest = int(ranked[end - 1])
        room = before[end] - rows_that_fit(batch_size, longest, square=square)
        first = min(end - 1, int(np.searchsorted(before, room)))
        costs = least[first:end] + longest * (before[end] - before[first:end])
        begins[end] = first + int(costs.argmin())
        least[end] = costs.min() + call_cost
    batches, end = [], len(order)
    while end:
        batches.append(order[begins[end] : end].tolist())
        end = int(begins[end])
    return batches[::-1]
