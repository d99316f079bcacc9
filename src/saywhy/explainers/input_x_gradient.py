"""Input times gradient on word embeddings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from saywhy.explainers.base import register
from saywhy.explainers.gradient import Gradient

__all__ = ["InputXGradient"]


@register
@dataclass(frozen=True)
class InputXGradient(Gradient):
    """Gradient times embedding: a first-order estimate of what a zero embedding would change.

    Reference: Shrikumar, Greenside, Shcherbina, Kundaje: Not Just a Black Box, 2016, section 2.

    Options:
        aggregation: of a piece's embedding dimensions: ``sum`` (default), ``l2`` (as in the scripts behind REGEX's
            tables) or ``mean``.
        output: ``logit`` (default) or ``probability`` of the target.
        space: ``words`` (default) or ``alignments``.
        erasure: as for ``gradient``. A mask's input is 1, so there it is the gradient with its sign.
    """

    name: ClassVar[str] = "input-x-gradient"
    family: ClassVar[str] = "gradient"
    needs: ClassVar[tuple[str, ...]] = ("gradients", "embeddings")
    paper: ClassVar[str] = "Shrikumar et al. 2016"

    aggregation: str = "sum"
    times_input: ClassVar[bool] = True
