"""Who did what to whom: predicates and the phrases that play their roles."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from saywhy.data.files import read_rows
from saywhy.data.rows import Row
from saywhy.types import Example, Word

__all__ = ["Frame", "frames_of", "read_frames", "role_mask"]

_ENDINGS = ("ing", "ied", "ies", "ed", "en", "es", "s", "e")


@dataclass(frozen=True)
class Frame:
    """A predicate and its roles, in characters of a text, half open.

    Example:
        >>> Frame((11, 18), (("ARG0", 0, 10), ("ARG1", 19, 29)))          # The doctor advised the nurse.
        Frame(predicate=(11, 18), roles=(('ARG0', 0, 10), ('ARG1', 19, 29)))
    """

    predicate: tuple[int, int]
    roles: tuple[tuple[str, int, int], ...] = ()


def frames_of(example: Example) -> tuple[Frame, ...]:
    """The frames of a sentence of `ewt-srl`; auxiliaries are left out."""
    places = example.meta["places"]
    found = []
    for predicate in example.meta.get("predicates", ()):
        roles = [
            (str(role), places[start][0], places[end - 1][1])
            for role, start, end in predicate["args"]
            if role != "V" and end > start
        ]
        if roles:
            found.append(Frame(tuple(places[predicate["token"]]), tuple(roles)))
    return tuple(found)


def read_frames(path: str | os.PathLike[str]) -> dict[str, tuple[Frame, ...]]:
    """Frames that you made yourself, by text: JSON Lines, or a JSON list of the same objects.

    Places are counted in characters, half open; a text in which nothing is guided has an empty list::

        {"text": "Ann saw Bob", "frames": [{"predicate": [4, 7], "roles": [["ARG0", 0, 3], ["ARG1", 8, 11]]}]}
        {"text": "Good morning!", "frames": []}

    Raises:
        DataError: a field that is missing or of another kind, a place outside the text, a text that comes twice with
            different frames; names file and line (in a list, the number of the object).
    """
    found: dict[str, tuple[Frame, ...]] = {}
    lines: dict[str, int | None] = {}
    for row in read_rows(path):
        text = row.text("text")
        frames = tuple(_frame(inner, len(text)) for inner in row.rows("frames"))
        if found.setdefault(text, frames) != frames:
            raise row.error(f"the text has other frames in line {lines[text]}", "frames")
        lines.setdefault(text, row.line)
    return found


def _frame(row: Row, length: int) -> Frame:
    roles = []
    for item in row.sequence("roles"):
        if not isinstance(item, list) or len(item) != 3 or not isinstance(item[0], str) or not item[0]:
            raise row.error(f"expected roles [name, start, end], found {item!r:.60}", "roles")
        roles.append((item[0], *_place(row, "roles", item[1:], length)))
    return Frame(_place(row, "predicate", row.value("predicate"), length), tuple(roles))


def _place(row: Row, field: str, value: Any, length: int) -> tuple[int, int]:
    return row.with_values({field: [value]}).pairs(field, length)[0]


def role_mask(
    texts: tuple[str, str],
    premise: Sequence[Word],
    hypothesis: Sequence[Word],
    first: Sequence[Frame],
    second: Sequence[Frame],
) -> np.ndarray:
    """Which alignments roles allow, |p| x |h| booleans.

    Reference: AREC, section 4.2.3 and figure 4: identical predicates, and phrases that play the same role for them, may
    be aligned. What the paper leaves open: words without any role in either text may be aligned with each other, and
    where a text has no frame nothing is forbidden.

    Args:
        texts: the two texts.
        premise: words of the first.
        hypothesis: words of the second.
        first: frames of the first text.
        second: frames of the second.

    Example:
        >>> from saywhy.data.words import split_words
        >>> texts = ("Ann saw Bob", "Bob saw Ann")
        >>> words = [split_words(text, field) for field, text in enumerate(texts)]
        >>> frame = Frame((4, 7), (("ARG0", 0, 3), ("ARG1", 8, 11)))
        >>> role_mask(texts, *words, [frame], [frame]).astype(int).tolist()
        [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    """
    if not first or not second:
        return np.ones((len(premise), len(hypothesis)), dtype=bool)
    allowed = np.outer(~_used(premise, first), ~_used(hypothesis, second))
    for one in first:
        for other in second:
            if _stem(texts[0][slice(*one.predicate)]) != _stem(texts[1][slice(*other.predicate)]):
                continue
            allowed |= np.outer(_inside(premise, *one.predicate), _inside(hypothesis, *other.predicate))
            for role, start, end in one.roles:
                for same, begin, stop in other.roles:
                    if role == same:
                        allowed |= np.outer(_inside(premise, start, end), _inside(hypothesis, begin, stop))
    return allowed


def _used(words: Sequence[Word], frames: Sequence[Frame]) -> np.ndarray:
    used = np.zeros(len(words), dtype=bool)
    for frame in frames:
        for start, end in (frame.predicate, *((a, b) for _, a, b in frame.roles)):
            used |= _inside(words, start, end)
    return used


def _inside(words: Sequence[Word], start: int, end: int) -> np.ndarray:
    return np.asarray([word.start < end and start < word.end for word in words], dtype=bool)


def _stem(word: str) -> str:
    """The word without what English verbs end in: advised and advises are the same predicate."""
    low = word.casefold()
    for ending in _ENDINGS:
        if low.endswith(ending) and len(low) - len(ending) >= 3:
            return low[: -len(ending)]
    return low
