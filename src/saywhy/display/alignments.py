"""Alignments on a terminal: two sentences whose words bear the numbers of their phrase pairs, and a table with boxes.

A phrase pair has one number and one colour in the sentences, in the table and in the list. Numbers, brackets and lines
are characters, so the picture also reads where there is no colour at all.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from saywhy.display.colours import COLOURS, colour_of, ink_on
from saywhy.display.lines import dim, line
from saywhy.display.parts import Link, finite, number, opposed_pairs, peak, segments, visible
from saywhy.types import Alignments, Word

if TYPE_CHECKING:
    from rich.text import Text

__all__ = ["Palette", "linked_sentences", "listed_links", "matrix"]

SHADES = " ·░▒▓█"
TALLEST = 60
RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
# By the lines that meet there: from above 1, from below 2, from the left 4, from the right 8.
CORNERS = " ╵╷│╴┘┐┤╶└┌├─┴┬┼"
# Paper and ink for consoles that have sixteen colours, in the order of `COLOURS`.
SIXTEEN = (
    *(("blue", "white"), ("red", "white"), ("green", "black"), ("magenta", "white"), ("cyan", "black")),
    *(("yellow", "black"), ("bright_magenta", "black"), ("bright_black", "white")),
)

Cell = tuple[int, int]


@dataclass(frozen=True)
class Palette:
    """How phrase pairs look on a console: with the colours of all other pictures, or with those that it has."""

    rich_colours: bool

    def _pair(self, n: int) -> tuple[str, str]:
        if self.rich_colours:
            return colour_of(n), ink_on(colour_of(n))
        return SIXTEEN[(n - 1) % len(COLOURS)]

    def block(self, n: int) -> str:
        """Style of what belongs to a phrase pair: ink that reads on its colour."""
        paper, ink = self._pair(n)
        return f"bold {ink} on {paper}"

    def edge(self, n: int) -> str:
        """Style of lines and marks around it."""
        return f"bold {self._pair(n)[0]}"


def linked_sentences(
    explanation: Alignments, names: Sequence[str], links: Sequence[Link], palette: Palette
) -> Iterator[Text]:
    """The texts under their names, every phrase in brackets with the numbers of its pairs, as in ``[two men]¹``."""
    words = explanation.premise + explanation.hypothesis
    owners = _owners(explanation, links)
    fields = explanation.header.texts + explanation.header.choices
    for field, text in enumerate(fields):
        if names[field]:
            yield dim(names[field])
        made = line()
        for chunk, own in _phrases(text, field, words, owners):
            if not own:
                made.append(visible(chunk))
                continue
            made.append("[", style=palette.edge(own[0]))
            made.append(visible(chunk), style=palette.block(own[0]))
            made.append("]", style=palette.edge(own[0]))
            for place, n in enumerate(own):
                made.append("·" * (place > 0) + str(n).translate(RAISED), style=palette.edge(n))
        yield made


def _owners(explanation: Alignments, links: Sequence[Link]) -> list[tuple[int, ...]]:
    """For each word, premise first, the numbers of the phrase pairs that it belongs to."""
    above: list[list[int]] = [[] for _ in explanation.premise]
    below: list[list[int]] = [[] for _ in explanation.hypothesis]
    for link in links:
        if link.box is not None:
            first, last, left, right = link.box
            for own in (*above[first : last + 1], *below[left : right + 1]):
                own.append(link.number)
    return [tuple(own) for own in above + below]


def _phrases(
    text: str, field: int, words: Sequence[Word], owners: Sequence[tuple[int, ...]]
) -> Iterator[tuple[str, tuple[int, ...]]]:
    """The text cut where the phrase pairs of its words change; a gap between words of the same ones is theirs."""
    chunks = [(chunk, owners[at] if at is not None else None) for chunk, at, _ in segments(text, field, words, ())]
    owned: list[tuple[str, tuple[int, ...]]] = []
    for place, (chunk, own) in enumerate(chunks):
        if own is None:
            before = chunks[place - 1][1] if place else None
            after = chunks[place + 1][1] if place + 1 < len(chunks) else None
            own = before if before and before == after and not chunk.strip() else ()
        owned.append((chunk, own))
    for own, run in itertools.groupby(owned, key=lambda part: part[1]):
        yield "".join(chunk for chunk, _ in run), own


def listed_links(explanation: Alignments, links: Sequence[Link], palette: Palette) -> Iterator[Text]:
    """The phrase pairs by number, with scores; pairs of words that speak against have none."""
    if links:
        yield dim("phrase pairs" if explanation.phrases else "strongest word pairs")
    width = max((len(str(link.number)) for link in links), default=0)
    for link in links:
        made = line(f"{link.number:>{width + 1}} ", palette.block(link.number))
        made = line().append_text(made).append(f" {visible(link.text)} {number(link.score)}")
        yield made
    against = opposed_pairs(explanation)
    if against:
        yield dim("against: " + ", ".join(f"{text} {number(score)}" for text, score in against))
    elif not links:
        yield dim("pairs: none")


def matrix(explanation: Alignments, links: Sequence[Link], width: int, palette: Palette) -> Iterator[Text]:
    """Premise words down, hypothesis words across by letter, phrase pairs in boxes; nothing where it would not fit.

    A cell in a box has the box's number; others are shaded by the size of their scores.
    """
    from rich.cells import cell_len

    names = [visible(word.text) for word in explanation.premise]
    columns = len(explanation.hypothesis)
    label = max(map(cell_len, names), default=0)
    if not names or not columns or label + 3 * columns + 2 > width or len(names) > TALLEST:
        return
    marks = _marks(explanation)
    frames = _Frames(links, palette)
    letters = [_letters(j) for j in range(columns)]
    yield dim(" " * (label + 1) + "".join(f"{letter:>3}" for letter in letters))
    for i in range(len(names) + 1):
        if frames.has_border(i):
            yield frames.border(i, columns, " " * (label + 1))
        if i < len(names):
            yield frames.row(i, marks[i], " " * (label - cell_len(names[i])) + names[i] + " ")
    yield dim("  ".join(f"{a} {word.text}" for a, word in zip(letters, explanation.hypothesis, strict=True)))


def _letters(j: int) -> str:
    """A column's name, which is no number, as phrase pairs have these: a to z, then aa, ab and so on."""
    first = "" if j < 26 else _letters(j // 26 - 1)
    return first + chr(ord("a") + j % 26)


def _marks(explanation: Alignments) -> list[list[str]]:
    """What each cell looks like where there is no box: black if selected, else shaded by how near it was."""
    top = peak([s for row in explanation.scores for s in row])
    table = []
    for i, row in enumerate(explanation.scores):
        chosen = explanation.selected[i] if explanation.selected else ()
        table.append(["██" if chosen and chosen[j] else _shade(s / 2 if chosen else s, top) for j, s in enumerate(row)])
    return table


def _shade(score: float, top: float) -> str:
    share = abs(finite(score)) / top if top > 0 else 0.0
    mark = SHADES[round(share * (len(SHADES) - 1))]
    return ("-" if score < 0 and share >= 0.05 else mark) + mark


class _Frames:
    """Boxes as characters: cells are two wide, with one place between neighbours where a box may end."""

    def __init__(self, links: Sequence[Link], palette: Palette) -> None:
        self.palette = palette
        self.owner: dict[Cell, int] = {}
        self.across: dict[Cell, int] = {}  # number of the box with a line above the cell
        self.down: dict[Cell, int] = {}  # and with one to its left
        for link in links:
            if link.box is None:
                continue
            top, bottom, left, right = link.box
            for i, j in itertools.product(range(top, bottom + 1), range(left, right + 1)):
                self.owner.setdefault((i, j), link.number)
            for j in range(left, right + 1):
                self.across.setdefault((top, j), link.number)
                self.across.setdefault((bottom + 1, j), link.number)
            for i in range(top, bottom + 1):
                self.down.setdefault((i, left), link.number)
                self.down.setdefault((i, right + 1), link.number)

    def has_border(self, i: int) -> bool:
        """Whether a box begins or ends above row i."""
        return any(row == i for row, _ in self.across)

    def border(self, i: int, columns: int, start: str) -> Text:
        """The line above row i."""
        made = line(start)
        for j in range(columns + 1):
            meeting = [self.down.get((i - 1, j)), self.down.get((i, j)), self.across.get((i, j - 1))]
            meeting.append(self.across.get((i, j)))
            there = [n for n in meeting if n is not None]
            shape = CORNERS[sum(2**bit for bit, n in enumerate(meeting) if n is not None)]
            around = [(i - 1, j - 1), (i - 1, j), (i, j - 1), (i, j)]
            made.append(shape, style=self.palette.edge(min(there)) if there else self._filled(around))
            if j < columns:
                n = self.across.get((i, j))
                if n is None:
                    made.append("  ", style=self._filled([(i - 1, j), (i, j)]))
                else:
                    made.append("──", style=self.palette.edge(n))
        made.rstrip()
        return made

    def row(self, i: int, marks: Sequence[str], start: str) -> Text:
        """The cells of a row."""
        made = line(start)
        for j in range(len(marks) + 1):
            edge = self.down.get((i, j))
            if edge is None:
                made.append(" ", style=self._filled([(i, j - 1), (i, j)]))
            else:
                made.append("│", style=self.palette.edge(edge))
            if j < len(marks):
                n = self.owner.get((i, j))
                if n is None:
                    made.append(marks[j])
                else:
                    made.append(f"{n:>2}" if n < 100 else "++", style=self.palette.block(n))
        made.rstrip()
        return made

    def _filled(self, cells: Sequence[Cell]) -> str:
        """The style between cells: theirs if all are in one box."""
        owners = {self.owner.get(cell) for cell in cells}
        only = owners.pop() if len(owners) == 1 else None
        return "" if only is None else self.palette.block(only)
