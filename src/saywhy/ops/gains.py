"""Relative gains: how much better or worse a score is than another, whatever their units."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

__all__ = ["average_relative_gain"]


def average_relative_gain(
    scores: ArrayLike, reference: ArrayLike, higher_is_better: bool | Sequence[bool] = True
) -> float:
    """The mean over settings of (score - reference) / |reference|, positive where the score is better.

    Reference: Ye et al., CrossFit, EMNLP 2021, as in IvRA, section 3.4 and figures 5 and 8. Their sufficiency, of which
    less is better, has the sign turned here.

    Args:
        scores: one for each dataset or task.
        reference: those to compare with; one that is 0 has no relative gain.
        higher_is_better: for all, or for each.

    Example:
        >>> round(average_relative_gain([0.9, 0.3], [0.6, 0.4], [True, False]), 6)
        0.375
    """
    new, old = np.asarray(scores, dtype=np.float64), np.asarray(reference, dtype=np.float64)
    if new.shape != old.shape or not new.size:
        raise ValueError(f"scores and reference must be of one length above 0, not {new.shape} and {old.shape}")
    if (old == 0).any():
        raise ValueError("a reference of 0 has no relative gain")
    sign = np.where(np.broadcast_to(higher_is_better, new.shape), 1.0, -1.0)
    return float((sign * (new - old) / np.abs(old)).mean())
