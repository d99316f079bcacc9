"""From examples to rows of pieces: tokenizing, the word map, texts that are too long, padded batches."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from saywhy.data.words import PieceMap, example_words, map_pieces
from saywhy.errors import InputError, OptionError, TooLongError
from saywhy.types import Example, Word

__all__ = [
    "TRUNCATIONS",
    "Batch",
    "Encoded",
    "Encoder",
    "Row",
    "check_truncation",
    "collate",
    "content_mask",
]

TRUNCATIONS = ("error", "head", "window")


def check_truncation(truncation: str) -> None:
    """Raise an error for an unknown way to treat long texts."""
    if truncation not in TRUNCATIONS:
        raise OptionError(f"unknown truncation {truncation!r}; use one of {', '.join(TRUNCATIONS)}")


@dataclass(frozen=True)
class Row:
    """One sequence of pieces that the network reads: a text, a window of it, or a question with one choice.

    ``offsets`` and ``fields`` say where each piece comes from; ``keep`` how far it is kept, where that is gradual.
    ``span`` is the first and last piece of the answer a span-QA row is asked about. ``word_ids`` numbers, for networks
    that choose among words, those that may be left out, from 1; pieces that always stay have 0.
    """

    ids: np.ndarray
    types: np.ndarray | None
    pieces: PieceMap
    offsets: tuple[tuple[int, int], ...]
    fields: tuple[int | None, ...]
    positions: np.ndarray | None = None
    keep: np.ndarray | None = None
    span: tuple[int, int] | None = None
    word_ids: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True)
class Encoded:
    """An example with its words and its rows."""

    example: Example
    words: tuple[Word, ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()

    def read(self) -> np.ndarray:
        """Which words the model gets to read, (words,): all, unless a text was too long."""
        there = [row.pieces.word for row in self.rows] if self.notes else [np.arange(len(self.words))]
        return np.isin(np.arange(len(self.words)), np.concatenate(there))


@dataclass
class Batch:
    """Padded tensors of several rows. ``owner`` gives each row's item; ``size`` is the number of items."""

    inputs: dict[str, Tensor]
    lengths: Tensor
    owner: Tensor
    size: int
    rows: tuple[Row, ...] = ()

    def to(self, device: torch.device | str) -> Batch:
        """The same batch on another device."""
        return replace(
            self,
            inputs={k: v.to(device) for k, v in self.inputs.items()},
            lengths=self.lengths.to(device),
            owner=self.owner.to(device),
        )

    def pick(self, index: Tensor) -> Batch:
        """These rows, which may be repeated, each as an item of its own."""
        return Batch(
            {name: value.index_select(0, index) for name, value in self.inputs.items()},
            self.lengths.index_select(0, index),
            torch.arange(len(index), device=index.device),
            len(index),
            tuple(self.rows[i] for i in index.tolist()),
        )


def collate(rows: Sequence[Row], owner: Sequence[int] | np.ndarray, pad_id: int) -> Batch:
    """Pad rows on the right into tensors. Shapes: every input rows x L."""
    length = max(len(row) for row in rows)
    shape = (len(rows), length)
    ids = np.full(shape, pad_id, dtype=np.int64)
    attention = np.zeros(shape, dtype=np.int64)
    types = np.zeros(shape, dtype=np.int64) if rows[0].types is not None else None
    positions = np.zeros(shape, dtype=np.int64) if any(row.positions is not None for row in rows) else None
    word_ids = np.zeros(shape, dtype=np.int64) if rows[0].word_ids is not None else None
    for i, row in enumerate(rows):
        n = len(row)
        ids[i, :n] = row.ids
        attention[i, :n] = 1
        if word_ids is not None and row.word_ids is not None:
            word_ids[i, :n] = row.word_ids
        if types is not None and row.types is not None:
            types[i, :n] = row.types
        if positions is not None:
            positions[i, :n] = np.arange(n) if row.positions is None else row.positions
    inputs = {"input_ids": torch.from_numpy(ids), "attention_mask": torch.from_numpy(attention)}
    if types is not None:
        inputs["token_type_ids"] = torch.from_numpy(types)
    if positions is not None:
        inputs["position_ids"] = torch.from_numpy(positions)
    if word_ids is not None:
        inputs["word_ids"] = torch.from_numpy(word_ids)
    owners = torch.as_tensor(np.asarray(owner, dtype=np.int64))
    return Batch(
        inputs,
        torch.tensor([len(row) for row in rows]),
        owners,
        int(owners.max()) + 1 if len(owners) else 0,
        tuple(rows),
    )


def content_mask(batch: Batch) -> Tensor:
    """True at the pieces of words, False at special tokens and padding, rows x L."""
    ids = batch.inputs["input_ids"]
    table = np.zeros(ids.shape, dtype=bool)
    for i, row in enumerate(batch.rows):
        table[i, row.pieces.piece] = True
    return torch.from_numpy(table).to(ids.device)


