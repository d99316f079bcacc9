"""IOU F1: are the selected phrases the ones people marked?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from saywhy.errors import OptionError
from saywhy.metrics.base import register
from saywhy.metrics.gold import Gold
from saywhy.metrics.parts import Contributions, Parts
from saywhy.metrics.plausibility import SelectionAgreement
from saywhy.metrics.selection import words_of
from saywhy.metrics.trial import Trial
from saywhy.ops.overlap import f1_score, precision_recall_f1, runs, span_counts

__all__ = ["IouF1"]


@register
@dataclass(frozen=True, kw_only=True)
class IouF1(SelectionAgreement):
    """F1 of selected phrases, a phrase counting when its intersection over union with a gold one is high enough.

    A selected phrase is a run of selected words inside one text. ``macro`` is the F1 of the mean precision and the
    mean recall, ``micro`` counts all phrases together, ``instance`` is the mean of the examples' F1. A threshold of 1
    with ``instance`` or ``micro`` is ERASER's exact-match rationale F1.

    An example with nothing selected has recall 0 and is left out of the mean precision, as in ERASER; if nothing is
    selected anywhere, the value is 0.

    Reference: DeYoung et al., ERASER, ACL 2020, section 4.1 (IOU F1 at 0.5).

    Departures: ERASER's micro average divides by zero when nothing is selected anywhere; here it is 0.

    Attributes:
        threshold: least intersection over union of a match.

    Example:
        >>> IouF1(threshold=1.0, average="instance").options["threshold"]
        1.0
    """

    threshold: float = 0.5

    name: ClassVar[str] = "iou-f1"
    spaces: ClassVar[tuple[str, ...]] = ("words",)
    averages: ClassVar[tuple[str, ...]] = ("macro", "micro", "instance")

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.threshold <= 1:
            raise OptionError(f"{self.name}: threshold must lie in (0, 1], not at {self.threshold}")
        if self.words:
            # Phrases are of one text: alignments have some only by the words in them.
            object.__setattr__(self, "spaces", ("words", "alignments"))

    def _count(self, trial: Trial, i: int, choices: list[Gold]) -> tuple[int, int, int]:
        fields = [word.field for word in words_of(trial, i)]
        phrases = runs(self._selected(trial, i), fields)
        counts = [span_counts(phrases, gold.ranges, self.threshold) for gold in choices]
        return max(counts, key=lambda c: float(precision_recall_f1(*c)[2]))

    def contributions(self, parts: Parts) -> Contributions:
        """Values of examples, or what the means are taken of first."""
        counts, notes = parts.columns["counts"], self._left_out(parts)
        precision, recall, f1 = precision_recall_f1(counts[:, 0], counts[:, 1], counts[:, 2])
        if self.average == "instance":
            return Contributions.mean(f1, notes=notes)
        values = tuple(f1.tolist())
        if self.average == "micro":
            return Contributions(counts, _micro, values=values, notes=notes)
        some = (counts[:, 1] > 0).astype(np.float64)
        return Contributions(np.stack([precision, some, recall], axis=1), _macro, values=values, notes=notes)


def _micro(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    return precision_recall_f1(counts[:, 0], counts[:, 1], counts[:, 2])[2]


def _macro(means: NDArray[np.float64]) -> NDArray[np.float64]:
    """From mean precision (0 where nothing is selected), share with a selection and mean recall."""
    precision = precision_recall_f1(means[:, 0], means[:, 1], means[:, 1])[0]
    return f1_score(precision, means[:, 2])
