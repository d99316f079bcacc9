"""Token precision, recall and F1: how many selected words are gold, and how many gold words are selected."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from saywhy.metrics.base import register
from saywhy.metrics.gold import Gold
from saywhy.metrics.parts import Contributions, Parts
from saywhy.metrics.plausibility import SelectionAgreement
from saywhy.metrics.trial import Trial
from saywhy.ops.overlap import precision_recall_f1, token_counts

__all__ = ["TokenF1", "TokenPrecision", "TokenRecall"]


@dataclass(frozen=True, kw_only=True)
class _TokenOverlap(SelectionAgreement):
    _part: ClassVar[int]

    def _count(self, trial: Trial, i: int, choices: list[Gold]) -> tuple[int, int, int]:
        selected = self._selected(trial, i)
        counts = [token_counts(selected, gold.mask) for gold in choices]
        return max(counts, key=lambda c: float(precision_recall_f1(*c)[2]))

    def contributions(self, parts: Parts) -> Contributions:
        """Values of examples, or counts that are added up first."""
        counts, notes = parts.columns["counts"], self._left_out(parts)
        values = self._of(counts)
        if self.average == "macro":
            return Contributions.mean(values, notes=notes)
        return Contributions(counts, self._of, values=tuple(values.tolist()), notes=notes)

    def _of(self, counts: NDArray[np.float64]) -> NDArray[np.float64]:
        """M x 3 counts (hits, selected, gold), or means of them, to M values."""
        return precision_recall_f1(counts[:, 0], counts[:, 1], counts[:, 2])[self._part]


@register
@dataclass(frozen=True, kw_only=True)
class TokenPrecision(_TokenOverlap):
    """Share of the selected words that are gold.

    ``macro`` is the mean over examples, ``micro`` counts all words together. Nothing selected gives 0.

    Reference: DeYoung et al., ERASER, ACL 2020, section 4.1.

    Example:
        >>> TokenPrecision(top=0.15, average="micro").options["top"]
        0.15
    """

    name: ClassVar[str] = "token-precision"
    _part: ClassVar[int] = 0


@register
@dataclass(frozen=True, kw_only=True)
class TokenRecall(_TokenOverlap):
    """Share of the gold words that are selected.

    ``macro`` is the mean over examples, ``micro`` counts all words together. Nothing selected gives 0.

    Reference: DeYoung et al., ERASER, ACL 2020, section 4.1.

    Example:
        >>> TokenRecall().family
        'plausibility'
    """

    name: ClassVar[str] = "token-recall"
    _part: ClassVar[int] = 1


@register
@dataclass(frozen=True, kw_only=True)
class TokenF1(_TokenOverlap):
    """Harmonic mean of token precision and recall.

    ``macro`` is the mean of the examples' F1 (ERASER's hard-rationale convention, unlike its IOU F1), ``micro`` the F1
    of all words together (VER and its baselines). Nothing selected, or no gold word among the selected, gives 0.

    Reference: DeYoung et al., ERASER, ACL 2020, section 4.1.

    Example:
        >>> TokenF1(annotators="majority").range
        (0.0, 1.0)
    """

    name: ClassVar[str] = "token-f1"
    _part: ClassVar[int] = 2
