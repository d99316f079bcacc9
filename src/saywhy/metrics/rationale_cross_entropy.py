"""Cross-entropy of a rationalizer's predictor on given rationales."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from saywhy.metrics.base import register
from saywhy.metrics.parts import Contributions, Parts
from saywhy.metrics.rationale_accuracy import RationaleJudgement
from saywhy.ops.bootstrap import quantile_rows

__all__ = ["RationaleCrossEntropy"]


@register
@dataclass(frozen=True, kw_only=True)
class RationaleCrossEntropy(RationaleJudgement):
    """Median cross-entropy of a rationalizer's predictor when it reads the gold rationale, or the one ``selected``.

    The median, because a few confident mistakes would drown the mean.

    Reference: VER, Figures 3 and 10, appendices A.3 and A.5.
    """

    name: ClassVar[str] = "rationale-cross-entropy"

    @property
    def higher_is_better(self) -> bool:
        """Low is good."""
        return False

    @property
    def range(self) -> tuple[float, float]:
        """From 0 on."""
        return (0.0, math.inf)

    def contributions(self, parts: Parts) -> Contributions:
        """The median."""
        return Contributions(*quantile_rows(parts.columns["loss"], 0.5))
