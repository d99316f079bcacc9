"""AUROC: how probable is it that a marked word is ranked above another one?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from saywhy.metrics.base import register
from saywhy.metrics.gold import Gold
from saywhy.metrics.plausibility import RankingAgreement
from saywhy.ops.ranking import auroc
from saywhy.types import Example

__all__ = ["Auroc"]


@register
@dataclass(frozen=True, kw_only=True)
class Auroc(RankingAgreement):
    """Mean over examples of the area under the ROC curve of the word scores; 0.5 is chance.

    Ties count half, so constant scores have 0.5. Examples in which every word is gold are left out.

    Reference: DeYoung et al., ERASER, ACL 2020, section 4.1 (released metrics).

    Example:
        >>> Auroc().range
        (0.0, 1.0)
    """

    name: ClassVar[str] = "auroc"

    def _counts(self, example: Example, gold: Gold) -> bool:
        return not gold.whole

    def _agreement(self, gold: NDArray[np.bool_], scores: NDArray[np.float64]) -> float:
        return auroc(gold, scores)
