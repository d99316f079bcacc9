"""What a walk over a corpus remembers of words: a few sums each, however long the walk."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from scipy import stats

__all__ = ["Moments", "Reservoir", "holm", "rarely_by_chance"]

T = TypeVar("T")


@dataclass
class Moments:
    """Count, mean and spread of numbers that are seen once (Welford's update)."""

    n: int = 0
    mean: float = 0.0
    _squares: float = 0.0

    def add(self, value: float) -> None:
        """Take in one more."""
        self.n += 1
        step = value - self.mean
        self.mean += step / self.n
        self._squares += step * (value - self.mean)

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Where the mean lies, by Student's t; everywhere as long as there is only one."""
        if self.n < 2:
            return -math.inf, math.inf
        error = math.sqrt(self._squares / (self.n - 1) / self.n)
        reach = float(stats.t.ppf((1 + level) / 2, self.n - 1)) * error
        return self.mean - reach, self.mean + reach

    def p_value(self) -> float:
        """How often a mean so far from zero would come by chance if the true one were zero."""
        if self.n < 2:
            return 1.0
        error = math.sqrt(self._squares / (self.n - 1) / self.n)
        if error == 0:
            return 1.0 if self.mean == 0 else 0.0
        return float(2 * stats.t.sf(abs(self.mean) / error, self.n - 1))


@dataclass
class Reservoir(Generic[T]):
    """So many of the things that pass by, each as likely as any other."""

    size: int
    seed: int = 0
    kept: list[T] = field(default_factory=list)
    seen: int = 0

    def __post_init__(self) -> None:
        self._rng = random.Random(f"{self.seed}/reservoir")

    def add(self, thing: T) -> None:
        """Show it one more."""
        self.seen += 1
        if len(self.kept) < self.size:
            self.kept.append(thing)
        elif (place := self._rng.randrange(self.seen)) < self.size:
            self.kept[place] = thing


def rarely_by_chance(hits: int, tries: int, rate: float) -> float:
    """How often so many hits or more would come in so many tries at that rate (one-sided binomial test)."""
    if tries == 0:
        return 1.0
    return float(stats.binomtest(hits, tries, min(max(rate, 0.0), 1.0), alternative="greater").pvalue)


def holm(p_values: Iterable[float]) -> list[float]:
    """Holm's correction: each p-value as it would have to be if it were the only test, in the given order.

    Example:
        >>> holm([0.01, 0.04, 0.03])
        [0.03, 0.06, 0.06]
    """
    given = list(p_values)
    order = sorted(range(len(given)), key=given.__getitem__)
    made = [0.0] * len(given)
    least = 0.0
    for rank, place in enumerate(order):
        least = max(least, min(1.0, (len(given) - rank) * given[place]))
        made[place] = least
    return made
