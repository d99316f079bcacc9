from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saywhy.data.spans import find_phrases, join_tokens, mask_to_spans, merge_spans, parse_stars, token_spans
from saywhy.types import Span

tokens = st.lists(st.text(st.characters(blacklist_categories=("Cs", "Zs", "Cc")), min_size=1, max_size=8), min_size=1)


@given(tokens, st.data())
def test_token_spans_hold_exactly_their_tokens(words: list[str], data: st.DataObject) -> None:
    text, places = join_tokens(words)
    start = data.draw(st.integers(0, len(words) - 1))
    end = data.draw(st.integers(start + 1, len(words)))
    (span,) = token_spans([(start, end)], places, field=1)
    assert span.field == 1
    assert text[span.start : span.end] == " ".join(words[start:end])


@given(tokens, st.data())
def test_masks_and_spans_agree(words: list[str], data: st.DataObject) -> None:
    text, places = join_tokens(words)
    mask = data.draw(st.lists(st.integers(0, 1), min_size=len(words), max_size=len(words)))
    spans = mask_to_spans(mask, places)
    assert [any(s.start <= a and b <= s.end for s in spans) for a, b in places] == [bool(m) for m in mask]
    assert all(text[s.start : s.end].strip() for s in spans)


@given(
    st.lists(
        st.tuples(st.integers(0, 2), st.integers(0, 30), st.integers(1, 9)).map(lambda t: Span(t[0], t[1], t[1] + t[2]))
    )
)
def test_merging_keeps_what_is_covered(spans: list[Span]) -> None:
    def covered(of: list[Span]) -> set[tuple[int, int]]:
        return {(s.field, i) for s in of for i in range(s.start, s.end)}

    merged = list(merge_spans(spans))
    assert covered(merged) == covered(spans)
    assert all(a.field != b.field or a.end < b.start for a, b in pairwise(merged))


@pytest.mark.parametrize(
    ("marked", "text", "words"),
    [
        ("A *black* race *car*.", "A black race car.", ["black", "car"]),
        ("none", "none", []),
        ("*all of it*", "all of it", ["all of it"]),
        ("a * padded * word", "a  padded  word", ["padded"]),
        ("two**stars", "twostars", []),
    ],
)
def test_stars(marked: str, text: str, words: list[str]) -> None:
    plain, spans = parse_stars(marked)
    assert plain == text
    assert [plain[s.start : s.end] for s in spans] == words


def test_open_star() -> None:
    with pytest.raises(ValueError, match="not closed"):
        parse_stars("a *b")


def test_phrases_are_found_as_whole_words_first() -> None:
    text = "The cart, the  Art of it"
    (span,) = find_phrases(["the art"], text)
    assert text[span.start : span.end] == "the  Art"
    (span,) = find_phrases(["art"], text)
    assert span.start == 15
    assert find_phrases(["absent", " "], text) == ()
    # Not a word of its own anywhere: the characters will do.
    (span,) = find_phrases(["car"], text)
    assert text[span.start : span.end] == "car"