@dataclass
class Encoder:
    """Turns examples into rows with a fast tokenizer.

    Args:
        tokenizer: a fast tokenizer of transformers; never changed.
        max_length: the most pieces the network can read, or None.
        splitter: how texts are cut into words.
        stride: share of a window that overlaps with the one before it.
        word_ids: number the words that may be left out, for networks that choose among them.
        joint_choices: read a question and all its choices, at most so many, in one row; 0 makes a row of each.
    """

    tokenizer: Any
    max_length: int | None
    splitter: str = "unicode"
    stride: float = 0.25
    word_ids: bool = False
    joint_choices: int = 0
    type_ids: bool = field(init=False)

    def __post_init__(self) -> None:
        if not getattr(self.tokenizer, "is_fast", False):
            raise OptionError(
                f"{type(self.tokenizer).__name__} is not a fast tokenizer; character offsets need one (use_fast=True)"
            )
        self.type_ids = "token_type_ids" in getattr(self.tokenizer, "model_input_names", ())

    @property
    def pad_id(self) -> int:
        """Id that fills up short rows; it is masked, so any will do where the tokenizer has none."""
        return self.tokenizer.pad_token_id if self.tokenizer.pad_token_id is not None else 0

    def encode(self, example: Example, truncation: str = "error") -> Encoded:
        """Encode one example; choices give a row each, long texts an error, or a cut or windows and a note of it."""
        check_truncation(truncation)
        if not all(isinstance(text, str) for text in example.fields):
            raise InputError(f"{example.where()}: texts must be strings")
        words = example_words(example, self.splitter)
        if example.choices:
            if len(example.texts) != 1:
                raise InputError(f"{example.where()}: choices go with one text; join context and question into one")
            if self.joint_choices:
                return self._joint(example, words, truncation)
            pairs = [(example.texts[0], choice, (0, 1 + i)) for i, choice in enumerate(example.choices)]
        elif len(example.texts) == 2:
            pairs = [(example.texts[0], example.texts[1], (0, 1))]
        elif len(example.texts) == 1:
            pairs = [(example.texts[0], None, (0, 0))]  # type: ignore[list-item]
        else:
            raise InputError(f"{example.where()}: {len(example.texts)} texts; a model reads one or two")
        rows: list[Row] = []
        notes: list[str] = []
        for first, second, numbers in pairs:
            made, note = self._rows(example, words, first, second, numbers, truncation)
            rows.extend(made)
            notes.extend(n for n in note if n not in notes)
        if example.choices and len(rows) != len(example.choices):
            raise TooLongError(
                f"{example.where()}: a question with choices cannot be read in windows; use truncation='head'"
            )
        return Encoded(example, words, tuple(rows), tuple(notes))

    def _rows(
        self,
        example: Example,
        words: tuple[Word, ...],
        first: str,
        second: str | None,
        numbers: tuple[int, int],
        truncation: str,
    ) -> tuple[list[Row], list[str]]:
        # Lone surrogates cannot be encoded; one replacement character each keeps the offsets.
        texts = [_encodable(t) for t in (first, second) if t is not None]
        encodings = self._tokenize(texts)
        size = len(encodings[0].ids)
        notes: list[str] = []
        if self.max_length is not None and size > self.max_length:
            if truncation == "error":
                raise TooLongError(
                    f"{example.where()} has {size} pieces, the model reads {self.max_length}; "
                    "choose truncation='head' to cut it or 'window' to read it in overlapping parts"
                )
            if truncation == "head":
                encodings = self._tokenize(texts, max_length=self.max_length, truncation=True)[:1]
                end = "last" if getattr(self.tokenizer, "truncation_side", "right") == "left" else "first"
                notes.append(f"cut to the {end} {len(encodings[0].ids)} of {size} pieces")
            else:
                longer = "only_first" if len(texts) == 1 or len(texts[0]) > len(texts[1]) else "only_second"
                encodings = self._tokenize(
                    texts,
                    max_length=self.max_length,
                    truncation=longer,
                    stride=int(self.stride * self._room(texts, longer)),
                    return_overflowing_tokens=True,
                )
                notes.append(f"read in {len(encodings)} overlapping windows of up to {self.max_length} pieces")
        rows = []
        for encoding in encodings:
            sequence = encoding.sequence_ids
            fields = tuple(
                None if s is None or special else numbers[s]
                for s, special in zip(sequence, encoding.special_tokens_mask, strict=True)
            )
            ids = np.asarray(encoding.ids, dtype=np.int64)
            offsets = tuple(encoding.offsets)
            if not len(ids):
                # A tokenizer without special tokens makes nothing of an empty text; a network must read something.
                ids, fields, offsets = np.asarray([self.filler]), (None,), ((0, 0),)
            types = np.zeros(len(ids), dtype=np.int64) if self.type_ids else None
            if types is not None and len(encoding.type_ids) == len(ids):
                types = np.asarray(encoding.type_ids, dtype=np.int64)
            pieces = map_pieces(words, offsets, fields)
            numbered = _word_ids(pieces, words, example.meta.get("fixed", ())) if self.word_ids else None
            rows.append(Row(ids, types, pieces, offsets, fields, word_ids=numbered))
        return rows, notes

    def _joint(self, example: Example, words: tuple[Word, ...], truncation: str) -> Encoded:
        """Question and choices in one row, each behind a separator; the type of a piece is the number of its choice."""
        if len(example.choices) > self.joint_choices:
            raise InputError(
                f"{example.where()}: {len(example.choices)} choices, the model knows at most {self.joint_choices}"
            )
        found = [self._tokenize([_encodable(text)], add_special_tokens=False)[0] for text in example.fields]
        first, last = self._bounds()
        size = sum(len(e.ids) for e in found) + len(first) + len(last) * len(found)
        asked, notes = len(found[0].ids), []
        if self.max_length is not None and size > self.max_length:
            if truncation != "head":
                raise TooLongError(
                    f"{example.where()} has {size} pieces, the model reads {self.max_length}; use truncation='head'"
                )
            # Of a story with a question behind it the beginning goes; choices are never cut.
            asked -= size - self.max_length
            if asked < 1:
                raise TooLongError(f"{example.where()}: the choices alone are longer than {self.max_length} pieces")
            notes.append(f"cut to the last {asked} of {len(found[0].ids)} pieces of the question")
        ids, types, offsets = list(first), [0] * len(first), [(0, 0)] * len(first)
        fields: list[int | None] = [None] * len(first)
        for number, encoding in enumerate(found):
            cut = len(encoding.ids) - asked if number == 0 else 0
            ids += [*encoding.ids[cut:], *last]
            offsets += [*encoding.offsets[cut:], *((0, 0) for _ in last)]
            fields += [*(number for _ in encoding.ids[cut:]), *(None for _ in last)]
            types += [number] * (len(encoding.ids) - cut + len(last))
        row = Row(
            np.asarray(ids, dtype=np.int64),
            np.asarray(types, dtype=np.int64),
            map_pieces(words, tuple(offsets), tuple(fields)),
            tuple(offsets),
            tuple(fields),
        )
        return Encoded(example, words, (row,), tuple(notes))

    def _bounds(self) -> tuple[list[int], list[int]]:
        """The special tokens before a row and behind each of its texts, where the tokenizer has some."""
        names = [("cls_token_id", "bos_token_id"), ("sep_token_id", "eos_token_id")]
        found = [next((i for n in pair if (i := getattr(self.tokenizer, n, None)) is not None), None) for pair in names]
        return [i for i in found[:1] if i is not None], [i for i in found[1:] if i is not None]

    @property
    def filler(self) -> int:
        """Id that stands in for a row with nothing left in it."""
        for name in ("pad_token_id", "bos_token_id", "eos_token_id", "unk_token_id"):
            number = getattr(self.tokenizer, name, None)
            if number is not None:
                return int(number)
        return 0

    def _tokenize(self, texts: list[str], **options: Any) -> list[Any]:
        # `verbose=False` silences a warning about long texts: we raise or note it ourselves.
        return list(self.tokenizer(*([[t] for t in texts]), verbose=False, **options).encodings)

    def _room(self, texts: list[str], which: str) -> int:
        """How many pieces of the text that is cut fit into a window."""
        assert self.max_length is not None
        fixed = self.tokenizer.num_special_tokens_to_add(pair=len(texts) == 2)
        if len(texts) == 2:
            other = texts[1] if which == "only_first" else texts[0]
            fixed += len(self.tokenizer(other, add_special_tokens=False, verbose=False)["input_ids"])
        if fixed >= self.max_length - 1:
            raise TooLongError(
                f"both texts are longer than the model's {self.max_length} pieces; use truncation='head'"
            )
        return self.max_length - int(fixed)


def _word_ids(pieces: PieceMap, words: Sequence[Word], fixed: Collection[int]) -> np.ndarray:
    """The number of each piece's word among those of a row that may be left out, from 1; 0 for all other pieces."""
    word = np.full(pieces.pieces, -1, dtype=np.int64)
    # Backwards: a piece that covers parts of several words goes with the first.
    word[pieces.piece[::-1]] = pieces.word[::-1]
    fields = np.asarray([words[number].field if number >= 0 else -1 for number in word.tolist()], dtype=np.int64)
    free = (fields >= 0) & ~np.isin(fields, list(fixed))
    numbered = np.zeros(pieces.pieces, dtype=np.int64)
    numbered[free] = np.unique(word[free], return_inverse=True)[1] + 1
    return numbered


def _encodable(text: str) -> str:
    return "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in text) if not text.isascii() else text
