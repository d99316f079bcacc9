"""Flip rate: does the prediction change when the rationale is removed, and how much must be removed until it does?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from saywhy.errors import OptionError
from saywhy.metrics.base import check_option, register
from saywhy.metrics.erasing import Cutting
from saywhy.metrics.parts import Contributions, Parts
from saywhy.metrics.selection import require_explanations
from saywhy.metrics.trial import Trial, Workbench

__all__ = ["COUNTS", "FlipRate"]

COUNTS = ("rate", "share")


@register
@dataclass(frozen=True, kw_only=True)
class FlipRate(Cutting):
    """Share of the examples whose prediction changes when the rationale is removed, mean over sizes.

    With ``count="share"`` it is the smallest of the sizes at which the prediction changes, 1 where it never does,
    mean over examples: then low is good. Rationales have one size, so they have only the rate.

    Reference: Serrano and Smith, Is Attention Interpretable?, ACL 2019, sections 4 (decision flips) and 5 (the smallest
    fraction of items that flips the decision).

    Edge cases: nothing selected never flips; where the model predicts one class for everything, the rate is 0.

    Attributes:
        count: ``rate`` or ``share``.

    Example:
        >>> FlipRate().higher_is_better, FlipRate(count="share").higher_is_better
        (True, False)
    """

    count: str = "rate"

    name: ClassVar[str] = "flip-rate"
    family: ClassVar[str] = "erasure"
    paper: ClassVar[str] = "Serrano and Smith, ACL 2019"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_option(self.name, "count", self.count, COUNTS)

    @property
    def higher_is_better(self) -> bool:
        """Predictions should flip, and early."""
        return self.count == "rate"

    def check_model(self, bench: Workbench) -> None:
        """Raise an error for models whose answer is not one of several classes."""
        super().check_model(bench)
        if bench.task == "span-qa":
            raise OptionError(f"{self.name} needs classes, and span QA follows one span; use log-odds instead")

    def measure(self, trial: Trial) -> Parts:
        """Erase, ask the model, and see whether it says the same."""
        rationales = require_explanations(self.name, trial)
        if rationales and self.count == "share":
            raise OptionError(f"{self.name}: rationales are of one size; count='share' is for scores")
        self.prepare(trial)
        erasures = trial.bench.erasures
        table = self._cuts(trial)
        flips = [[not erasures.answer(i, self._keep(c)).same for c in cuts] for i, cuts in enumerate(table)]
        columns = {"flips": np.asarray(flips, dtype=np.float64)}
        return Parts(np.arange(len(table)), columns, len(table), facts={"rationales": rationales})

    def contributions(self, parts: Parts) -> Contributions:
        """Flips at each size, or the size of the first."""
        flips = parts.columns["flips"]
        bins = self._bin_means(parts, flips)
        if self.count == "rate":
            return Contributions.mean(flips.mean(axis=1), bins=bins)
        shares = np.where(flips > 0, np.asarray(self.bins), 1.0).min(axis=1)
        never = int((flips.sum(axis=1) == 0).sum())
        notes = (f"the prediction of {never} of {parts.seen} examples never changes, which counts as 1",) * (never > 0)
        return Contributions.mean(shares, bins=bins, notes=notes)
