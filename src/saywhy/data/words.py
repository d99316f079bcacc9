"""Words are the currency: how a text is cut into words, and how a tokenizer's pieces belong to them.

Words depend on the text alone, never on the model, so that two models' explanations of one text can be compared. All
maps go through character offsets: nothing is decoded and tokenized again.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import regex

from saywhy.errors import OptionError
from saywhy.types import Example, Span, Word

__all__ = ["SPLITTERS", "PieceMap", "example_words", "map_pieces", "span_mask", "split_words"]

# Scripts written without spaces give one word per character (with its marks). Elsewhere a word is a run of letters,
# digits and marks, held together across inner apostrophes, hyphens and decimal points. A run of one punctuation mark
# is one word, because tokenizers merge it. What is left is one word per grapheme, so that an emoji with its skin tone,
# joiners or flag letters stays whole. Spaces and control characters belong to no word.
_UNICODE = regex.compile(
    r"""
      [\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]\p{M}*
    | [\p{L}\p{N}_][\p{L}\p{M}\p{N}_]*
        (?: (?: ['’ʼ\-‐‑](?=[\p{L}\p{N}]) | (?<=\p{N})[.,](?=\p{N}) ) [\p{L}\p{M}\p{N}_]+ )*
    | (\p{P})\1*
    | (?![\s\p{Cc}\p{Cf}])\X
    """,
    regex.VERBOSE,
)
_WHITESPACE = regex.compile(r"\S+")
SPLITTERS = ("unicode", "whitespace")


# An explanation asks for the words of its text several times.
@lru_cache(maxsize=256)
def split_words(text: str, field: int = 0, splitter: str = "unicode") -> tuple[Word, ...]:
    """Cut a text into words with character offsets.

    Args:
        text: any string; empty and blank ones have no words.
        field: number of the field of the example this text is.
        splitter: ``unicode`` (default) or ``whitespace`` for corpora that come tokenized, such as ERASER's.

    Example:
        >>> [w.text for w in split_words("It isn't 3.5 stars... 👍🏽!!")]
        ['It', "isn't", '3.5', 'stars', '...', '👍🏽', '!!']
    """
    if splitter not in SPLITTERS:
        raise OptionError(f"unknown splitter {splitter!r}; use one of {', '.join(SPLITTERS)}")
    pattern = _UNICODE if splitter == "unicode" else _WHITESPACE
    return tuple(Word(m.group(), m.start(), m.end(), field) for m in pattern.finditer(text))


def example_words(example: Example, splitter: str = "unicode") -> tuple[Word, ...]:
    """The words of all fields of an example: its texts, then its choices."""
    return tuple(word for i, text in enumerate(example.fields) for word in split_words(text, i, splitter))


def span_mask(words: Sequence[Word], spans: Iterable[Span]) -> np.ndarray:
    """Which words overlap one of the spans: a boolean array of ``len(words)``."""
    mask = np.zeros(len(words), dtype=bool)
    by_field: dict[int, list[Span]] = {}
    for span in spans:
        by_field.setdefault(span.field, []).append(span)
    for i, word in enumerate(words):
        mask[i] = any(s.start < word.end and word.start < s.end for s in by_field.get(word.field, ()))
    return mask


@dataclass(frozen=True)
class PieceMap:
    """Which pieces belong to which words: a sparse pieces x words matrix whose rows sum to one, or to zero.

    Rows of special tokens and padding are empty, so they are never scored and never erased. A piece that covers parts
    of several words is shared by the number of characters: its score is divided; it is erased only with all of them.
    """

    pieces: int
    words: int
    piece: np.ndarray
    word: np.ndarray
    share: np.ndarray

    def keep_pieces(self, keep: np.ndarray) -> np.ndarray:
        """From how far words are kept (words,) or (n, words) to how far pieces are kept, (pieces,) or (n, pieces)."""
        keep = np.asarray(keep, dtype=np.float32)
        flat = keep.reshape(math.prod(keep.shape[:-1]), keep.shape[-1])
        lost = np.zeros((flat.shape[0], self.pieces), dtype=np.float32)
        np.add.at(lost.T, self.piece, ((1.0 - flat[:, self.word]) * self.share).T)
        kept = 1.0 - lost
        kept[np.abs(kept) < 1e-6] = 0.0
        return kept.reshape(*keep.shape[:-1], self.pieces)

    def word_scores(self, scores: np.ndarray) -> np.ndarray:
        """Sum the scores of pieces (..., pieces) into words (..., words)."""
        scores = np.asarray(scores)
        out = np.zeros((*scores.shape[:-1], self.words), dtype=np.float64)
        np.add.at(np.moveaxis(out, -1, 0), self.word, np.moveaxis(scores[..., self.piece] * self.share, -1, 0))
        return out

    def owned(self) -> np.ndarray:
        """Which pieces belong to a word: False for special tokens and padding."""
        owned = np.zeros(self.pieces, dtype=bool)
        owned[self.piece] = True
        return owned


def map_pieces(words: Sequence[Word], offsets: Sequence[tuple[int, int]], fields: Sequence[int | None]) -> PieceMap:
    """Map pieces to words by character offsets.

    Args:
        words: the words of all fields, each field's in order.
        offsets: character offsets of each piece into its field.
        fields: number of the field of each piece, None for special tokens.

    A piece without characters of a word (a lone space marker) goes with the next word, so that erasing the word leaves
    no trace of it; at the end of a field it goes with the last.
    """
    index: dict[int, tuple[list[int], list[int], list[int]]] = {}
    for number, word in enumerate(words):
        numbers, starts, ends = index.setdefault(word.field, ([], [], []))
        numbers.append(number)
        starts.append(word.start)
        ends.append(word.end)
    piece: list[int] = []
    owner: list[int] = []
    share: list[float] = []
    for i, ((start, end), field) in enumerate(zip(offsets, fields, strict=True)):
        if field is None or field not in index:
            continue
        numbers, starts, ends = index[field]
        first, last = bisect_right(ends, start), bisect_left(starts, end)
        if first >= last:
            piece.append(i)
            owner.append(numbers[min(first, len(numbers) - 1)])
            share.append(1.0)
            continue
        overlap = [min(end, ends[j]) - max(start, starts[j]) for j in range(first, last)]
        total = sum(overlap)
        for j, size in zip(range(first, last), overlap, strict=True):
            piece.append(i)
            owner.append(numbers[j])
            share.append(size / total)
    return PieceMap(
        len(offsets),
        len(words),
        np.asarray(piece, dtype=np.int64),
        np.asarray(owner, dtype=np.int64),
        np.asarray(share, dtype=np.float32),
    )
