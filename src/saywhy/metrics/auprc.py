"""AUPRC: do the scores rank the words people marked above the others?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from saywhy.metrics.base import check_option, register
from saywhy.metrics.gold import Gold
from saywhy.metrics.plausibility import RankingAgreement
from saywhy.ops.ranking import auprc, average_precision
from saywhy.types import Example

__all__ = ["VARIANTS", "Auprc"]

VARIANTS = ("eraser", "average-precision")


@register
@dataclass(frozen=True, kw_only=True)
class Auprc(RankingAgreement):
    """Mean over examples of the area under the precision-recall curve of the word scores.

    Equal scores have the area (1 + share of gold words) / 2 by the trapezoid rule, far above that of a random order,
    and the share of gold words as average precision: where methods leave many words at 0, compare by the latter.
    A rationale without scores ranks its words by being selected.

    Reference: DeYoung et al., ERASER, ACL 2020, section 4.1.

    Attributes:
        variant: ``eraser`` (trapezoid rule, as its metrics compute it) or ``average-precision`` (no interpolation;
            examples in which every word is gold are left out, as ERASER does).

    Example:
        >>> Auprc(variant="average-precision").name
        'auprc'
    """

    variant: str = "eraser"

    name: ClassVar[str] = "auprc"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_option(self.name, "variant", self.variant, VARIANTS)

    def _counts(self, example: Example, gold: Gold) -> bool:
        return self.variant == "eraser" or not gold.whole

    def _agreement(self, gold: NDArray[np.bool_], scores: NDArray[np.float64]) -> float:
        area = auprc if self.variant == "eraser" else average_precision
        return area(gold, scores)
