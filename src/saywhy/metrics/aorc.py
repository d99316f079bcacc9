"""AORC: how far does the output move when only the best features are kept, over all sizes?"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from saywhy.metrics.base import register
from saywhy.metrics.erasing import Cutting
from saywhy.metrics.parts import Contributions, Parts
from saywhy.metrics.selection import ranking_of, require_explanations
from saywhy.metrics.trial import Trial

__all__ = ["Aorc"]


@register
@dataclass(frozen=True, kw_only=True)
class Aorc(Cutting):
    """Area over the reservation curve: mean `fidelity` of keeping the best 0, 5, ..., 100 %; low is good.

    Reference: AREC, equation 13.

    Departures: the paper writes a sum over k and does not name the grid; its values are of the size of one distance, so
    this is the mean. Rationales are ranked by their scores, or by being selected where they have none: AREC's
    parameters are scores too.

    Edge cases: the share 0 keeps nothing, whatever the rounding, and is the same for all methods; the share 1 keeps
    everything and has 0.

    Example:
        >>> len(Aorc().bins), Aorc().bins[:3]
        (21, (0.0, 0.05, 0.1))
    """

    bins: tuple[float, ...] = tuple(k / 20 for k in range(21))

    name: ClassVar[str] = "aorc"
    family: ClassVar[str] = "erasure"
    paper: ClassVar[str] = "AREC, equation 13"

    @property
    def higher_is_better(self) -> bool:
        """The output should not move."""
        return False

    @property
    def range(self) -> tuple[float, float]:
        """A distance has no upper bound."""
        return (0.0, math.inf)

    def measure(self, trial: Trial) -> Parts:
        """Keep the best features, ask the model, and compare."""
        require_explanations(self.name, trial)
        self.prepare(trial)
        erasures = trial.bench.erasures
        table = [[erasures.answer(i, c).distance for c in cuts] for i, cuts in enumerate(self._cuts(trial))]
        return Parts(np.arange(len(table)), {"values": np.asarray(table)}, len(table), facts={"rationales": False})

    def contributions(self, parts: Parts) -> Contributions:
        """The mean over sizes."""
        values = parts.columns["values"]
        return Contributions.mean(values.mean(axis=1), bins=self._bin_means(parts, values))

    def _keep(self, rationale: NDArray[np.bool_]) -> NDArray[np.bool_]:
        return rationale

    def _cuts(self, trial: Trial) -> list[list[NDArray[np.bool_]]]:
        self._check_features(trial)
        rankings = [ranking_of(trial, i) for i in range(len(trial.explanations))]
        return [[r.top(b, self.rounding) if b else r.first(0) for b in self.bins] for r in rankings]
