"""Attention weights as scores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from saywhy.errors import OptionError
from saywhy.explainers.base import Explainer, Request, register
from saywhy.models import Batch, Encoded, TextModel
from saywhy.models.attention_door import AttentionTap, tap_attention
from saywhy.models.encoding import collate
from saywhy.models.recurrent import keep_pooling
from saywhy.models.tasks import reads_last_token
from saywhy.ops.batching import length_batches
from saywhy.types import Explanation

__all__ = ["Attention", "attention_of_query", "check_reading", "default_query", "read_words", "tapped_calls"]

LAYERS = ("last", "mean")
QUERIES = ("first", "last", "mean")


@register
@dataclass(frozen=True)
class Attention(Explainer):
    """How much the position that decides attends to each word, mean over heads.

    Reference: REGEX, section 4 (the baseline α: last layer, first token, mean over heads); IvRA, section 4.1, averages
    over all layers too (``layers="mean"``).

    Options:
        layers: ``last`` (default) or ``mean`` over all.
        query: whose attention: ``first`` position, ``last``, or the ``mean`` over all. By default the position that the
            classifier reads: the first in encoders, the last in decoders. An encoder-decoder is asked for its cross
            attention. Recurrent networks that pool by attention have one query and one layer: neither option applies.

    Departures: none of the target enters; the scores are the same for every label.
    """

    name: ClassVar[str] = "attention"
    family: ClassVar[str] = "attention"
    needs: ClassVar[tuple[str, ...]] = ("attention",)
    paper: ClassVar[str] = "Jain and Wallace 2019"

    layers: str = "last"
    query: str | None = None

    @classmethod
    def missing(cls, model: TextModel) -> list[str]:  # noqa: D102 - as in the base class
        return [] if "pooling" in model.capabilities else super().missing(model)

    def explain(self, request: Request) -> list[Explanation]:  # noqa: D102
        check_reading(self.layers, self.query)
        if "pooling" in request.model.capabilities:
            return self._pooled(request)
        query = self.query or default_query(request.model)
        numbers = tapped_calls(request.model, self.layers)

        def read(network: nn.Module, batch: Batch) -> tuple[Tensor, list[Tensor]]:
            with tap_attention(network, AttentionTap(layers=numbers)) as tap:
                raw = request.model.task.raw(network, batch)
            heads = torch.stack([call.softmax().mean(dim=1) for call in tap.calls]).mean(dim=0)
            return raw, [attention_of_query(h, int(n), query) for h, n in zip(heads, batch.lengths, strict=True)]

        encoded = request.prepare()
        scores, words = read_words(request, encoded, read)
        costs = [{"forwards": len(item.rows)} for item in encoded]
        return self.word_scores(request, encoded, scores, words, costs=costs, query=query)

    def _pooled(self, request: Request) -> list[Explanation]:
        """There is one layer, and one query for all texts."""

        def read(network: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
            with keep_pooling() as kept:
                raw = request.model.task.raw(network, batch)
            return raw, torch.cat(kept)

        encoded = request.prepare()
        scores, words = read_words(request, encoded, read)
        costs = [{"forwards": len(item.rows)} for item in encoded]
        return self.word_scores(request, encoded, scores, words, costs=costs, query="pooling")


Read = Callable[[nn.Module, Batch], tuple[Tensor, Sequence[Tensor] | Tensor]]
"""A forward pass: scores of rows, and for each row what its pieces get, (at least the row's length,)."""


def read_words(request: Request, encoded: Sequence[Encoded], read: Read) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """One forward pass over a request's examples: their scores (K,), and what their words get (words,).

    Windows that show a word are averaged; of choices the target's row counts.
    """
    model = request.model
    rows = [row for item in encoded for row in item.rows]
    owner = [i for i, item in enumerate(encoded) for _ in item.rows]
    raw: list[Tensor] = [torch.empty(0)] * len(rows)
    found: list[np.ndarray] = [np.empty(0)] * len(rows)
    with model.evaluation() as network, torch.no_grad():
        for some in length_batches([len(row) for row in rows], request.batch_size):
            batch = collate([rows[i] for i in some], range(len(some)), model.task.pad_id).to(model.device)
            scores, pieces = read(network, batch)
            part = scores.float().cpu()
            for place, i in enumerate(some):
                raw[i] = part[place]
                found[i] = pieces[place][: len(rows[i])].float().cpu().numpy()
    combined = model.task.combine(torch.stack(raw), torch.tensor(owner), len(encoded))
    targets, _ = request.targets(combined, np.arange(len(encoded)))
    words, at = [], 0
    for item, target in zip(encoded, targets, strict=True):
        own = [row.pieces.word_scores(found[at + i]) for i, row in enumerate(item.rows)]
        words.append(_merge(item, own, int(target)))
        at += len(item.rows)
    return list(combined.numpy()), words


def check_reading(layers: str, query: str | None) -> None:
    """Raise an error for unknown layers or query."""
    if layers not in LAYERS:
        raise OptionError(f"unknown layers {layers!r}; use one of {', '.join(LAYERS)}")
    if query is not None and query not in QUERIES:
        raise OptionError(f"unknown query {query!r}; use one of {', '.join(QUERIES)}")


def default_query(model: TextModel) -> str:
    """The position that the classifier reads its decision from."""
    config = getattr(model.module, "config", None)
    if reads_last_token(model.module) or getattr(config, "is_encoder_decoder", False):
        return "last"
    pooled = getattr(config, "classifier_pooling", None) == "mean"
    return "mean" if pooled or model.task.name == "span-qa" else "first"


def tapped_calls(model: TextModel, layers: str) -> frozenset[int]:
    """Numbers of the attention calls to look at: of cross attention in an encoder-decoder, else of self-attention."""
    wanted = "cross" if "cross" in model.attention_kinds else "self"
    numbers = [i for i, kind in enumerate(model.attention_kinds) if kind == wanted]
    return frozenset(numbers[-1:] if layers == "last" else numbers)


def attention_of_query(table: Tensor, length: int, query: str) -> Tensor:
    """Attention of a row's pieces, (length,), from its table (..., Lq, Lk)."""
    real = table[..., :length, :length]
    if query == "mean":
        return real.mean(dim=-2)
    return real[..., 0 if query == "first" else length - 1, :]


def _merge(item: Encoded, own: list[np.ndarray], target: int) -> np.ndarray:
    """The words' attention from that in each row: the mean over the windows that show a word; of choices the target's.

    A sum would favour the words on which windows overlap.
    """
    if item.example.choices:
        return own[target]
    shown = np.zeros(len(item.words))
    for row in item.rows:
        shown[np.unique(row.pieces.word)] += 1
    return np.asarray(np.sum(own, axis=0) / np.maximum(shown, 1))
