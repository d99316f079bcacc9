"""Bootstrap intervals over examples, for means and for anything that is a function of means.

Micro F1, F1 of mean precision and mean recall, and macro F1 over classes are not means of examples' values, but each
is a function of the means of a few columns: true positives, selected, gold. So an example contributes a row, and a
resample costs one matrix product, whatever the statistic.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "Interval",
    "Statistic",
    "bootstrap_interval",
    "first_column",
    "paired_difference",
    "quantile_rows",
    "resampled_means",
]

Statistic: TypeAlias = Callable[[NDArray[np.float64]], NDArray[np.float64]]
"""From M x D means of contributions to M values."""

_CELLS = 4_000_000  # numbers held at once while resampling: 32 MB
_QUANTILES = 512


class Interval(NamedTuple):
    """A value and the bounds of its percentile interval."""

    value: float
    low: float
    high: float


def first_column(means: NDArray[np.float64]) -> NDArray[np.float64]:
    """The statistic of a plain mean."""
    return means[:, 0]


def _rows(contributions: ArrayLike) -> NDArray[np.float64]:
    rows = np.asarray(contributions, dtype=np.float64)
    if rows.ndim == 1:
        rows = rows[:, None]
    if rows.ndim != 2 or not len(rows):
        raise ValueError(f"contributions must be N or N x D with N > 0, not of shape {rows.shape}")
    return rows


def resampled_means(contributions: ArrayLike, *, samples: int = 1000, seed: int = 0) -> NDArray[np.float64]:
    """Means of the rows of ``samples`` draws of N rows with replacement.

    Args:
        contributions: N or N x D.
        samples: number of resamples M.
        seed: the same seed and N draw the same rows.

    Returns:
        M x D.
    """
    rows = _rows(contributions)
    n = len(rows)
    rng = np.random.default_rng(seed)
    means = np.empty((samples, rows.shape[1]))
    step = max(1, _CELLS // n)
    for start in range(0, samples, step):
        m = min(step, samples - start)
        draws = rng.integers(0, n, size=(m, n)) + n * np.arange(m)[:, None]
        counts = np.bincount(draws.ravel(), minlength=m * n).reshape(m, n)
        means[start : start + m] = counts.astype(np.float64) @ rows / n
    return means


def _interval(value: float, resampled: NDArray[np.float64], level: float) -> Interval:
    low, high = np.quantile(resampled, [(1 - level) / 2, (1 + level) / 2])
    return Interval(value, float(low), float(high))


def bootstrap_interval(
    contributions: ArrayLike,
    statistic: Statistic = first_column,
    *,
    samples: int = 1000,
    level: float = 0.95,
    seed: int = 0,
) -> Interval:
    """The percentile bootstrap interval of a function of the examples' mean contributions.

    Reference: Efron and Tibshirani, An Introduction to the Bootstrap (1993), section 13.3.

    Args:
        contributions: N values, or N x D rows.
        statistic: from M x D means to M values; by default the mean of the first column.
        samples: number of resamples.
        level: coverage that is aimed at.
        seed: of the draws.

    Example:
        >>> bootstrap_interval([0.0, 1.0, 1.0, 1.0], seed=1).value
        0.75
    """
    rows = _rows(contributions)
    value = float(statistic(rows.mean(axis=0, keepdims=True))[0])
    return _interval(value, statistic(resampled_means(rows, samples=samples, seed=seed)), level)


def paired_difference(
    a: ArrayLike,
    b: ArrayLike,
    statistic: Statistic = first_column,
    *,
    samples: int = 1000,
    level: float = 0.95,
    seed: int = 0,
) -> Interval:
    """The interval of ``statistic(a) - statistic(b)`` where row i of both comes from the same example.

    Both are resampled with the same draws, so what makes an example hard for both cancels.

    Args:
        a: N values, or N x D rows.
        b: of the same shape.
        statistic: as in `bootstrap_interval`.
        samples: number of resamples.
        level: coverage that is aimed at.
        seed: of the draws.

    Example:
        >>> [round(x, 3) for x in paired_difference([0.75, 0.25, 0.5], [0.5, 0.0, 0.25])]
        [0.25, 0.25, 0.25]
    """
    first, second = _rows(a), _rows(b)
    if first.shape != second.shape:
        raise ValueError(f"paired values must have one shape, not {first.shape} and {second.shape}")
    width = first.shape[1]
    both = np.hstack([first, second])

    def gap(means: NDArray[np.float64]) -> NDArray[np.float64]:
        return statistic(means[:, :width]) - statistic(means[:, width:])

    return bootstrap_interval(both, gap, samples=samples, level=level, seed=seed)


def quantile_rows(values: ArrayLike, share: float) -> tuple[NDArray[np.float64], Statistic]:
    """Contributions and statistic of a quantile: the smallest value that a share of the examples does not exceed.

    A row says which value its example has, so that the mean of rows is the distribution. With more than 512 different
    values they are raised to the next of 512 quantiles; the quantile of the values themselves stays exact.

    Args:
        values: (N,).
        share: 0.5 for the (lower) median, 1 for the largest.

    Example:
        >>> rows, statistic = quantile_rows([3.0, 1.0, 2.0], 0.5)
        >>> float(statistic(rows.mean(0, keepdims=True))[0])
        2.0
    """
    if not 0 < share <= 1:
        raise ValueError(f"a quantile is a share above 0 and at most 1, not {share}")
    found = np.asarray(values, dtype=np.float64)
    grid = np.unique(found)
    if len(grid) > _QUANTILES:
        grid = np.unique(np.quantile(found, [*np.linspace(0, 1, _QUANTILES), share], method="inverted_cdf"))
    rows = np.zeros((len(found), len(grid)))
    rows[np.arange(len(found)), np.searchsorted(grid, found)] = 1.0

    def statistic(means: NDArray[np.float64]) -> NDArray[np.float64]:
        # Sums of shares such as 1/3 fall short of 1 by rounding.
        return np.asarray(grid[(np.cumsum(means, axis=1) >= share - 1e-9).argmax(axis=1)])

    return rows, statistic
