"""The space of alignments that may be cut: how far a word of one text and a word of the other see each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor, nn

from saywhy.errors import CapabilityError, OptionError
from saywhy.models.alignment_grid import AlignmentGrid, word_places
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
    if "alignments" not in model.capabilities:
        reason = f" ({model.no_attention})" if model.no_attention else ""
        raise CapabilityError(f"alignments need the model's attention{reason}; use space='words'")


class AlignmentSpace(RowSpace):
    """Pairs of a word of the first text and a word of the second, whose attention to each other may be damped.

    Reference: AREC, section 3.2; for transformers section 4.1 and footnote 6.

    One mask Z (|p| x |h|) multiplies the attention probabilities of premise words to hypothesis words, and its
    transpose those of hypothesis words to premise words, in every layer and head, after the softmax and without
    renormalising. Attention inside each text, and everything from and to special tokens, is as before. Networks with a
    co-attention of their own (decomposable attention, ESIM) have it in one place, where Z multiplies both directions.
    The features of an input are its word pairs, row by row of Z.

    Departures: a cell is a pair of words and covers all of their pieces; the paper's cells are pairs of pieces.

    Args:
        model: a pair classifier behind the attention door, or one with co-attention.
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
        self._places: dict[int, tuple[np.ndarray, np.ndarray]] = {}

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
        height, width = row.keep.shape
        return gradient[:height, :width].reshape(-1)

    def grid(self, network: nn.Module, rows: Sequence[Row], shapes: Sequence[tuple[int, int]]) -> AlignmentGrid:
        """Some rows of its inputs, to be asked about many masks; ``network`` is the model's, in evaluation mode."""
        places = []
        for row, shape in zip(rows, shapes, strict=True):
            # Masked copies of a row share its pieces.
            if id(row.pieces) not in self._places:
                self._places[id(row.pieces)] = word_places(row, shape[0])
            places.append(self._places[id(row.pieces)])
        return AlignmentGrid(self.model, network, rows, shapes, places)

    def _raw(self, network: nn.Module, rows: list[Row], grad: bool = False) -> tuple[Tensor, Tensor]:
        masks = [row.keep for row in rows if row.keep is not None]
        height, width = (max(1, *(mask.shape[side] for mask in masks)) for side in (0, 1))
        table = np.ones((len(rows), height, width), dtype=np.float32)
        for own, mask in zip(table, masks, strict=True):
            own[: mask.shape[0], : mask.shape[1]] = mask
        keep = torch.from_numpy(table).to(self.model.device).requires_grad_(grad)
        if not grad and bool((keep == 1).all()):
            batch = collate(rows, range(len(rows)), self.model.task.pad_id).to(self.model.device)
            return self.model.task.raw(network, batch), keep
        whole = {id(row.pieces): (row, mask.shape) for row, mask in zip(rows, masks, strict=True)}
        grid = self.grid(network, [row for row, _ in whole.values()], [shape for _, shape in whole.values()])
        number = {key: place for place, key in enumerate(whole)}
        index = torch.tensor([number[id(row.pieces)] for row in rows], device=self.model.device)
        return grid.scores(index, keep), keep


def _split(words: Sequence[Word]) -> tuple[tuple[Word, ...], tuple[Word, ...]]:
    return tuple(w for w in words if w.field == 0), tuple(w for w in words if w.field == 1)
