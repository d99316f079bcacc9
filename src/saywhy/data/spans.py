"""From the many ways in which corpora mark words to character spans over the text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from saywhy.types import Span

__all__ = ["find_phrases", "join_tokens", "mask_to_spans", "merge_spans", "parse_stars", "token_spans"]


def join_tokens(tokens: Sequence[str]) -> tuple[str, list[tuple[int, int]]]:
    """Tokens joined by single spaces, and where each of them stands in the joined text.

    Example:
        >>> join_tokens(["not", "bad"])
        ('not bad', [(0, 3), (4, 7)])
    """
    places, at = [], 0
    for token in tokens:
        places.append((at, at + len(token)))
        at += len(token) + 1
    return " ".join(tokens), places


def token_spans(
    spans: Iterable[tuple[int, int]], places: Sequence[tuple[int, int]], field: int = 0
) -> tuple[Span, ...]:
    """Half-open spans over tokens as character spans over the text that `join_tokens` made."""
    return tuple(Span(field, places[start][0], places[end - 1][1]) for start, end in spans)


def mask_to_spans(mask: Sequence[int], places: Sequence[tuple[int, int]], field: int = 0) -> tuple[Span, ...]:
    """A 0/1 mark per token as character spans, one for each run of ones."""
    runs, start = [], None
    for i, marked in enumerate([*mask, 0]):
        if marked and start is None:
            start = i
        elif not marked and start is not None:
            runs.append((start, i))
            start = None
    return token_spans(runs, places, field)


def merge_spans(spans: Iterable[Span]) -> tuple[Span, ...]:
    """Spans in order, with those that overlap or touch made one.

    Example:
        >>> merge_spans([Span(0, 4, 9), Span(0, 0, 5)])
        (Span(field=0, start=0, end=9),)
    """
    merged: list[Span] = []
    for span in sorted(spans):
        if merged and merged[-1].field == span.field and span.start <= merged[-1].end:
            merged[-1] = merged[-1]._replace(end=max(span.end, merged[-1].end))
        else:
            merged.append(span)
    return tuple(merged)


def parse_stars(marked: str, field: int = 0) -> tuple[str, tuple[Span, ...]]:
    """Text in which highlighted words stand between stars, as in e-SNLI, without the stars, and the spans.

    Example:
        >>> parse_stars("A *black* race car")
        ('A black race car', (Span(field=0, start=2, end=7),))
    """
    parts = marked.split("*")
    if len(parts) % 2 == 0:
        raise ValueError("a star is not closed")
    text, spans = "", []
    for i, part in enumerate(parts):
        # Stars may take in the space or comma beside the word; the span is the word.
        inner = part.strip()
        if i % 2 and inner:
            start = len(text) + part.index(inner)
            spans.append(Span(field, start, start + len(inner)))
        text += part
    return text, tuple(spans)


def find_phrases(phrases: Iterable[str], text: str, field: int = 0) -> tuple[Span, ...]:
    """Where each phrase stands in the text as whole words, whatever the case and the spaces; not found: left out."""
    found = []
    for phrase in phrases:
        words = phrase.split()
        if not words:
            continue
        pattern = r"(?<!\w)" + r"\s+".join(map(re.escape, words)) + r"(?!\w)"
        match = re.search(pattern, text, re.IGNORECASE) or re.search(
            r"\s+".join(map(re.escape, words)), text, re.IGNORECASE
        )
        if match:
            found.append(Span(field, match.start(), match.end()))
    return merge_spans(found)
