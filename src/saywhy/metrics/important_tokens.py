"""Important tokens: how many words does an explanation call important?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from saywhy.errors import OptionError
from saywhy.metrics.base import Metric, register
from saywhy.metrics.parts import Contributions, Parts
from saywhy.metrics.selection import free_of, require_explanations, scores_of
from saywhy.metrics.trial import Trial

__all__ = ["ImportantTokens"]


@register
@dataclass(frozen=True, kw_only=True)
class ImportantTokens(Metric):
    """Percentage of the words whose score, scaled from 0 to 1 within the text, is above a threshold; low is concise.

    The mean over ``thresholds``; ``bins`` has the percentage at each.

    Reference: IvRA, appendix D and figure 7.

    Edge cases: where all scores are equal no word stands out, and all count 0. Words that may not be selected, or
    that the model does not read because the text was cut, do not count.

    Attributes:
        thresholds: of the scaled scores.

    Example:
        >>> ImportantTokens().thresholds[:3]
        (0.1, 0.2, 0.3)
    """

    thresholds: tuple[float, ...] = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)

    name: ClassVar[str] = "important-tokens"
    family: ClassVar[str] = "readability"
    spaces: ClassVar[tuple[str, ...]] = ("words", "alignments")
    bins_are: ClassVar[str] = "thresholds"
    paper: ClassVar[str] = "IvRA, appendix D"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "thresholds", tuple(float(z) for z in self.thresholds))
        if not self.thresholds or not all(0 <= z < 1 for z in self.thresholds):
            raise OptionError(f"{self.name}: thresholds lie from 0 to below 1, not at {list(self.thresholds)}")

    @property
    def higher_is_better(self) -> bool:
        """An explanation should be short."""
        return False

    @property
    def range(self) -> tuple[float, float]:
        """Per cent."""
        return (0.0, 100.0)

    def measure(self, trial: Trial) -> Parts:
        """Scale and count."""
        require_explanations(self.name, trial)
        table = np.zeros((len(trial.explanations), len(self.thresholds)))
        for i in range(len(trial.explanations)):
            scores = scores_of(trial, i)[free_of(trial, i)]
            span = float(np.ptp(scores)) if len(scores) else 0.0
            if span > 0:
                scaled = (scores - scores.min()) / span
                table[i] = [100 * float((scaled > z).mean()) for z in self.thresholds]
        return Parts(np.arange(len(table)), {"table": table}, len(table))

    def contributions(self, parts: Parts) -> Contributions:
        """The mean over thresholds."""
        table = parts.columns["table"]
        bins = {f"{z:g}": float(v) for z, v in zip(self.thresholds, table.mean(0), strict=True)}
        return Contributions.mean(table.mean(1), bins=bins)
