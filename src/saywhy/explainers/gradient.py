"""Gradient of the target with respect to word embeddings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from torch import Tensor

from saywhy.explainers.base import Explainer, Request, aggregate, check_output, register
from saywhy.models.embedding_space import EmbeddingSpace
from saywhy.types import Explanation

__all__ = ["Gradient"]


@register
@dataclass(frozen=True)
class Gradient(Explainer):
    """How strongly the target reacts to a small change of a word's embedding.

    Reference: Simonyan, Vedaldi, Zisserman: Deep Inside Convolutional Networks, ICLR workshop 2014, section 3.

    Options:
        aggregation: of a piece's embedding dimensions: ``l2`` (default), ``sum`` or ``mean``.
        output: ``logit`` (default) or ``probability`` of the target.
    """

    name: ClassVar[str] = "gradient"
    family: ClassVar[str] = "gradient"
    needs: ClassVar[tuple[str, ...]] = ("gradients", "embeddings")
    paper: ClassVar[str] = "Simonyan et al. 2014"

    aggregation: str = "l2"
    output: str = "logit"
    times_input: ClassVar[bool] = False

    def explain(self, request: Request) -> list[Explanation]:  # noqa: D102
        check_output(self.output)
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
