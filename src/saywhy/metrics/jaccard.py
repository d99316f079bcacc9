"""What both metrics of agreement by selected words share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from saywhy.errors import InputError
from saywhy.metrics.base import Metric, check_option
from saywhy.metrics.erasing import check_share
from saywhy.metrics.parts import Contributions, Parts
from saywhy.metrics.selection import features_of, require_explanations, selected_features
from saywhy.metrics.trial import Trial
from saywhy.ops.overlap import jaccard
from saywhy.ops.ranking import ROUNDINGS

__all__ = ["SelectionJaccard"]


@dataclass(frozen=True, kw_only=True)
class SelectionJaccard(Metric):
    """Base of the metrics that compare what explanations select with what others select."""

    top: float = 0.25
    rounding: str = "ceil"

    bins_are: ClassVar[str] = "parts"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_option(self.name, "rounding", self.rounding, ROUNDINGS)
        check_share(self.name, self.top)

    @abstractmethod
    def compared(self, trial: Trial) -> Mapping[str, Trial]:
        """The other explanations of the same examples, by name; at least one."""

    def measure(self, trial: Trial) -> Parts:
        """Compare the method's selections with those of each other explanation."""
        others = self.compared(trial)
        mine = self._selections(trial)
        columns = {}
        for name, other in others.items():
            theirs = self._selections(other)
            for i, (a, b) in enumerate(zip(mine, theirs, strict=True)):
                if len(a) != len(b) or features_of(trial, i) != features_of(other, i):
                    raise InputError(
                        f"{self.name}: {trial.method} and {name} explain different {trial.bench.space} of "
                        f"{trial.bench.examples[i].where()} (number {i})"
                    )
            columns[name] = np.asarray([jaccard(a, b) for a, b in zip(mine, theirs, strict=True)])
        return Parts(np.arange(len(mine)), columns, len(mine))

    def contributions(self, parts: Parts) -> Contributions:
        """The mean over the others."""
        table = np.stack(list(parts.columns.values()), axis=1)
        bins = {name: float(column.mean()) for name, column in parts.columns.items()}
        return Contributions.mean(table.mean(axis=1), bins=bins)

    def _selections(self, trial: Trial) -> list[NDArray[np.bool_]]:
        require_explanations(self.name, trial)
        return [selected_features(trial, i, self.top, self.rounding) for i in range(len(trial.explanations))]
