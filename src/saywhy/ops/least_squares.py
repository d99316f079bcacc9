"""Weighted least squares with a ridge, and how far the coefficients would move with other samples."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["Fit", "constrained_fit", "relative_error", "ridge_fit"]

# Below this share of the largest eigenvalue a direction counts as not seen at all.
_FLAT = 1e-10


@dataclass(frozen=True)
class Fit:
    """What least squares found.

    ``coefficients`` (n,) and ``intercept`` are the solution; ``errors`` (n,) are the coefficients' standard errors by
    the jackknife: how much they vary when one sample, or one group of samples, is left out. ``missed`` (samples,) is
    what the fit leaves of the values, times the root of the weights.
    """

    coefficients: np.ndarray
    intercept: float
    errors: np.ndarray
    missed: np.ndarray


def ridge_fit(
    x: np.ndarray, y: np.ndarray, weights: np.ndarray, alpha: float = 1.0, groups: np.ndarray | None = None
) -> Fit:
    """Weighted ridge regression with an intercept that is not penalised, as scikit-learn's ``Ridge``.

    Args:
        x: samples x features.
        y: (samples,).
        weights: (samples,), not negative.
        alpha: the ridge.
        groups: (samples,); samples with the same number were drawn together, those below zero were not drawn at all
            and add no error. Each sample for itself if None.

    Example:
        >>> fit = ridge_fit(np.array([[0.0], [1.0], [2.0]]), np.array([1.0, 3.0, 5.0]), np.ones(3), alpha=0.0)
        >>> fit.coefficients.round(6).tolist(), round(fit.intercept, 6)
        ([2.0], 1.0)
    """
    x, y, weights = np.asarray(x, np.float64), np.asarray(y, np.float64), np.asarray(weights, np.float64)
    share = weights / weights.sum()
    centre, level = share @ x, float(share @ y)
    root = np.sqrt(weights)
    rows, values = (x - centre) * root[:, None], (y - level) * root
    coefficients, moves = _solve(rows, values, alpha, share, groups)
    missed = values - rows @ coefficients
    return Fit(coefficients, level - float(centre @ coefficients), np.sqrt((moves**2).sum(axis=0)), missed)


def constrained_fit(
    x: np.ndarray, y: np.ndarray, weights: np.ndarray, total: float, groups: np.ndarray | None = None
) -> Fit:
    """Weighted least squares without an intercept whose coefficients sum to ``total``.

    The constraint holds exactly: the coefficients are the mean, total / n, and a part that sums to zero, found among
    the directions that sum to zero. Directions that the samples do not show stay at the mean.

    Args:
        x: samples x features.
        y: (samples,).
        weights: (samples,), not negative.
        total: what the coefficients sum to.
        groups: as for `ridge_fit`.

    Example:
        >>> x = np.array([[1.0, 0.0], [0.0, 1.0]])
        >>> constrained_fit(x, np.array([1.0, 4.0]), np.ones(2), total=6.0).coefficients.round(6).tolist()
        [1.5, 4.5]
    """
    x, y, weights = np.asarray(x, np.float64), np.asarray(y, np.float64), np.asarray(weights, np.float64)
    features = x.shape[1]
    sizes, root = x.sum(axis=1), np.sqrt(weights)
    rows = (x - sizes[:, None] / features) * root[:, None]
    values = (y - sizes * total / features) * root
    around, moves = _solve(rows, values, 0.0, np.zeros(len(y)), groups)
    around -= around.mean()
    return Fit(around + total / features, 0.0, np.sqrt((moves**2).sum(axis=0)), values - rows @ around)


def relative_error(scores: np.ndarray, errors: np.ndarray) -> float:
    """The root mean square of standard errors, relative to the largest score; 0 where there is nothing to miss."""
    largest, typical = float(np.abs(scores).max(initial=0.0)), float(np.sqrt(np.mean(errors**2)))
    return 0.0 if typical < 1e-9 else typical / max(largest, 1e-9)


def _solve(
    rows: np.ndarray, values: np.ndarray, alpha: float, share: np.ndarray, groups: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients, and how each group of samples moves them (groups x features)."""
    if rows.shape[1] <= rows.shape[0]:
        solver = rows @ _inverse(rows.T @ rows, alpha)
    else:
        # More features than samples: the same by a system as large as the samples.
        solver = _inverse(rows @ rows.T, alpha) @ rows
    coefficients = values @ solver
    leverage = (solver * rows).sum(axis=1) + share
    # A sample that the fit must pass through says nothing about errors; the bound keeps them finite.
    missed = (values - rows @ coefficients) / np.maximum(1 - leverage, 1e-3)
    moves = solver * missed[:, None]
    if groups is None:
        return coefficients, moves
    drawn = groups >= 0
    names, place = np.unique(groups[drawn], return_inverse=True)
    if len(names) == drawn.sum():
        return coefficients, moves[drawn]
    together = np.zeros((len(names), rows.shape[1]))
    np.add.at(together, place, moves[drawn])
    return coefficients, together


def _inverse(gram: np.ndarray, alpha: float) -> np.ndarray:
    values, vectors = np.linalg.eigh(gram)
    floor = _FLAT * max(float(values[-1]), 1e-300)
    inverse = np.where(
        values > floor, 1 / np.maximum(values + alpha, floor), 0.0 if alpha == 0 else 1 / max(alpha, floor)
    )
    return np.asarray((vectors * inverse) @ vectors.T)
