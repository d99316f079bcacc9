"""Attention scaled by its gradient."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from saywhy.errors import OptionError
from saywhy.explainers.attention import attention_of_query, check_reading, default_query, tapped_calls
from saywhy.explainers.base import Explainer, Request, check_output, register
from saywhy.models import Row
from saywhy.models.attention_door import AttentionCall, AttentionTap, tap_attention
from saywhy.models.differentiate import differentiate, group_by_length
from saywhy.models.encoding import collate
from saywhy.ops.batching import rows_that_fit
from saywhy.types import Explanation

__all__ = ["ScaledAttention"]

HEADS = ("means", "products")


@register
@dataclass(frozen=True)
class ScaledAttention(Explainer):
    """Attention times the gradient of the target with respect to it (α∇α).

    Reference: Serrano and Smith: Is Attention Interpretable?, ACL 2019, section 4; REGEX, section 4.

    Options:
        layers: ``last`` (default) or ``mean`` over all.
        query: as in `attention`.
        heads: ``means`` (default) multiplies the mean over heads of the attention by that of the gradient, as in the
            scripts behind REGEX's tables; ``products`` takes the mean of the heads' products.
        output: ``logit`` (default) or ``probability`` of the target.
    """

    name: ClassVar[str] = "scaled-attention"
    family: ClassVar[str] = "attention"
    needs: ClassVar[tuple[str, ...]] = ("attention", "gradients")
    paper: ClassVar[str] = "Serrano and Smith 2019"

    layers: str = "last"
    query: str | None = None
    heads: str = "means"
    output: str = "logit"

    def explain(self, request: Request) -> list[Explanation]:  # noqa: D102
        check_reading(self.layers, self.query)
        check_output(self.output)
        if self.heads not in HEADS:
            raise OptionError(f"unknown heads {self.heads!r}; use one of {', '.join(HEADS)}")
        model, encoded = request.model, request.prepare()
        query = self.query or default_query(model)
        numbers = tapped_calls(model, self.layers)
        scores: list[np.ndarray] = [np.empty(0)] * len(encoded)
        words = [np.zeros(len(item.words)) for item in encoded]

        def loss(table: Tensor, owner: np.ndarray) -> Tensor:
            return request.value(table, owner, self.output)

        with model.evaluation() as network:
            for items in group_by_length(encoded, np.arange(len(encoded)), request.batch_size):
                rows = [row for i in items for row in encoded[i].rows]
                index = np.asarray([place for place, i in enumerate(items) for _ in encoded[i].rows])

                def run(chunk: slice, grad: bool, rows: list[Row] = rows) -> tuple[Tensor, Tensor, Tensor]:
                    batch = collate(rows[chunk], range(len(rows[chunk])), model.task.pad_id).to(model.device)
                    shift = torch.empty(0)

                    def edit(call: AttentionCall) -> Tensor:
                        # The gradient by a shift of zero is the gradient by the attention itself.
                        nonlocal shift
                        assert call.probabilities is not None
                        if not shift.numel():
                            shape = (len(numbers), *call.probabilities.shape)
                            shift = call.probabilities.new_zeros(shape).requires_grad_(grad)
                        return call.probabilities + shift[len(tap.calls) - 1]

                    with tap_attention(network, AttentionTap(layers=numbers, edit=edit)) as tap:
                        raw = model.task.raw(network, batch)
                    attention = torch.stack([c.probabilities for c in tap.calls if c.probabilities is not None])
                    return raw, shift, attention.detach()

                most = rows_that_fit(request.batch_size, max(len(row) for row in rows))
                made, _, parts = differentiate(model.task, run, torch.from_numpy(index), items, loss, most)
                for place, i in enumerate(items):
                    scores[i] = made[place].float().cpu().numpy()
                for chunk, grad, attention in parts:
                    if self.heads == "means":
                        table = attention.mean(dim=2) * grad.mean(dim=2)
                    else:
                        table = (attention * grad).mean(dim=2)
                    for own, row, place in zip(table.mean(dim=0), rows[chunk], index[chunk], strict=True):
                        pieces = attention_of_query(own, len(row), query).float().cpu().numpy()
                        words[items[place]] += row.pieces.word_scores(pieces)
        costs = [{"gradients": len(item.rows)} for item in encoded]
        return self.word_scores(request, encoded, scores, words, costs=costs, query=query)
