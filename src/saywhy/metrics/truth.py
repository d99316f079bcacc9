"""Truth: do the scores find the words that are known to decide the label, because they were planted?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from saywhy.metrics.auprc import Auprc
from saywhy.metrics.base import register
from saywhy.metrics.gold import Gold
from saywhy.types import Example

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
    _gold: ClassVar[str] = "planted reasons"

    def usable(self, example: Example, space: str = "words") -> bool:
        """Whether its reasons were planted."""
        return example.truth and super().usable(example, space)

    def _counts(self, example: Example, gold: Gold) -> bool:
        return example.truth and super()._counts(example, gold)
