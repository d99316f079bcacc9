"""Truth: do the scores find the words that are known to decide the label, because they were planted?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from saywhy.metrics.auprc import Auprc
from saywhy.metrics.base import register
from saywhy.metrics.gold import Gold
from saywhy.metrics.plausibility import no_gold
from saywhy.metrics.trial import Trial, Workbench
from saywhy.types import Example, MetricResult

__all__ = ["Truth"]


@register
@dataclass(frozen=True, kw_only=True)
class Truth(Auprc):
    """AUPRC against planted or composed reasons: what people would mark is not asked, what decides is known.

    Only examples whose ``truth`` is set count. It says something about a method only where the model predicts well:
    a model that is wrong has other reasons. Options are those of `auprc`, but the area is the average precision by
    default: the trapezoid rule gives about 0.5 to equal scores, so that a method that says nothing would seem to find
    half of the truth, and a random order next to none of it.

    Example:
        >>> Truth().family
        'truth'
    """

    variant: str = "average-precision"

    name: ClassVar[str] = "truth"
    family: ClassVar[str] = "truth"
    paper: ClassVar[str] = ""

    def check(self, bench: Workbench) -> None:
        """Raise an error if no example has planted reasons."""
        if not any(example.truth and any(example.rationales) for example in bench.examples):
            raise no_gold(self.name, bench, "planted reasons")

    def score(self, trial: Trial) -> MetricResult:
        """Compare the ranking of the words with the planted ones."""
        self.check(trial.bench)
        return super().score(trial)

    def _counts(self, example: Example, gold: Gold) -> bool:
        return example.truth and super()._counts(example, gold)
