"""Log-odds: by what factor does the probability fall when the rationale is removed?"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from saywhy.errors import OptionError
from saywhy.metrics.base import register
from saywhy.metrics.erasing import Cutting
from saywhy.metrics.parts import Contributions, Parts
from saywhy.metrics.selection import require_explanations
from saywhy.metrics.trial import Trial

__all__ = ["LogOdds"]


@register
@dataclass(frozen=True, kw_only=True)
class LogOdds(Cutting):
    """Mean over sizes of log p(x without r) - log p(x) of the predicted class; low is good.

    It sees a fall from 0.01 to 0.0001 that `comprehensiveness` does not. Probabilities below ``clip`` count as
    ``clip``: one example that falls to nothing must not decide the mean.

    Reference: Shrikumar et al., Learning Important Features Through Propagating Activation Differences, ICML 2017, for
    images; Chen et al., Generating Hierarchical Explanations on Text Classification via Feature Interaction Detection,
    ACL 2020, section 4.2, for words.

    Departures: they pad what is erased; here the erasure is that of the run.

    Edge cases: nothing selected has 0; a text of one word is erased whole.

    Attributes:
        clip: the least probability that is told from 0.

    Example:
        >>> [round(end, 2) for end in LogOdds(clip=0.01).range]
        [-4.61, 4.61]
    """

    clip: float = 1e-6

    name: ClassVar[str] = "log-odds"
    family: ClassVar[str] = "erasure"
    paper: ClassVar[str] = "Shrikumar et al., ICML 2017; Chen et al., ACL 2020"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.clip < 1:
            raise OptionError(f"{self.name}: clip must lie between 0 and 1, not at {self.clip}")

    @property
    def higher_is_better(self) -> bool:
        """The probability should fall."""
        return False

    @property
    def range(self) -> tuple[float, float]:
        """What the clip allows."""
        return (math.log(self.clip), -math.log(self.clip))

    def measure(self, trial: Trial) -> Parts:
        """Erase, ask the model, and compare the logarithms."""
        rationales = require_explanations(self.name, trial)
        self.prepare(trial)
        erasures = trial.bench.erasures
        table = self._cuts(trial)
        left = np.asarray([[erasures.probability(i, self._keep(c)) for c in cuts] for i, cuts in enumerate(table)])
        full = np.asarray([[erasures.probability(i, erasures.full(i))] for i in range(len(table))])
        values = np.log(np.maximum(left, self.clip)) - np.log(np.maximum(full, self.clip))
        counts = {"clipped": int((left < self.clip).any(axis=1).sum())}
        return Parts(np.arange(len(table)), {"values": values}, len(table), counts, {"rationales": rationales})

    def contributions(self, parts: Parts) -> Contributions:
        """The mean over sizes."""
        values, clipped = parts.columns["values"], parts.counts["clipped"]
        notes = (f"the probability of {clipped} of {parts.seen} examples falls below {self.clip:g}",) * (clipped > 0)
        return Contributions.mean(values.mean(axis=1), bins=self._bin_means(parts, values), notes=notes)
