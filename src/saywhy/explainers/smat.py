"""SMaT: a mixture of heads that was trained to teach."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from saywhy.explainers.base import register
from saywhy.explainers.ivra import TrainedAttention
from saywhy.models.attention_module import AttentionModule
from saywhy.models.smat_attention import SmatAttention

__all__ = ["Smat"]


@register
@dataclass(frozen=True)
class Smat(TrainedAttention):
    """The heads' scores, mixed as the objective `smat` found it best for a student to learn from.

    Reference: Fernandes et al., Learning to Scaffold, NeurIPS 2022, section 3.3.

    Departures: see `saywhy.models.smat_attention.SmatAttention`. None of the target enters; the scores are the same for
    every label.

    Example:
        >>> saywhy.explain("runs/smat", "A gripping film.", method="smat")                     # doctest: +SKIP
    """

    name: ClassVar[str] = "smat"
    module: ClassVar[type[AttentionModule]] = SmatAttention
    paper: ClassVar[str] = "Fernandes et al. 2022 (SMaT)"
