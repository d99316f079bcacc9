"""A cheap stand-in for a model's probabilities on masks: additive in the logit.

A probability that is nearly certain bends where features are removed, and a linear fit takes the bend for noise. What
an additive model of the logit explains of it need not be sampled: its own scores can be had to any precision without
asking the model, and only what it leaves is estimated from the model's values (a control variate).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

__all__ = ["Surrogate", "fit_surrogate"]

# With fewer values than this times the features it follows their noise.
_LEAST = 4
_STEPS = 12
_RIDGE = 0.03


@dataclass(frozen=True)
class Surrogate:
    """The function low + (high - low) sigmoid(bias + sum of the gains of what is kept)."""

    bias: float
    gains: np.ndarray
    low: float = 0.0
    high: float = 1.0

    def at(self, logits: np.ndarray) -> np.ndarray:
        """Its value where the logit is as given."""
        return self.low + (self.high - self.low) * _sigmoid(logits)

    def values(self, keep: np.ndarray) -> np.ndarray:
        """Its values (N,) on masks (N, n)."""
        return self.at(self.bias + keep @ self.gains)

    def inflation(self, samples: int) -> float:
        """By how much errors exceed those of a linear fit of what it leaves: it was fitted to the same values."""
        features = len(self.gains)
        return float(np.sqrt((samples - features) / (samples - 2 * features)))

    def share(self, missed: np.ndarray, own: np.ndarray) -> Surrogate:
        """So much of it as best explains what a linear fit missed of the model, given what one missed of itself."""
        total = float(own @ own)
        part = min(max(float(missed @ own) / total, 0.0), 1.0) if total > 0 else 0.0
        return replace(self, low=part * self.low, high=part * self.high)


def fit_surrogate(
    keep: np.ndarray, values: np.ndarray, weights: np.ndarray, bounds: tuple[float, float]
) -> Surrogate | None:
    """Fit the stand-in by weighted least squares, or None where the data do not determine one.

    Args:
        keep: masks, (N, n).
        values: the model's, (N,), within ``bounds``.
        weights: (N,), not negative.
        bounds: the least and the largest value there can be.
    """
    low, high = bounds
    if len(values) < _LEAST * keep.shape[1]:
        return None
    x = np.concatenate([np.ones((len(keep), 1)), np.asarray(keep, np.float64)], axis=1)
    y, w = (values - low) / (high - low), weights / weights.mean()
    level = min(max(float(np.average(y, weights=w)), 0.02), 0.98)
    found = np.zeros(x.shape[1])
    found[0] = np.log(level / (1 - level))
    ridge = np.diag([1e-6] + [_RIDGE] * keep.shape[1])
    best, least = found, np.inf
    for _ in range(_STEPS):
        fitted = _sigmoid(x @ found)
        loss = float(w @ (y - fitted) ** 2 + found @ ridge @ found)
        if loss < least:
            best, least = found, loss
        slopes = x * (fitted * (1 - fitted))[:, None]
        step = np.linalg.solve((slopes * w[:, None]).T @ slopes + ridge, slopes.T @ (w * (y - fitted)) - ridge @ found)
        # A long step from where the curve is flat leads astray.
        found = found + np.clip(step, -2.0, 2.0)
    return Surrogate(float(best[0]), best[1:], low, high)


def _sigmoid(logits: np.ndarray) -> np.ndarray:
    return np.asarray(1 / (1 + np.exp(-np.clip(logits, -500, 500))))
