"""AUROC: how probable is it that a marked word is ranked above another one?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from saywhy.metrics.base import register
from saywhy.metrics.gold import Gold
from saywhy.metrics.plausibility import RankingAgreement
from saywhy.metrics.selection import scores_of
from saywhy.metrics.trial import Trial
from saywhy.ops.ranking import auroc
from saywhy.types import Example, MetricResult

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

    def score(self, trial: Trial) -> MetricResult:
        """Compare the ranking of the words with the gold ones."""
        values = self._values(trial)
        return self._result(trial, values, values=values, notes=self._left_out(trial, len(values)))

    def _counts(self, example: Example, gold: Gold) -> bool:
        return not gold.mask.all()

    def _agreement(self, trial: Trial, i: int, gold: Gold) -> float:
        return auroc(gold.mask, scores_of(trial, i))
