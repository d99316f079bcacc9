"""Exact and soft inclusion: does the rationale hold the alignment that decides?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from saywhy.metrics.base import register
from saywhy.metrics.gold import Gold
from saywhy.metrics.parts import Contributions, Parts
from saywhy.metrics.plausibility import SelectionAgreement
from saywhy.metrics.trial import Trial
from saywhy.ops.overlap import token_counts

__all__ = ["ExactInc", "SoftInc"]


@dataclass(frozen=True, kw_only=True)
class _Inclusion(SelectionAgreement):
    spaces: ClassVar[tuple[str, ...]] = ("alignments",)
    paper: ClassVar[str] = "AREC, section 4.2.1"
    averages: ClassVar[tuple[str, ...]] = ("macro",)
    _gold: ClassVar[str] = "a gold alignment"

    def _count(self, trial: Trial, i: int, choices: list[Gold]) -> tuple[int, int, int]:
        return token_counts(self._selected(trial, i), choices[0].mask)


@register
@dataclass(frozen=True, kw_only=True)
class ExactInc(_Inclusion):
    """Share of the examples whose gold alignment is selected as a whole.

    It says nothing of what else is selected: read it beside `compactness`. Scores select their ``top`` share.

    Reference: AREC, section 4.2.1 (Exact-Inc, on Breaking NLI).

    Example:
        >>> ExactInc().spaces
        ('alignments',)
    """

    name: ClassVar[str] = "exact-inc"

    def contributions(self, parts: Parts) -> Contributions:
        """Whether every gold pair is selected."""
        counts = parts.columns["counts"]
        return Contributions.mean(counts[:, 0] == counts[:, 2], notes=self._left_out(parts))


@register
@dataclass(frozen=True, kw_only=True)
class SoftInc(_Inclusion):
    """Share of the gold alignment's word pairs that are selected, mean over examples.

    Reference: AREC, section 4.2.1 (Soft-Inc, on Breaking NLI).

    Example:
        >>> SoftInc().range
        (0.0, 1.0)
    """

    name: ClassVar[str] = "soft-inc"

    def contributions(self, parts: Parts) -> Contributions:
        """The recall of each example."""
        counts = parts.columns["counts"]
        return Contributions.mean(counts[:, 0] / np.maximum(counts[:, 2], 1), notes=self._left_out(parts))
