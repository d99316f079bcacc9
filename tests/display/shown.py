"""Explanations of every kind to show, and readers of what is shown."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from html.parser import HTMLParser

from saywhy.types import Alignments, Explanation, FreeText, Header, Rationale, Word, WordScores


def words(text: str, field: int = 0) -> tuple[Word, ...]:
    return tuple(Word(m.group(), m.start(), m.end(), field) for m in re.finditer(r"\w+|[^\w\s]", text))


def header(*texts: str, **facts: object) -> Header:
    values: dict[str, object] = {
        "method": "lime",
        "target": "pos",
        "labels": ("neg", "pos"),
        "probabilities": (0.1, 0.9),
    }
    return Header(texts=texts, **{**values, **facts})  # type: ignore[arg-type]


def scored(text: str, *scores: float, **facts: object) -> WordScores:
    return WordScores(header(text, **facts), words=words(text), scores=scores)


def all_kinds(text: str = "a store", other: str = "a car") -> list[Explanation]:
    one, two = words(text), words(other, 1)
    top = header(text, other, notes=("cut <here>",))
    grid = tuple(tuple(0.1 * (i - j) for j in range(len(two))) for i in range(len(one)))
    return [
        WordScores(top, words=one + two, scores=tuple(0.3 - 0.2 * i for i in range(len(one + two)))),
        Rationale(top, words=one, selected=tuple(i % 2 == 0 for i in range(len(one)))),
        Alignments(top, premise=one, hypothesis=two, scores=grid, phrases=((text, other, 0.9),)),
        FreeText(top, sentence=f"because {text}", steps=((0.6, 0.4), (0.3, 0.7), (0.1, 0.9))),
    ]


def boxed(premise: str, hypothesis: str, boxes: Sequence[tuple[int, int, int, int]]) -> Alignments:
    """A rationale of these boxes, the first of which has the score 0.9, the next 0.8 and so on; all else is 0."""
    one, two = words(premise), words(hypothesis, 1)
    table = [[0.0] * len(two) for _ in one]
    phrases = []
    for place, (top, bottom, left, right) in enumerate(boxes):
        score = 0.9 - place / 10
        for row in table[top : bottom + 1]:
            row[left : right + 1] = [score] * (right + 1 - left)
        first = premise[one[top].start : one[bottom].end]
        phrases.append((first, hypothesis[two[left].start : two[right].end], score))
    chosen = tuple(tuple(s > 0 for s in row) for row in table)
    return Alignments(
        header(premise, hypothesis), one, two, tuple(map(tuple, table)), chosen, tuple(phrases), tuple(boxes)
    )


class Reader(HTMLParser):
    """Collects tags, attributes and the text inside ``sw-text`` blocks."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[tuple[str, bool]] = []
        self.fields: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        starts = "sw-text" in (dict(attrs).get("class") or "")
        if starts:
            self.fields.append("")
        self.open.append((tag, starts))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop()[0] == tag

    def handle_data(self, data: str) -> None:
        if any(starts for _, starts in self.open):
            self.fields[-1] += data


def read(page: str) -> Reader:
    reader = Reader()
    reader.feed(page)
    reader.close()
    assert reader.open == []
    return reader


def printed(renderable: object, **options: object) -> str:
    from rich.console import Console

    out = io.StringIO()
    settings: dict[str, object] = {"file": out, "force_terminal": True, "width": 80, "color_system": "truecolor"}
    Console(**{**settings, **options}).print(renderable)  # type: ignore[arg-type]
    return out.getvalue()
