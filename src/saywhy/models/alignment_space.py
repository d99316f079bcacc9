"""The space of alignments that may be cut: how far a word of one text and a word of the other see each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor, nn

from saywhy.errors import CapabilityError, OptionError
from saywhy.models.attention_door import AttentionCall, AttentionTap, tap_attention
from saywhy.models.encoding import Encoded, Row, collate
from saywhy.models.mask_space import RowSpace
from saywhy.models.text_model import TextModel
from saywhy.types import Example, Word

__all__ = ["CO_ATTENTION", "AlignmentSpace", "check_alignments"]

CO_ATTENTION = "co-attention"


def check_alignments(model: TextModel, erasure: str | None = None) -> None:
    """Raise an error if a model has no alignments that could be masked."""
    if erasure not in (None, CO_ATTENTION):
        raise OptionError(f"alignments are erased from {CO_ATTENTION}; erasure={erasure!r} is for words")
    if model.task.name != "pair":
        raise CapabilityError(f"alignments are between two texts, and the model's task is {model.task.name!r}")
    if "attention" not in model.capabilities:
        reason = f" ({model.no_attention})" if model.no_attention else ""
        raise CapabilityError(f"alignments need the model's attention{reason}; use space='words'")


class AlignmentSpace(RowSpace):
    """Pairs of a word of the first text and a word of the second, whose attention to each other may be damped.

    Reference: AREC, section 3.1 and appendix B.

    One mask Z (|p| x |h|) multiplies the attention probabilities of premise words to hypothesis words, and its
    transpose those of hypothesis words to premise words, in every layer and head, after the softmax and without
    renormalising. Attention inside each text, and everything from and to special tokens, is as before. The features of
    an input are its word pairs, row by row of Z.

    Departures: a cell is a pair of words and covers all of their pieces; the paper's cells are pairs of pieces.

    Args:
        model: a pair classifier behind the attention door.
        examples: pairs of texts.
        batch_size: the most rows the network sees at a time.
        truncation: what to do with pairs that are too long.
        encoded: the examples as `TextModel.prepare` encodes them, if that was done already.
    """

    name = "alignments"
    continuous = True

    def __init__(
        self,
        model: TextModel,
        examples: Sequence[Example],
        *,
        erasure: str | None = None,
        batch_size: int = 32,
        truncation: str = "error",
        encoded: Sequence[Encoded] | None = None,
    ) -> None:
        check_alignments(model, erasure)
        super().__init__(
            model, examples, erasure=CO_ATTENTION, batch_size=batch_size, truncation=truncation, encoded=encoded
        )

    def shape(self, number: int) -> tuple[int, int]:
        """Words of the first and of the second text of an input: the shape of its mask."""
        premise, hypothesis = _split(self.encoded[number].words)
        return len(premise), len(hypothesis)

    def _features(self, item: Encoded) -> tuple[tuple[Word, Word], ...]:
        premise, hypothesis = _split(item.words)
        return tuple((p, h) for p in premise for h in hypothesis)

    def _shown(self, row: Row, mask: np.ndarray) -> np.ndarray:
        return mask

    def _erased(self, number: int, row: Row, mask: np.ndarray) -> Row:
        return replace(row, keep=mask.reshape(self.shape(number)))

    def _collected(self, row: Row, gradient: np.ndarray) -> np.ndarray:
        assert row.keep is not None
        return gradient[: row.keep.size]

    def _raw(self, network: nn.Module, rows: list[Row], grad: bool = False) -> tuple[Tensor, Tensor]:
        batch = collate(rows, range(len(rows)), self.model.task.pad_id).to(self.model.device)
        masks = [row.keep for row in rows if row.keep is not None]
        cells = max(mask.size for mask in masks)
        keep = torch.ones(len(rows), cells)
        for i, mask in enumerate(masks):
            keep[i, : mask.size] = torch.from_numpy(mask.reshape(-1))
        keep = keep.to(self.model.device).requires_grad_(grad)
        if not grad and bool((keep == 1).all()):
            return self.model.task.raw(network, batch), keep
        length = batch.inputs["input_ids"].shape[1]
        # Places that belong to no cell point to one more column, which is kept.
        index = torch.from_numpy(np.stack([_cells(row, length, cells) for row in rows])).to(self.model.device)
        padded = torch.cat([keep, torch.ones_like(keep[:, :1])], dim=1)
        table = padded.gather(1, index.reshape(len(rows), -1)).reshape(len(rows), 1, length, length)
        shifted = table
        crossed = table
        if any(kind != "self" for kind in self.model.attention_kinds):
            # The decoder of an encoder-decoder reads the same text one place to the right.
            crossed = _later(table, -2)
            shifted = _later(crossed, -1)
        tables = {"decoder": shifted, "cross": crossed}

        def edit(call: AttentionCall) -> Tensor:
            assert call.probabilities is not None
            return call.probabilities * tables.get(call.kind, table).to(call.probabilities.dtype)

        with tap_attention(network, AttentionTap(edit=edit)):
            return self.model.task.raw(network, batch), keep


def _later(table: Tensor, dim: int) -> Tensor:
    first = torch.ones_like(table.narrow(dim, 0, 1))
    return torch.cat([first, table.narrow(dim, 0, table.shape[dim] - 1)], dim=dim)


def _split(words: Sequence[Word]) -> tuple[tuple[Word, ...], tuple[Word, ...]]:
    return tuple(w for w in words if w.field == 0), tuple(w for w in words if w.field == 1)


def _cells(row: Row, length: int, outside: int) -> np.ndarray:
    """For each query and key of a row the number of its cell, or ``outside``, L x L."""
    # A piece that covers parts of several words counts as the one that has most of it.
    word = np.full(length, -1, dtype=np.int64)
    order = np.argsort(row.pieces.share, kind="stable")
    word[row.pieces.piece[order]] = row.pieces.word[order]
    fields = np.full(length, -1, dtype=np.int64)
    fields[: len(row.fields)] = [-1 if field is None or word[i] < 0 else field for i, field in enumerate(row.fields)]
    premise, hypothesis = fields == 0, fields == 1
    assert row.keep is not None
    # Words are numbered over both texts, the first text's before the second's.
    first, size = row.keep.shape
    index = np.full((length, length), outside, dtype=np.int64)
    cells = word[premise][:, None] * size + (word[hypothesis] - first)[None, :]
    index[np.ix_(premise, hypothesis)] = cells
    index[np.ix_(hypothesis, premise)] = cells.T
    return index
