"""A cheap stand-in for a model's probabilities on masks: features and neighbouring pairs, additive in the logit.

A probability that is nearly certain bends where features are removed, and neighbours mean together what neither means
alone ("not good"). A linear fit takes both for noise. What a model of the logit with a gain for each feature and for
each near pair explains of them need not be sampled: its own scores can be had to any precision without asking the
model, and only what it leaves is estimated from the model's values (a control variate).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

__all__ = ["Surrogate", "fit_surrogate"]

# With fewer values than this times the features it follows their noise.
_LEAST = 4
_STEPS = 12
_RIDGE = 0.03
# How far apart the two of a pair may stand, and up to how many features pairs are worth their arithmetic.
_APART = 2
_MOST_PAIRED = 128
# Steps from the fit without pairs to one with them, and how strongly the pairs' gains are held back.
_PAIR_STEPS = 5
_PAIR_RIDGES = (1.0, 0.25, 0.06)
# To which share pairs must bring the expected error to be believed.
_WORTH = 0.97


@dataclass(frozen=True)
class Surrogate:
    """The function low + (high - low) sigmoid(bias + the gains of what is kept).

    ``gains`` (n,) belong to the features, ``pair_gains`` (P,) to the pairs of which both are kept, ``pairs`` (P, 2).
    ``freedom`` is how many parameters the fit had, less where a ridge held them back.
    """

    bias: float
    gains: np.ndarray
    low: float = 0.0
    high: float = 1.0
    pairs: np.ndarray = field(default_factory=lambda: np.zeros((0, 2), dtype=int))
    pair_gains: np.ndarray = field(default_factory=lambda: np.zeros(0))
    freedom: float = 0.0

    def at(self, logits: np.ndarray) -> np.ndarray:
        """Its value where the logit is as given."""
        return self.low + (self.high - self.low) * _sigmoid(logits)

    def values(self, keep: np.ndarray) -> np.ndarray:
        """Its values (N,) on masks (N, n)."""
        logits = self.bias + keep @ self.gains
        if len(self.pairs):
            logits = logits + _both(keep, self.pairs) @ self.pair_gains
        return self.at(logits)

    def inflation(self, samples: int) -> float:
        """By how much errors exceed those of a linear fit of what it leaves.

        It was fitted to the same values: what it leaves there is smaller by the share of its parameters than what an
        ideal one would leave, and what it leaves elsewhere is larger by as much.
        """
        left = samples - len(self.gains)
        return float(left / max(left - self.freedom, 1.0))

    def share(self, missed: np.ndarray, own: np.ndarray) -> Surrogate:
        """So much of it as best explains what a linear fit missed of the model, given what one missed of itself."""
        total = float(own @ own)
        part = min(max(float(missed @ own) / total, 0.0), 1.0) if total > 0 else 0.0
        return replace(self, low=part * self.low, high=part * self.high)


@dataclass(frozen=True)
class _Found:
    """A fit: its parameters, how many they count for, and the squared error to expect on other masks."""

    parameters: np.ndarray
    freedom: float
    expected: float


def fit_surrogate(
    keep: np.ndarray, values: np.ndarray, weights: np.ndarray, bounds: tuple[float, float]
) -> Surrogate | None:
    """Fit the stand-in by weighted least squares, or None where the data do not determine one.

    Pairs come in where they lower the error to expect on other masks (generalised cross-validation: Golub, Heath and
    Wahba, Technometrics 1979).

    Args:
        keep: masks, (N, n).
        values: the model's, (N,), within ``bounds``.
        weights: (N,), not negative.
        bounds: the least and the largest value there can be.
    """
    low, high = bounds
    samples, features = keep.shape
    if samples < _LEAST * features:
        return None
    masks = np.asarray(keep, np.float64)
    x = np.concatenate([np.ones((samples, 1)), masks], axis=1)
    y, w = (values - low) / (high - low), weights / weights.mean()
    level = min(max(float(np.average(y, weights=w)), 0.02), 0.98)
    start = np.zeros(x.shape[1])
    start[0] = np.log(level / (1 - level))
    ridge = np.asarray([1e-6] + [_RIDGE] * features)
    best = _descend(x, y, w, ridge, start, _STEPS)
    pairs = np.zeros((0, 2), dtype=int)
    near = _near_pairs(features)
    if len(near):
        x = np.concatenate([x, _both(masks, near)], axis=1)
        begin = np.append(best.parameters, np.zeros(len(near)))
        for strength in _PAIR_RIDGES:
            found = _descend(x, y, w, np.append(ridge, np.full(len(near), strength)), begin, _PAIR_STEPS)
            if found.expected > best.expected * (_WORTH if not len(pairs) else 1.0):
                break
            best, pairs, begin = found, near, found.parameters
    bias, gains, pair_gains = np.split(best.parameters, [1, 1 + features])
    return Surrogate(float(bias[0]), gains, low, high, pairs, pair_gains, best.freedom)


def _near_pairs(features: int) -> np.ndarray:
    """The pairs of features at most so far apart, (P, 2)."""
    if features > _MOST_PAIRED:
        return np.zeros((0, 2), dtype=int)
    return np.asarray(
        [(i, i + apart) for apart in range(1, _APART + 1) for i in range(features - apart)], dtype=int
    ).reshape(-1, 2)


def _both(keep: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """Whether both of each pair are kept, (N, P)."""
    kept = np.asarray(keep, np.float64)
    return np.asarray(kept[:, pairs[:, 0]] * kept[:, pairs[:, 1]])


def _descend(x: np.ndarray, y: np.ndarray, w: np.ndarray, ridge: np.ndarray, start: np.ndarray, steps: int) -> _Found:
    """Gauss-Newton steps of weighted least squares through a sigmoid, with a ridge on each parameter."""
    found = start
    best, least = start, np.inf
    for step in range(steps + 1):
        fitted = _sigmoid(x @ found)
        loss = float(w @ (y - fitted) ** 2 + ridge @ found**2)
        if loss < least:
            best, least = found, loss
        if step == steps:
            break
        slopes = x * (fitted * (1 - fitted))[:, None]
        gram = (slopes * w[:, None]).T @ slopes + np.diag(ridge)
        move = np.linalg.solve(gram, slopes.T @ (w * (y - fitted)) - ridge * found)
        # A long step from where the curve is flat leads astray.
        found = found + np.clip(move, -2.0, 2.0)
    fitted = _sigmoid(x @ best)
    slopes = x * (fitted * (1 - fitted))[:, None]
    bare = (slopes * w[:, None]).T @ slopes
    freedom = float(np.trace(np.linalg.solve(bare + np.diag(ridge), bare)))
    left = max(1 - freedom / len(y), 1e-3)
    return _Found(best, freedom, float(w @ (y - fitted) ** 2) / left**2)


def _sigmoid(logits: np.ndarray) -> np.ndarray:
    return np.asarray(1 / (1 + np.exp(-np.clip(logits, -500, 500))))
