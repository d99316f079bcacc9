"""Compactness: how much of the input does the explanation select?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from saywhy.metrics.base import register
from saywhy.metrics.erasing import Selecting
from saywhy.metrics.parts import Contributions, Parts
from saywhy.metrics.selection import free_of
from saywhy.metrics.trial import Trial

__all__ = ["Compactness"]


@register
@dataclass(frozen=True, kw_only=True)
class Compactness(Selecting):
    """Percentage of the words, or of the word pairs, that are selected; low is good.

    Of scores that select their ``top`` share it says no more than this share: give ``until``, or measure rationales.

    Reference: AREC, equation 6 (L1), divided by the number of cells as in its tables.

    Edge cases: nothing selected has 0, everything 100. Words that may not be selected do not count.

    Example:
        >>> Compactness().range
        (0.0, 100.0)
    """

    name: ClassVar[str] = "compactness"
    family: ClassVar[str] = "readability"
    paper: ClassVar[str] = "AREC, equation 6"

    @property
    def higher_is_better(self) -> bool:
        """An explanation should be short."""
        return False

    @property
    def range(self) -> tuple[float, float]:
        """Per cent."""
        return (0.0, 100.0)

    @property
    def erases(self) -> bool:
        """Only where the model decides the size."""
        return self.until is not None

    def measure(self, trial: Trial) -> Parts:
        """Count what is selected."""
        chosen = self._selections(trial)
        sizes = [max(1, int(free_of(trial, i).sum())) for i in range(len(chosen))]
        shares = 100 * np.asarray([mask.sum() for mask in chosen], dtype=np.float64) / np.asarray(sizes)
        return Parts(np.arange(len(chosen)), {"values": shares}, len(chosen))

    def contributions(self, parts: Parts) -> Contributions:
        """The mean share."""
        return Contributions.mean(parts.columns["values"])
