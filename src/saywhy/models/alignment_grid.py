"""Pairs of texts in one batch, which can be asked about many masks of their alignments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

import numpy as np
import torch
from torch import Tensor, nn

from saywhy.models.attention_door import AttentionCall, AttentionTap, tap_attention
from saywhy.models.embedding_door import look_up
from saywhy.models.encoding import Row, collate
from saywhy.models.text_model import TextModel

if TYPE_CHECKING:
    from saywhy.models.co_attention import CoAttentionForSequenceClassification, Sides

__all__ = ["AlignmentGrid", "word_places"]


class AlignmentGrid:
    """Rows of pairs of different sizes, padded to one table of P x H cells each.

    What does not depend on a mask is computed once: for networks with one table of co-attention that is everything up
    to where the texts meet. All of it is differentiable with respect to the masks.

    Args:
        model: a model of pairs.
        network: its network, in evaluation mode.
        rows: rows that show both texts.
        shapes: words of the first and of the second text of each row.
        places: `word_places` of each row, if they are known.

    Attributes:
        cells: which of the P x H cells there are in each row, rows x P x H.
    """

    def __init__(
        self,
        model: TextModel,
        network: nn.Module,
        rows: Sequence[Row],
        shapes: Sequence[tuple[int, int]],
        places: Sequence[tuple[np.ndarray, np.ndarray]] | None = None,
    ) -> None:
        self.model, self.network = model, network
        self.rows = tuple(rows)
        height, width = (max(1, *(shape[side] for shape in shapes)) for side in (0, 1))
        sizes = torch.tensor(shapes)
        self.cells = (
            (torch.arange(height) < sizes[:, :1]).unsqueeze(2) & (torch.arange(width) < sizes[:, 1:]).unsqueeze(1)
        ).to(model.device)
        self.batch = collate(rows, range(len(rows)), model.task.pad_id).to(model.device)
        found = places or [word_places(row, shape[0]) for row, shape in zip(rows, shapes, strict=True)]
        length = self.batch.inputs["input_ids"].shape[1]
        first, second = (
            torch.from_numpy(
                np.stack([np.pad(own[side], (0, length - len(own[side])), constant_values=-1) for own in found])
            )
            for side in (0, 1)
        )
        self._places = first, second
        self.sides: Sides | None = None
        self._picked: tuple[Tensor, Sides] | None = None
        if getattr(network, "co_attends", False):
            with torch.no_grad():
                self.sides = _co_attending(network).before(**self.batch.inputs)
            types = self.batch.inputs["token_type_ids"].cpu()
            real = torch.arange(length) < self.batch.lengths.cpu().unsqueeze(1)
            first = _front(first, real & (types == 0), self.sides.premise_real.shape[1])
            second = _front(second, real & (types > 0), self.sides.hypothesis_real.shape[1])
        index = _cells(first, second, width, height * width)
        if self.sides is None:
            # Attention goes both ways: the second block is the first one transposed.
            index = torch.minimum(index, index.transpose(1, 2))
        self._index = index.to(model.device)

    def scores(self, rows: Tensor, keep: Tensor) -> Tensor:
        """Scores, n x K, of the ``rows`` (n,) of the grid with alignments kept to the degree ``keep``, n x P x H."""
        return self.scores_of_each(rows, keep.unsqueeze(1))[:, 0]

    def scores_of_each(self, rows: Tensor, keep: Tensor) -> Tensor:
        """Scores, n x m x K, of the ``rows`` (n,) of the grid under m masks each, n x m x P x H."""
        many, masks = keep.shape[:2]
        # Places that belong to no cell point to one more column, which is kept.
        padded = torch.cat([keep.flatten(2), keep.new_ones(many, masks, 1)], dim=2)
        index = self._index.index_select(0, rows)
        places = index.flatten(1).unsqueeze(1).expand(-1, masks, -1)
        table = padded.gather(2, places).view(many, masks, *index.shape[1:])
        if self.sides is not None:
            keep_places = table.to(self.sides.to_premise.dtype)
            # The same rows are asked about again and again.
            if self._picked is None or not torch.equal(self._picked[0], rows):
                self._picked = rows, self.sides.pick(rows)
            return _co_attending(self.network).after_each(self._picked[1], keep_places)
        tables = self._shifted(table.flatten(0, 1).unsqueeze(1))

        def edit(call: AttentionCall) -> Tensor:
            assert call.probabilities is not None
            if call.kind in ("written", "reading"):
                return call.probabilities  # pairs of words meet in the encoder only
            return call.probabilities * tables.get(call.kind, tables["self"]).to(call.probabilities.dtype)

        with tap_attention(self.network, AttentionTap(edit=edit)):
            raw = self.model.task.raw(self.network, self.batch.pick(rows.repeat_interleave(masks)))
        return raw.view(many, masks, -1)

    def word_vectors(self) -> tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor]]:
        """The network's input vectors of the words of both texts, and of how many pieces each is the mean.

        Returns:
            For each text, rows x W x d and rows x W; a word that a row does not show has no piece there, and a vector
            of zeros.
        """
        with torch.no_grad():
            vectors = look_up(self.network, self.batch.inputs["input_ids"]).float()
            found = []
            for places, width in zip(self._places, self.cells.shape[1:], strict=True):
                own = places.to(vectors.device).unsqueeze(1) == torch.arange(width, device=vectors.device).unsqueeze(1)
                weights = own.to(vectors.dtype)
                pieces = weights.sum(-1)
                found.append((weights @ vectors / pieces.clamp_min(1.0).unsqueeze(-1), pieces))
        return found[0], found[1]

    def _shifted(self, table: Tensor) -> dict[str, Tensor]:
        if all(kind == "self" for kind in self.model.attention_kinds):
            return {"self": table}
        # The decoder of an encoder-decoder reads the same text one place to the right.
        crossed = _later(table, -2)
        return {"self": table, "decoder": _later(crossed, -1), "cross": crossed}


def _co_attending(network: nn.Module) -> CoAttentionForSequenceClassification:
    return cast("CoAttentionForSequenceClassification", network)


def word_places(row: Row, first: int) -> tuple[np.ndarray, np.ndarray]:
    """For each position of a row the number of its word in the first and in the second text, -1 where it has none.

    ``first`` is the number of words of the first text: words are numbered over both.
    """
    # A piece that covers parts of several words counts as the one that has most of it.
    word = np.full(len(row), -1, dtype=np.int64)
    order = np.argsort(row.pieces.share, kind="stable")
    word[row.pieces.piece[order]] = row.pieces.word[order]
    field = np.asarray([-1 if own is None else own for own in row.fields], dtype=np.int64)
    premise = np.where((field == 0) & (word >= 0), word, -1)
    return premise, np.where((field == 1) & (word >= 0), word - first, -1)


def _front(places: Tensor, own: Tensor, width: int) -> Tensor:
    """The places of one text's positions, moved to the front as the network moves them."""
    order = torch.argsort((~own).to(torch.int8), dim=1, stable=True)[:, :width]
    return places.masked_fill(~own, -1).gather(1, order)


def _cells(first: Tensor, second: Tensor, width: int, outside: int) -> Tensor:
    """The number of the cell of a position of the first and one of the second text, rows x P x H."""
    number = first.unsqueeze(2) * width + second.unsqueeze(1)
    return number.masked_fill((first < 0).unsqueeze(2) | (second < 0).unsqueeze(1), outside)


def _later(table: Tensor, dim: int) -> Tensor:
    first = torch.ones_like(table.narrow(dim, 0, 1))
    return torch.cat([first, table.narrow(dim, 0, table.shape[dim] - 1)], dim=dim)
