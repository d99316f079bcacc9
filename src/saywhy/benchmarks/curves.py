"""Error over cost: what does each of two samplers spend for the same error?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

__all__ = ["Curve", "Meeting", "meet", "relative_error"]


def relative_error(scores: Sequence[float], reference: Sequence[float]) -> float:
    """The L2 distance of two explanations, relative to the second."""
    exact = np.asarray(reference, dtype=np.float64)
    missed = float(np.linalg.norm(np.asarray(scores, dtype=np.float64) - exact))
    return missed / max(float(np.linalg.norm(exact)), 1e-12)


@dataclass(frozen=True)
class Curve:
    """What a sampler spends, and how far it is off, at rising numbers of samples."""

    samples: tuple[int, ...]
    seconds: tuple[float, ...]
    errors: tuple[float, ...]

    def seconds_at(self, error: float) -> float:
        """CPU seconds for an error, from a straight line through the points in logarithms.

        The error of a sampler falls as a power of its samples, so the line is what one expects; it averages over the
        points' own noise. An error that does not fall with the samples gives infinity.
        """
        x, y = np.log(self.errors), np.log(self.seconds)
        slope, start = np.polyfit(x, y, 1)
        return float(np.exp(start + slope * np.log(error))) if slope < 0 else float("inf")


@dataclass(frozen=True)
class Meeting:
    """Two curves at the same error; ``apart``: no error was reached by both, and the lines were drawn on."""

    error: float
    ours: float
    theirs: float
    apart: bool


def meet(ours: Curve, theirs: Curve) -> Meeting:
    """Both curves at the middle of the errors that both reach.

    Example:
        >>> slow = Curve((100, 400), (2.0, 8.0), (0.2, 0.1))
        >>> fast = Curve((100, 400), (1.0, 4.0), (0.2, 0.1))
        >>> met = meet(fast, slow)
        >>> round(met.error, 4), round(met.theirs / met.ours, 4)
        (0.1414, 2.0)
    """
    low = max(min(ours.errors), min(theirs.errors))
    high = min(max(ours.errors), max(theirs.errors))
    error = float(np.sqrt(low * high))
    return Meeting(error, ours.seconds_at(error), theirs.seconds_at(error), apart=low > high)
