"""Co-attention weights as scores of word pairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np
import torch
from torch import Tensor

from saywhy.errors import OptionError
from saywhy.explainers.attention import LAYERS
from saywhy.explainers.base import Explainer, Request, register
from saywhy.models.alignment_grid import word_places
from saywhy.models.alignment_space import CO_ATTENTION, AlignmentSpace
from saywhy.models.attention_door import AttentionTap, tap_attention
from saywhy.models.encoding import Row, collate
from saywhy.ops.batching import length_batches
from saywhy.types import Explanation

__all__ = ["CoAttention"]


@register
@dataclass(frozen=True)
class CoAttention(Explainer):
    """How much two words of different texts attend to each other, mean of both directions.

    Reference: AREC, section 4.1.1 (the baseline co-attention), equation 2.

    In a transformer the mean is also over heads and layers. Attention to a word is the sum over its pieces, attention
    of a word the mean over its pieces.

    Options:
        layers: ``mean`` over all (default) or ``last``; networks with one table of co-attention have one.

    Departures: none of the target enters; the scores are the same for every label.
    """

    name: ClassVar[str] = "co-attention"
    family: ClassVar[str] = "attention"
    needs: ClassVar[tuple[str, ...]] = ("alignments",)
    tasks: ClassVar[tuple[str, ...]] = ("pair",)
    spaces: ClassVar[tuple[str, ...]] = ("alignments",)
    paper: ClassVar[str] = "Parikh et al. 2016"

    layers: str = "mean"

    @property
    def space(self) -> str:
        """Alignments; there is no choice."""
        return "alignments"

    def explain(self, request: Request) -> list[Explanation]:  # noqa: D102
        if self.layers not in LAYERS:
            raise OptionError(f"unknown layers {self.layers!r}; use one of {', '.join(LAYERS)}")
        model = request.model
        space = AlignmentSpace(model, request.examples, batch_size=request.batch_size, encoded=request.prepare())
        rows = [(i, row) for i, item in enumerate(space.encoded) for row in item.rows]
        raw: list[Tensor] = [torch.empty(0)] * len(rows)
        totals = [np.zeros(space.shape(i)) for i in range(len(space.encoded))]
        shown = [np.zeros(space.shape(i)) for i in range(len(space.encoded))]
        with model.evaluation() as network, torch.no_grad():
            apart = bool(getattr(network, "co_attends", False))
            for some in length_batches([len(row) for _, row in rows], request.batch_size):
                batch = collate([rows[i][1] for i in some], range(len(some)), model.task.pad_id).to(model.device)
                if apart:
                    sides = cast(Any, network).before(**batch.inputs)
                    part, tables = cast(Any, network).after(sides), (sides.to_hypothesis, sides.to_premise)
                else:
                    with tap_attention(network, AttentionTap(layers=self._calls(model.attention_kinds))) as tap:
                        part = model.task.raw(network, batch)
                    mean = torch.stack([call.softmax().mean(dim=1) for call in tap.calls]).mean(dim=0)
                    tables = (mean, mean.transpose(1, 2))
                for place, i in enumerate(some):
                    number, row = rows[i]
                    raw[i] = part[place].float().cpu()
                    there, back = (table[place].float().cpu().numpy() for table in tables)
                    found, seen = _of_words(row, space.shape(number), there, back, apart=apart)
                    totals[number] += found
                    shown[number] += seen
        owner = torch.tensor([i for i, _ in rows])
        scores = model.task.combine(torch.stack(raw), owner, len(space.encoded))
        tables_of = [(total / np.maximum(seen, 1)).reshape(-1) for total, seen in zip(totals, shown, strict=True)]
        costs = [{"forwards": len(item.rows)} for item in space.encoded]
        return self.word_scores(
            request,
            space.encoded,
            list(scores.numpy()),
            tables_of,
            costs=costs,
            space=space.name,
            erasure=CO_ATTENTION,
        )

    def _calls(self, kinds: tuple[str, ...]) -> frozenset[int]:
        """Numbers of the calls in which both texts see each other: the encoder's of an encoder-decoder."""
        numbers = [i for i, kind in enumerate(kinds) if kind in ("self", "encoder")]
        return frozenset(numbers[-1:] if self.layers == "last" else numbers)


def _of_words(
    row: Row, shape: tuple[int, int], there: np.ndarray, back: np.ndarray, *, apart: bool
) -> tuple[np.ndarray, np.ndarray]:
    """From tables over positions to |p| x |h|, and which cells the row shows.

    ``there`` holds attention of the first text's positions (rows) to the second's (columns), ``back`` the attention of
    the second's (columns) to the first's (rows): over all positions, or ``apart``, over those of each text.
    """
    first, second = word_places(row, shape[0])
    if apart:
        types = np.asarray(row.types)
        first, second = first[types == 0], second[types > 0]
    own = _members(first, shape[0], there.shape[0])
    other = _members(second, shape[1], there.shape[1])
    sizes = np.maximum(own.sum(1), 1)[:, None], np.maximum(other.sum(1), 1)[None, :]
    table = (own @ there @ other.T / sizes[0] + own @ back @ other.T / sizes[1]) / 2
    return table, np.outer(own.any(1), other.any(1)).astype(np.float64)


def _members(places: np.ndarray, words: int, length: int) -> np.ndarray:
    """Which positions make up each word, words x length."""
    table = np.zeros((words, length))
    real = np.flatnonzero(places >= 0)
    table[places[real], real] = 1.0
    return table
