"""Rules to integrate over [0, 1]: fixed ones, and weights for points that lie wherever they are needed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline

__all__ = ["completeness_error", "gauss_legendre", "midpoint", "spline_weights"]

ROUNDING = 1e-4
"""A gain far below this may be none: on some processors two equal rows of a batch differ by 1e-7 in float32."""

Floats = NDArray[np.float64]


def completeness_error(total: float, gain: float) -> float:
    """How far scores that add up to ``total`` miss the gain that they explain, relative to it.

    Example:
        >>> completeness_error(0.99, 1.0), completeness_error(0.0, 0.0)
        (0.010000000000000009, 0.0)
    """
    return abs(total - gain) / max(abs(gain), ROUNDING)


def gauss_legendre(points: int) -> tuple[Floats, Floats]:
    """Points and weights of the Gauss-Legendre rule on [0, 1]; exact for polynomials of degree ``2 * points - 1``."""
    nodes, weights = np.polynomial.legendre.leggauss(points)
    return (nodes + 1) / 2, weights / 2


def midpoint(points: int) -> tuple[Floats, Floats]:
    """Points and weights of the midpoint rule on [0, 1]."""
    return (np.arange(points) + 0.5) / points, np.full(points, 1 / points)


def spline_weights(points: Floats) -> Floats:
    """Weights that integrate, interval by interval, the cubic spline through values at any points.

    Args:
        points: increasing, (n,).

    Returns:
        (n - 1, n): row i times the values is the integral from point i to point i + 1.

    Example:
        >>> import numpy as np
        >>> t = np.array([0.0, 0.2, 0.5, 1.0])
        >>> np.abs(spline_weights(t) @ t**3 - np.diff(t**4) / 4).round(12).tolist()
        [0.0, 0.0, 0.0]
    """
    points = np.asarray(points, dtype=np.float64)
    if len(points) == 2:
        return np.full((1, 2), (points[1] - points[0]) / 2)
    whole = CubicSpline(points, np.eye(len(points)), axis=0).antiderivative()
    return np.asarray(np.diff(whole(points), axis=0))
