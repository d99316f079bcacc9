"""What it means to erase a word: five ways for networks, two for black boxes.

Special tokens are never erased. `METHODS` tabulates which published implementation erases how; every explainer and
metric that erases takes the name as an option and records it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from saywhy.data.words import PieceMap
from saywhy.errors import CapabilityError, OptionError
from saywhy.models.encoding import Row
from saywhy.types import Example, Word

if TYPE_CHECKING:
    from saywhy.models.text_model import TextModel

__all__ = ["CONTINUOUS", "ERASURES", "check_erasure", "default_erasure", "edit_text", "erase_row", "erase_text"]

ERASURES = {
    "delete": "the pieces are taken out and the rest moves together",
    "mask-token": "the ids are replaced by the tokenizer's mask token",
    "attention-mask": "the pieces stay where they are and nobody attends to them",
    "pad": "the ids are replaced by the padding id, still attended to",
    "zero-embedding": "the word embeddings are multiplied by how far the word is kept",
}
CONTINUOUS = ("attention-mask", "zero-embedding")
"""Erasures that can keep a word to a degree between 0 and 1, and have a gradient with respect to it."""


def check_erasure(model: TextModel, erasure: str, *, continuous: bool = False) -> None:
    """Raise an error that names the alternatives if a model cannot erase in this way."""
    if erasure not in ERASURES:
        raise OptionError(f"unknown erasure {erasure!r}; use one of {', '.join(ERASURES)}")
    possible = [name for name in ERASURES if _possible(model, name)]
    if erasure not in possible:
        raise CapabilityError(f"{model!r} cannot erase by {erasure!r}; it can by {', '.join(possible)}")
    if continuous and erasure not in CONTINUOUS:
        good = [name for name in CONTINUOUS if name in possible]
        hint = f"use {' or '.join(good)}" if good else "this model has none; use a method that needs outputs only"
        raise OptionError(f"erasure {erasure!r} is all or nothing and has no gradient; {hint}")


def _possible(model: TextModel, erasure: str) -> bool:
    if model.network is None:
        return erasure == "delete" or (erasure == "mask-token" and getattr(model, "mask_token", None) is not None)
    if erasure == "delete":
        return model.task.erases_positions
    if erasure == "mask-token":
        return model.tokenizer.mask_token_id is not None
    if erasure == "pad":
        return model.tokenizer.pad_token_id is not None
    return ("attention" if erasure == "attention-mask" else "embeddings") in model.capabilities


def default_erasure(model: TextModel) -> str:
    """The erasure to use where none is asked for: ``delete``, or ``mask-token`` where positions must stay."""
    return "delete" if model.task.erases_positions else "mask-token"


def erase_row(model: TextModel, row: Row, keep: np.ndarray, erasure: str) -> Row:
    """A row with some of its words erased.

    Args:
        model: whose tokenizer names the ids to put in.
        row: the whole row.
        keep: how far each of the example's words is kept, (words,); 0 or 1 unless the erasure is continuous.
        erasure: one of ``ERASURES``.
    """
    pieces = row.pieces.keep_pieces(keep)
    gone = pieces == 0.0
    if erasure in CONTINUOUS:
        return row if (pieces == 1.0).all() else replace(row, keep=pieces)
    if erasure == "delete":
        return _delete(row, ~gone, model.encoder.filler) if gone.any() else row
    ids = row.ids.copy()
    if erasure == "mask-token":
        ids[gone] = model.tokenizer.mask_token_id
        return replace(row, ids=ids)
    ids[gone] = model.tokenizer.pad_token_id
    # A network that counts positions over what is not padding must not see the later words move. Whole rows get their
    # positions too, because they may stand in one batch with others.
    return replace(row, ids=ids, positions=_positions(model, len(row)))


def _delete(row: Row, kept: np.ndarray, filler: int) -> Row:
    index = np.flatnonzero(kept)
    if not len(index):
        # Nothing is left, not even a special token: a network must read something.
        nothing = np.zeros(0, dtype=np.int64)
        empty = PieceMap(1, row.pieces.words, nothing, nothing, np.zeros(0, dtype=np.float32))
        types = None if row.types is None else row.types[:1] * 0
        numbered = None if row.word_ids is None else row.word_ids[:1] * 0
        return Row(np.asarray([filler]), types, empty, ((0, 0),), (None,), word_ids=numbered)
    return replace(
        row,
        ids=row.ids[index],
        types=None if row.types is None else row.types[index],
        fields=tuple(row.fields[i] for i in index),
        offsets=tuple(row.offsets[i] for i in index),
        word_ids=None if row.word_ids is None else row.word_ids[index],
    )


def _positions(model: TextModel, length: int) -> np.ndarray | None:
    table = next((m for n, m in model.module.named_modules() if n.endswith("position_embeddings")), None)
    padding = getattr(table, "padding_idx", None)
    return None if padding is None else np.arange(length) + padding + 1


def erase_text(example: Example, words: Sequence[Word], keep: np.ndarray, mask_token: str | None = None) -> Example:
    """An example with words cut out of its texts, or replaced by a mask token, for models that take only text."""
    gone = [i for i, kept in zip(range(len(words)), keep, strict=False) if not kept]
    return edit_text(example, words, dict.fromkeys(gone, mask_token or ""))


def edit_text(example: Example, words: Sequence[Word], edits: Mapping[int, str]) -> Example:
    """An example with some of its words, by number, replaced by others, or cut out where the other is empty.

    The spaces around a word that is cut out become one. Everything else stays as it was.

    Example:
        >>> from saywhy.data.words import example_words
        >>> film = Example(("A very good film.",))
        >>> edit_text(film, example_words(film), {1: "", 2: "bad"}).texts
        ('A bad film.',)
    """
    fields = []
    for number, text in enumerate(example.fields):
        parts: list[str] = []
        at = 0
        for i in sorted(edits):
            word, new = words[i], edits[i]
            if word.field != number:
                continue
            parts.append(text[at : word.start])
            at = word.end
            if new:
                parts.append(new)
                continue
            before, after = text[: word.start][-1:], text[at : at + 1]
            if not word.text.isalnum() and before.isalnum() and after.isalnum():
                parts.append(" ")  # what a mark held apart must not become one word
            if not parts[-1] or parts[-1][-1].isspace():
                while at < len(text) and text[at].isspace():
                    at += 1
        parts.append(text[at:])
        joined = "".join(parts)
        fields.append(joined if at == 0 else joined.strip())
    split = len(example.texts)
    return replace(example, texts=tuple(fields[:split]), choices=tuple(fields[split:]))
