"""Leave one word, or one alignment, out and see what happens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from saywhy.explainers.base import Explainer, Request, register
from saywhy.explainers.inquiry import Inquiry, open_space
from saywhy.types import Explanation

__all__ = ["LeaveOneOut"]

# Masks are made in parts, so that their table stays small even for a text of many thousand words.
_CELLS = 16_000_000


@register
@dataclass(frozen=True)
class LeaveOneOut(Explainer):
    """The drop of the target when a feature is erased: one model call a feature.

    Reference: Li, Monroe, Jurafsky: Understanding Neural Networks through Representation Erasure, 2016, section 3; on
    alignments: AREC, section 4.1.

    Options:
        space: ``words`` (default) or ``alignments``.
        erasure: what leaving out means; by default ``delete``, or ``mask-token`` where positions must stay.
        output: ``probability`` (default) or ``logit`` of the target.
    """

    name: ClassVar[str] = "leave-one-out"
    family: ClassVar[str] = "perturbation"
    needs: ClassVar[tuple[str, ...]] = ("outputs",)
    spaces: ClassVar[tuple[str, ...]] = ("words", "alignments")
    paper: ClassVar[str] = "Li et al. 2016"

    space: str = "words"
    erasure: str | None = None
    output: str = "probability"

    def explain(self, request: Request) -> list[Explanation]:  # noqa: D102
        space = open_space(request, self.space, self.erasure)
        # No mask comes twice, so none needs to be remembered.
        inquiry = Inquiry(request, space, self.output, remember=False)
        owner = np.repeat(np.arange(len(inquiry.sizes)), inquiry.sizes)
        without = np.concatenate([np.arange(size) for size in inquiry.sizes])
        step = max(1, _CELLS // inquiry.widest)
        left = np.zeros(len(owner))
        for start in range(0, len(owner), step):
            part = slice(start, start + step)
            keep = np.ones((len(owner[part]), inquiry.widest), dtype=bool)
            keep[np.arange(len(keep)), without[part]] = False
            left[part] = inquiry.values(owner[part], keep)
        drops = np.split(inquiry.whole()[owner] - left, np.cumsum(inquiry.sizes)[:-1])
        return self.word_scores(
            request, space.encoded, inquiry.scores(), drops, costs=inquiry.costs(), erasure=space.erasure
        )
