"""The order of batches: a function of (seed, epoch), with texts of like length together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saywhy.errors import OptionError
from saywhy.ops.randomness import numpy_generator

__all__ = ["BatchOrder"]


class BatchOrder:
    """Which examples make up each batch of each epoch.

    With ``lengths`` the shuffled examples are sorted by length inside pools of ``pool`` batches before they are cut
    into batches, and the batches are shuffled again: little padding, yet batches that differ from epoch to epoch.
    Every example comes exactly once an epoch; the smaller remainder is its own batch.

    Args:
        size: number of examples.
        batch_size: examples a batch, over all processes.
        seed: seed of the run.
        lengths: a length for each example, or None for batches of any lengths.
        pool: batches sorted together.

    Example:
        >>> [len(b) for b in BatchOrder(5, 2, seed=0).epoch(0)]
        [2, 2, 1]
    """

    def __init__(
        self, size: int, batch_size: int, *, seed: int, lengths: Sequence[int] | None = None, pool: int = 50
    ) -> None:
        if size < 1:
            raise OptionError("there is nothing to train on: the data has no examples")
        if batch_size < 1:
            raise OptionError(f"batch_size must be at least 1, not {batch_size}")
        if lengths is not None and len(lengths) != size:
            raise ValueError(f"{len(lengths)} lengths for {size} examples")
        self.size, self.batch_size, self.seed, self.pool = size, batch_size, seed, pool
        self._lengths = None if lengths is None else np.asarray(lengths)

    def __len__(self) -> int:
        return -(-self.size // self.batch_size)

    def epoch(self, epoch: int) -> list[NDArray[np.int64]]:
        """The batches of one epoch, as arrays of example numbers."""
        rng = numpy_generator(self.seed, "order", epoch)
        order = rng.permutation(self.size).astype(np.int64)
        if self._lengths is None:
            return self._cut(order)
        width = self.pool * self.batch_size
        pools = [order[start : start + width] for start in range(0, self.size, width)]
        # Only the last pool can hold a remainder, so that the number of batches is the same with and without lengths.
        sorted_pools = [pool[np.argsort(self._lengths[pool], kind="stable")] for pool in pools]
        batches: list[NDArray[np.int64]] = [batch for pool in sorted_pools for batch in self._cut(pool)]
        return [batches[i] for i in rng.permutation(len(batches))]

    def _cut(self, order: NDArray[Any]) -> list[NDArray[np.int64]]:
        return [order[start : start + self.batch_size] for start in range(0, len(order), self.batch_size)]

    @staticmethod
    def shares(batch: NDArray[np.int64], parts: int) -> list[NDArray[np.int64]]:
        """Cut a batch into at most ``parts`` micro-batches of nearly equal size, none empty."""
        return [share for share in np.array_split(batch, parts) if len(share)]
