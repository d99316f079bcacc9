"""Jaccard between methods: do two methods select the same words?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from saywhy.errors import InputError, OptionError
from saywhy.metrics.base import Metric, check_option, register
from saywhy.metrics.erasing import check_share
from saywhy.metrics.parts import Contributions, Parts
from saywhy.metrics.selection import features_of, require_explanations, selected_features
from saywhy.metrics.trial import Trial
from saywhy.ops.overlap import jaccard
from saywhy.ops.ranking import ROUNDINGS

__all__ = ["MethodJaccard"]


@register
@dataclass(frozen=True, kw_only=True)
class MethodJaccard(Metric):
    """Words that a method and another both select, over those that at least one does; mean over the other methods.

    ``bins`` of the result has the mean for each other method of the run. Agreement is not truth: methods may share an
    error. Beside `random` it says what chance gives.

    Reference: Jaccard of the best words, as in REGEX, section 4.4, there between models instead of methods.

    Edge cases: two empty selections are equal, 1; a rationale's own selection is taken, scores select their ``top``
    share; a text of one word has 1.

    Attributes:
        top: share of the words (or of the pairs) that scores select.
        rounding: of share times words: ``ceil`` and ``round`` take at least one word, ``floor`` may take none.

    Example:
        >>> MethodJaccard().top
        0.25
    """

    top: float = 0.25
    rounding: str = "ceil"

    name: ClassVar[str] = "method-jaccard"
    family: ClassVar[str] = "agreement"
    spaces: ClassVar[tuple[str, ...]] = ("words", "alignments")
    compares: ClassVar[bool] = True
    paper: ClassVar[str] = "REGEX, section 4.4"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_option(self.name, "rounding", self.rounding, ROUNDINGS)
        check_share(self.name, self.top)

    def measure(self, trial: Trial) -> Parts:
        """Compare the method's selections with those of each other method."""
        if not trial.rivals:
            raise OptionError(f"{self.name} compares methods: name at least two")
        mine = self._selections(trial)
        columns = {}
        for name in trial.rivals:
            rival = trial.rival(name)
            theirs = self._selections(rival)
            for i, (a, b) in enumerate(zip(mine, theirs, strict=True)):
                if len(a) != len(b) or features_of(trial, i) != features_of(rival, i):
                    raise InputError(
                        f"{self.name}: {trial.method} and {name} explain different {trial.bench.space} of "
                        f"{trial.bench.examples[i].where()} (number {i})"
                    )
            columns[name] = np.asarray([jaccard(a, b) for a, b in zip(mine, theirs, strict=True)])
        return Parts(np.arange(len(mine)), columns, len(mine))

    def contributions(self, parts: Parts) -> Contributions:
        """The mean over the other methods."""
        table = np.stack(list(parts.columns.values()), axis=1)
        bins = {name: float(column.mean()) for name, column in parts.columns.items()}
        return Contributions.mean(table.mean(axis=1), bins=bins)

    def _selections(self, trial: Trial) -> list[NDArray[np.bool_]]:
        require_explanations(self.name, trial)
        return [selected_features(trial, i, self.top, self.rounding) for i in range(len(trial.explanations))]
