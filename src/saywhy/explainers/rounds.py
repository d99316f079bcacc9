"""Sampling in rounds: all inputs advance together, each until it is precise enough."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from saywhy.errors import OptionError
from saywhy.explainers.base import Request
from saywhy.explainers.players import Players
from saywhy.ops.randomness import numpy_generator

__all__ = ["Estimate", "check_sampling", "input_generator", "sample_in_rounds", "value_bounds"]

# The fewest masks of a first round: with less, an estimated error is itself too uncertain to stop at.
_FIRST = 64
# A round adds at least a quarter to what is there, so that rounds are few, and at most doubles it.
_LEAST, _MOST = 1.25, 2.0


class Estimate(Protocol):
    """Scores of one input's features, estimated from the values of masks."""

    taken: int
    """How many masks were drawn so far."""
    least: int
    """How many masks must be drawn before the error means something."""

    def draw(self, count: int) -> np.ndarray:
        """About ``count`` more masks (m, features) to be valued; none if there is nothing left to learn."""
        ...

    def learn(self, values: np.ndarray) -> None:
        """Take in the values (m,) of the masks drawn last."""
        ...

    def error(self) -> float:
        """The estimated error of the scores, relative to the largest."""
        ...


def input_generator(request: Request, number: int) -> np.random.Generator:
    """A generator that depends on the seed and on an input's own text, not on the inputs around it."""
    return numpy_generator(request.seed, *request.examples[number].fields)


def value_bounds(request: Request, number: int, output: str) -> tuple[float, float] | None:
    """The least and the largest value that an input's target can have, or None if there are none."""
    if output != "probability":
        return None
    return (0.0, 1.0) if request.against[number] is None else (-1.0, 1.0)


def check_sampling(samples: int, tolerance: float | None) -> None:
    """Raise an error for a number of samples or a tolerance that cannot be."""
    if samples < 1:
        raise OptionError(f"samples must be at least 1, not {samples}")
    if tolerance is not None and tolerance <= 0:
        raise OptionError(f"tolerance must be positive, not {tolerance}; use none to draw all samples")


def sample_in_rounds(
    players: Players, estimates: Sequence[Estimate], samples: int, tolerance: float | None
) -> list[float]:
    """Draw masks and ask for their values until each estimate is precise enough or has had its samples.

    Returns:
        The estimated error of each.
    """
    waiting = list(range(len(estimates)))
    errors = [0.0] * len(estimates)
    while waiting:
        drawn = [estimates[i].draw(_next(estimates[i], errors[i], samples, tolerance)) for i in waiting]
        table = np.zeros((sum(map(len, drawn)), int(players.sizes[waiting].max())), dtype=bool)
        start = 0
        for masks in drawn:
            table[start : start + len(masks), : masks.shape[1]] = masks
            start += len(masks)
        owner = np.repeat(waiting, [len(masks) for masks in drawn])
        values = np.split(players.values(owner, table), np.cumsum([len(masks) for masks in drawn])[:-1])
        still = []
        for i, masks, found in zip(waiting, drawn, values, strict=True):
            if len(masks):
                estimates[i].learn(found)
                errors[i] = estimates[i].error()
            finished = not len(masks) or estimates[i].taken >= samples
            if not finished and (tolerance is None or errors[i] > tolerance):
                still.append(i)
        waiting = still
    return errors


def _next(estimate: Estimate, error: float, samples: int, tolerance: float | None) -> int:
    """How many masks to draw in the next round."""
    left = samples - estimate.taken
    if tolerance is None:
        return left
    if estimate.taken == 0:
        return min(left, max(_FIRST, estimate.least))
    # The error falls with the root of the number of samples.
    growth = min(max((error / tolerance) ** 2, _LEAST), _MOST)
    return min(left, max(1, int(estimate.taken * growth) - estimate.taken))
