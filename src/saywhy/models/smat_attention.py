"""SMaT's explainer: a mixture of heads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from saywhy.models.attention_door import AttentionCall
from saywhy.models.attention_module import AttentionModule, kept_in, spread_over_queries
from saywhy.ops.simplex import entmax

__all__ = ["SmatAttention"]

_FILL = -1e9


@kept_in("smat_attention")
class SmatAttention(AttentionModule):
    """The softmax over pieces of the heads' scores, mixed by one coefficient a head, which sparsemax normalises.

    Reference: Fernandes, Treviso, Pruthi, Martins, Neubig: Learning to Scaffold (SMaT), NeurIPS 2022, section 3.3, and
    the code released with it: products of queries and keys before any softmax, averaged over the queries.

    Departures: special tokens are no queries and get no weight; there only padding is left out. A head's scores are
    those of the network's own attention, which divides products by the root of the head's width; bare products would be
    that many times as large, and the softmax over pieces as much sharper, which coefficients that sum to 1 cannot undo.

    Args:
        calls: numbers of the attention calls that are read, one a layer.
        heads: of a layer.
        width: of a head.

    Example:
        >>> SmatAttention([0, 1], heads=4, width=8).head.shape
        torch.Size([2, 4])
    """

    def __init__(self, calls: Sequence[int], heads: int, width: int) -> None:
        super().__init__(calls, heads, width)
        self.head = nn.Parameter(torch.full((len(self.calls), heads), 1 / heads))

    def maps(self) -> dict[str, dict[str, Any]]:
        """The trained coefficients as a heat map, layers by heads, around the ``middle`` that all began at."""
        return {
            "head coefficients": {
                "rows": [f"layer {i + 1}" for i in range(len(self.head))],
                "columns": [f"{i + 1}" for i in range(self.heads)],
                "values": self.head.detach().cpu().double().tolist(),
                "middle": 1 / self.heads,
            }
        }

    def forward(self, calls: Sequence[AttentionCall], content: Tensor) -> Tensor:
        """The explanation, rows x L: each row sums to 1, or to 0 where it has no piece of a word."""
        scores = torch.stack(
            [spread_over_queries(c.query.float(), c.key.float(), content) * c.scaling for c in calls], dim=1
        )
        weights = entmax(self.head.reshape(-1), 2.0)
        mixed = torch.einsum("rcn,c->rn", scores.flatten(1, 2), weights)
        return mixed.masked_fill(~content, _FILL).softmax(-1) * content
