"""Subsets of n things as rows of booleans: all of them, those of a size, random ones."""

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np

__all__ = ["every_subset", "random_subsets", "spread_sizes", "subsets_of_size"]

# Multiples of the golden ratio fill [0, 1) evenly however many are taken.
_GOLDEN = (5**0.5 - 1) / 2


def every_subset(n: int) -> np.ndarray:
    """All subsets of n things, 2^n x n; row i holds the bits of i, the lowest first.

    Example:
        >>> every_subset(2).astype(int).tolist()
        [[0, 0], [1, 0], [0, 1], [1, 1]]
    """
    return (np.arange(2**n)[:, None] >> np.arange(n)[None, :] & 1).astype(bool)


def subsets_of_size(n: int, size: int) -> np.ndarray:
    """All subsets of a size, C(n, size) x n."""
    chosen = np.fromiter((i for c in combinations(range(n), size) for i in c), np.int64, comb(n, size) * size)
    rows = np.zeros((comb(n, size), n), dtype=bool)
    np.put_along_axis(rows, chosen.reshape(len(rows), size), True, axis=1)
    return rows


def random_subsets(rng: np.random.Generator, n: int, sizes: np.ndarray) -> np.ndarray:
    """A random subset of each of the sizes (N,), all of a size equally likely: N x n."""
    order = rng.random((len(sizes), n)).argsort(axis=1)
    rows = np.zeros((len(sizes), n), dtype=bool)
    np.put_along_axis(rows, order, np.arange(n)[None, :] < np.asarray(sizes)[:, None], axis=1)
    return rows


def spread_sizes(start: float, taken: int, count: int, chances: np.ndarray) -> np.ndarray:
    """Places in ``chances``, drawn so that after any number of draws each comes about as often as it should.

    Args:
        start: in [0, 1); random.
        taken: how many draws there were before.
        count: how many to draw now.
        chances: probability of each place, sum 1.
    """
    points = (start + _GOLDEN * np.arange(taken, taken + count)) % 1.0
    return np.minimum(np.searchsorted(np.cumsum(chances), points, side="right"), len(chances) - 1)
