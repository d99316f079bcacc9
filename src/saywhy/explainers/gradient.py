"""Gradient of the target with respect to word embeddings, or to how far features are kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from torch import Tensor

from saywhy.explainers.base import Explainer, Request, aggregate, check_output, register
from saywhy.explainers.inquiry import open_space
from saywhy.models.embedding_space import EmbeddingSpace
from saywhy.types import Explanation

__all__ = ["Gradient"]


@register
@dataclass(frozen=True)
class Gradient(Explainer):
    """How strongly the target reacts to a small change of a word's embedding, or of how far a feature is kept.

    Reference: Simonyan, Vedaldi, Zisserman: Deep Inside Convolutional Networks, ICLR workshop 2014, section 3; on
    alignments: AREC, section 4.1.

    Options:
        space: ``words`` (default) or ``alignments``.
        erasure: None (default): the gradient with respect to embeddings. ``attention-mask`` or ``zero-embedding``: with
            respect to how far a word is kept, where this is what keeping means. Alignments always have such a mask.
        aggregation: of a piece's embedding dimensions: ``l2`` (default), ``sum`` or ``mean``. The gradient of a mask is
            one number: ``sum`` keeps its sign, the others do not.
        output: ``logit`` (default) or ``probability`` of the target.
    """

    name: ClassVar[str] = "gradient"
    family: ClassVar[str] = "gradient"
    needs: ClassVar[tuple[str, ...]] = ("gradients", "embeddings")
    spaces: ClassVar[tuple[str, ...]] = ("words", "alignments")
    paper: ClassVar[str] = "Simonyan et al. 2014"

    aggregation: str = "l2"
    output: str = "logit"
    space: str = "words"
    erasure: str | None = None
    times_input: ClassVar[bool] = False

    def explain(self, request: Request) -> list[Explanation]:  # noqa: D102
        check_output(self.output)
        if self.space != "words" or self.erasure is not None:
            return self._on_masks(request)
        encoded = request.prepare()
        space = EmbeddingSpace(request.model, encoded, batch_size=request.batch_size)

        def loss(scores: Tensor, owner: np.ndarray) -> Tensor:
            return request.value(scores, owner, self.output)

        def reduce(grad: Tensor, difference: Tensor) -> Tensor:
            return grad * difference if self.times_input else grad

        points = space.gradients(np.arange(len(encoded)), np.ones(len(encoded)), loss, reduce)
        words = [
            space.word_scores(i, [aggregate(row, self.aggregation) for row in point.rows])
            for i, point in enumerate(points)
        ]
        costs = [{"gradients": len(item.rows)} for item in encoded]
        return self.word_scores(request, encoded, [point.scores for point in points], words, costs=costs)

    def _on_masks(self, request: Request) -> list[Explanation]:
        space = open_space(request, self.space, self.erasure)

        def loss(scores: Tensor, owner: np.ndarray) -> Tensor:
            return request.value(scores, owner, self.output)

        sizes = [len(features) for features in space.features]
        scores, _, gradient = space.value_and_grad(np.arange(len(sizes)), np.ones((len(sizes), max(sizes))), loss)
        own = [aggregate(gradient[i, :size, None], self.aggregation) for i, size in enumerate(sizes)]
        costs = [{"gradients": int(spent)} for spent in space.spent]
        return self.word_scores(request, space.encoded, list(scores.numpy()), own, costs=costs, erasure=space.erasure)
