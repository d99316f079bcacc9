from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from saywhy.data.words import example_words, map_pieces, span_mask, split_words
from saywhy.errors import OptionError
from saywhy.types import Example, Span


def texts(text: str, splitter: str = "unicode") -> list[str]:
    return [word.text for word in split_words(text, splitter=splitter)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (" \t\n", []),
        ("Don't  stop—believin'!", ["Don't", "stop", "—", "believin", "'", "!"]),
        ("it’s well-made, 3.5/5 stars...", ["it’s", "well-made", ",", "3.5", "/", "5", "stars", "..."]),
        ("¡Qué pena!", ["¡", "Qué", "pena", "!"]),
        ("cafe\u0301 x", ["cafe\u0301", "x"]),
        ("好看的 film", ["好", "看", "的", "film"]),
        ("👩‍👩‍👧 🇫🇷👍🏽", ["👩‍👩‍👧", "🇫🇷", "👍🏽"]),
        ("a\u200bb\x00c", ["a", "b", "c"]),
        ("हिन्दी", ["हिन्दी"]),
    ],
)
def test_words_of_difficult_texts(text: str, expected: list[str]) -> None:
    assert texts(text) == expected


def test_whitespace_splitter_keeps_corpus_tokens() -> None:
    assert texts("is n't good .", "whitespace") == ["is", "n't", "good", "."]
    with pytest.raises(OptionError, match="unicode, whitespace"):
        split_words("x", splitter="spaces")


@given(st.text())
def test_words_tile_the_text(text: str) -> None:
    words = split_words(text)
    assert all(text[w.start : w.end] == w.text and w.text.strip() for w in words)
    assert all(a.end <= b.start for a, b in pairwise(words))
    # Nothing a reader can see is lost: letters, digits and punctuation all belong to a word.
    covered = {i for w in words for i in range(w.start, w.end)}
    assert all(i in covered for i, c in enumerate(text) if c.isalnum())


def test_words_of_all_fields() -> None:
    example = Example(("Who ?",), choices=("you", "me"))
    assert [(w.text, w.field) for w in example_words(example)] == [("Who", 0), ("?", 0), ("you", 1), ("me", 2)]


def test_span_mask_needs_the_right_field() -> None:
    words = example_words(Example(("a bad film", "a bad film")))
    assert span_mask(words, [Span(1, 2, 5)]).tolist() == [False, False, False, False, True, False]
    assert span_mask(words, [Span(0, 0, 0)]).sum() == 0


def test_shared_and_stray_pieces() -> None:
    words = split_words("ab cd")
    # pieces: [CLS], "a", "b c" (shared), "d", a space marker at the end, [SEP]
    pieces = map_pieces(words, [(0, 0), (0, 1), (1, 4), (4, 5), (5, 5), (0, 0)], [None, 0, 0, 0, 0, None])
    assert pieces.owned().tolist() == [False, True, True, True, True, False]
    np.testing.assert_allclose(pieces.word_scores(np.array([9.0, 1, 2, 4, 8, 9])), [1 + 1, 1 + 4 + 8])
    np.testing.assert_allclose(pieces.keep_pieces(np.array([0.0, 1.0])), [1, 0, 0.5, 1, 1, 1])
    # A shared piece disappears only with all its words.
    np.testing.assert_allclose(pieces.keep_pieces(np.array([[0.0, 0.0]])), [[1, 0, 0, 0, 0, 1]])


@given(st.text(min_size=1), st.data())
def test_every_piece_is_owned_once_for_any_cut(text: str, data: st.DataObject) -> None:
    words = split_words(text)
    cuts = sorted(data.draw(st.sets(st.integers(0, len(text)), max_size=8)) | {0, len(text)})
    offsets = list(pairwise(cuts))
    pieces = map_pieces(words, offsets, [0] * len(offsets))
    rows = np.zeros(len(offsets))
    np.add.at(rows, pieces.piece, pieces.share)
    np.testing.assert_allclose(rows, float(bool(words)), atol=1e-6)
    scores = np.arange(len(offsets), dtype=float)
    assert pieces.word_scores(scores).sum() == pytest.approx(scores.sum() if words else 0.0)
    if words:
        assert pieces.keep_pieces(np.zeros(len(words))).sum() == 0
        assert pieces.keep_pieces(np.ones(len(words))).sum() == len(offsets)
