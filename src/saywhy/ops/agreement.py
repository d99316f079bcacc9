"""Agreement of several raters who need not all rate everything."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

__all__ = ["LEVELS", "krippendorff_alpha"]

LEVELS = ("nominal", "ordinal", "interval")


def krippendorff_alpha(units: Sequence[Sequence[float]], level: str = "ordinal") -> float | None:
    """Krippendorff's alpha: 1 for perfect agreement, 0 for what chance gives, below 0 for less.

    Reference: Krippendorff, Computing Krippendorff's Alpha-Reliability (2011), section D (any number of observers, any
    metric, missing data); the ordinal difference is that of section E.

    Args:
        units: the ratings of each unit, one number a rater who rated it; units with fewer than two are left out.
        level: how far two ratings differ: ``nominal`` (equal or not), ``ordinal`` (by how many ratings lie between) or
            ``interval`` (by their difference).

    Returns:
        The agreement; None where it is not defined: nobody rated the same twice, or all ratings are equal.

    Example:
        >>> krippendorff_alpha([[1, 1], [2, 2], [3, 3]])
        1.0
        >>> krippendorff_alpha([[0, 0], [0, 1]], "nominal")
        0.0
    """
    if level not in LEVELS:
        raise ValueError(f"unknown level {level!r}; use one of {', '.join(LEVELS)}")
    paired = [list(unit) for unit in units if len(unit) > 1]
    values = np.unique([value for unit in paired for value in unit])
    if len(values) < 2:
        return None
    together = np.zeros((len(values), len(values)))
    for unit in paired:
        counts = (values[:, None] == np.asarray(unit)).sum(axis=1)
        together += (np.outer(counts, counts) - np.diag(counts)) / (len(unit) - 1)
    totals = together.sum(axis=0)
    apart = _differences(values, totals, level)
    observed, expected = (together * apart).sum(), (np.outer(totals, totals) * apart).sum()
    return float(1 - (totals.sum() - 1) * observed / expected)


def _differences(values: np.ndarray, totals: np.ndarray, level: str) -> np.ndarray:
    """Squared differences of all pairs of values, C x C."""
    if level == "nominal":
        return 1.0 - np.eye(len(values))
    if level == "interval":
        return np.asarray((values[:, None] - values[None, :]) ** 2, dtype=np.float64)
    # Ratings at or between the two, the ends counted half: the distance of the midpoints in the ranking of all.
    middle = np.cumsum(totals) - totals / 2
    return np.asarray((middle[:, None] - middle[None, :]) ** 2, dtype=np.float64)
