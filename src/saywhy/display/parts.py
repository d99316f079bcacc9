"""What the HTML and the terminal views share: cutting a text at its words, grading scores, naming fields."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from saywhy.errors import InputError
from saywhy.types import Alignments, FreeText, Header, Span, Word

__all__ = [
    "LEVELS",
    "STRONG",
    "Box",
    "Link",
    "check_lengths",
    "evolution",
    "field_names",
    "finite",
    "level_of",
    "linked_boxes",
    "links_of",
    "margins",
    "marked_names",
    "number",
    "opposed_pairs",
    "peak",
    "quoted",
    "rationale_sentence",
    "segments",
    "settles",
    "strongest",
    "strongest_pairs",
    "visible",
]

LEVELS, STRONG = 9, 6

Box = tuple[int, int, int, int]
"""First and last premise word, first and last hypothesis word."""


class Link(NamedTuple):
    """A pair of phrases as pictures show it; all of them call it by the same ``number``, which counts from 1.

    ``box`` is where it stands, and None where a phrase is not found in its text.
    """

    number: int
    text: str
    score: float
    box: Box | None


def visible(text: str) -> str:
    r"""The text with control characters as pictures, so that they reach neither an HTML parser nor a terminal.

    Keeps its length and its tabs and line breaks; lone surrogates become U+FFFD.

    Example:
        >>> visible("a\x00b")
        'a␀b'
    """
    if text.isprintable():
        return text
    return "".join(_picture(c) for c in text)


def _picture(c: str) -> str:
    code = ord(c)
    if c in "\t\n\r" or 0x1F < code < 0x7F:
        return c
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\u2421"
    return "\ufffd" if 0x80 <= code < 0xA0 or 0xD800 <= code < 0xE000 else c


def field_names(header: Header) -> tuple[str, ...]:
    """What the texts and choices are called on screen: nothing for one text, else premise, question, choice 1..."""
    if header.choices:
        return _texts(header.texts, "question") + tuple(f"choice {i + 1}" for i in range(len(header.choices)))
    if len(header.texts) == 2:
        span = "span" in header.output or header.parameters.get("task") == "span-qa"
        return ("question", "context") if span else ("premise", "hypothesis")
    return _texts(header.texts, "")


def marked_names(header: Header) -> tuple[str, ...]:
    """The same, where a choice also says how likely the model finds it and whether it is predicted or explained."""
    names = list(field_names(header))
    if header.choices and len(header.probabilities) == len(header.choices):
        first, best = len(header.texts), header.prediction.index
        for i, probability in enumerate(header.probabilities):
            names[first + i] += f" · {probability:.2f}" + (" · predicted" if i == best else "")
            names[first + i] += " · explained" if header.labels[i] == header.target else ""
    return tuple(names)


def _texts(texts: Sequence[str], only: str) -> tuple[str, ...]:
    return (only,) if len(texts) == 1 else tuple(f"text {i + 1}" for i in range(len(texts)))


def segments(
    text: str, field: int, words: Sequence[Word], gold: Sequence[Span], selected: Sequence[bool] = ()
) -> Iterator[tuple[str, int | None, bool]]:
    """Cut a text at the edges of words and gold spans; the chunks always add up to the text.

    Overlapping or misplaced words are clipped, never repeated. A gap between two selected words belongs to the first.
    """
    size = len(text)
    owner: list[tuple[int, int, int]] = []
    cursor = 0
    for at in sorted((i for i, w in enumerate(words) if w.field == field), key=lambda i: words[i].start):
        start, end = max(words[at].start, cursor), min(words[at].end, size)
        if start < end:
            if owner and selected and selected[at] and selected[owner[-1][2]] and not text[cursor:start].strip():
                owner[-1] = (owner[-1][0], start, owner[-1][2])
            owner.append((start, end, at))
            cursor = end
    lines = sorted((max(s.start, 0), min(s.end, size)) for s in gold if s.field == field and s.start < s.end)
    places = [(a, b) for a, b, _ in owner] + [(a, b) for a, b in lines if a < b]
    edges = sorted({0, size, *(edge for place in places for edge in place)})
    word, line, reach = 0, 0, 0
    for start, end in itertools.pairwise(edges):
        while word < len(owner) and owner[word][1] <= start:
            word += 1
        while line < len(lines) and lines[line][0] <= start:
            reach, line = max(reach, lines[line][1]), line + 1
        inside = word < len(owner) and owner[word][0] <= start
        yield text[start:end], owner[word][2] if inside else None, start < reach


def finite(score: float) -> float:
    """The score, or zero where it is not a number a colour can show."""
    return score if math.isfinite(score) else 0.0


def peak(scores: Sequence[float]) -> float:
    """The largest size among the scores."""
    return max((abs(finite(s)) for s in scores), default=0.0)


def level_of(score: float, top: float) -> int:
    """From -LEVELS (against) to LEVELS (for); 0 below a twentieth of the largest score."""
    share = finite(score) / top if top > 0 else 0.0
    return 0 if abs(share) < 0.05 else int(math.copysign(max(1, round(abs(share) * LEVELS)), share))


def number(score: float) -> str:
    """A score with its sign, three digits after the point unless it is tiny or huge."""
    if not math.isfinite(score):
        return str(score)
    size = abs(score)
    digits = f"{size:.3f}" if size == 0 or 0.001 <= size < 1000 else f"{size:.2e}"
    return f"{'−' if score < 0 else '+'}{digits}"


def check_lengths(words: Sequence[Word], scores: Sequence[float], selected: Sequence[bool]) -> None:
    """Raise `InputError` unless there are as many scores and flags as words, or none."""
    for what, given in (("scores", scores), ("flags", selected)):
        if len(given) not in (0, len(words)):
            raise InputError(f"{len(words)} words need as many {what}, not {len(given)}")


def quoted(text: str) -> str:
    """A word for a list of words: a mark such as a comma gets quotation marks, or it would read as punctuation."""
    return text if any(c.isalnum() for c in text) else f"“{text}”"


def strongest(words: Sequence[Word], scores: Sequence[float], k: int = 3) -> list[tuple[str, float]]:
    """The k strongest words for and the k strongest against, in that order."""
    top = peak(scores)
    order = sorted((i for i in range(len(scores)) if level_of(scores[i], top)), key=lambda i: -scores[i])
    best, worst = [i for i in order if scores[i] > 0][:k], [i for i in reversed(order) if scores[i] < 0][:k]
    return [(words[i].text, scores[i]) for i in best + worst]


def strongest_pairs(explanation: Alignments, k: int) -> list[tuple[str, float]]:
    """The k word pairs with the largest scores."""
    cells = [(i, j) for i, row in enumerate(explanation.scores) for j in range(len(row))]
    cells.sort(key=lambda c: -abs(finite(explanation.scores[c[0]][c[1]])))
    premise, hypothesis = explanation.premise, explanation.hypothesis
    return [(f"{premise[i].text} ↔ {hypothesis[j].text}", explanation.scores[i][j]) for i, j in cells[:k]]


def opposed_pairs(explanation: Alignments, k: int = 5) -> list[tuple[str, float]]:
    """Where a method gives scores only: those of the k strongest word pairs that speak against."""
    if explanation.phrases or explanation.selected:
        return []
    return [(text, score) for text, score in strongest_pairs(explanation, k) if score < 0]


def margins(explanation: Alignments) -> tuple[tuple[Word, ...], list[float]]:
    """Each word with its strongest pair."""
    rows = [max(row, key=lambda s: abs(finite(s)), default=0.0) for row in explanation.scores]
    columns = [max(column, key=lambda s: abs(finite(s))) for column in zip(*explanation.scores, strict=True)]
    return explanation.premise + explanation.hypothesis, rows + columns


def links_of(explanation: Alignments, k: int = 5) -> list[Link]:
    """What to link: the phrase pairs, or where a method gives scores only, the k strongest word pairs for."""
    premise, hypothesis = explanation.premise, explanation.hypothesis
    if explanation.phrases:
        told = [(f"{a} ↔ {b}", score) for a, b, score in explanation.phrases]
        boxes = _phrase_boxes(explanation)
        return [Link(i + 1, *one, box) for i, (one, box) in enumerate(zip(told, boxes, strict=True))]
    if explanation.selected:
        return []
    cells = [(s, i, j) for i, row in enumerate(explanation.scores) for j, s in enumerate(row) if finite(s) > 0]
    cells.sort(key=lambda cell: (-cell[0], cell[1], cell[2]))
    return [
        Link(n, f"{premise[i].text} ↔ {hypothesis[j].text}", s, (i, i, j, j))
        for n, (s, i, j) in enumerate(cells[:k], start=1)
    ]


def linked_boxes(explanation: Alignments, k: int = 5) -> list[tuple[Box, float]]:
    """The boxes of `links_of` with their scores."""
    return [(link.box, link.score) for link in links_of(explanation, k) if link.box is not None]


def _phrase_boxes(explanation: Alignments) -> list[Box | None]:
    """The box of each phrase pair: its own, or the one with the largest scores where its words are found."""
    if len(explanation.boxes) == len(explanation.phrases):
        return list(explanation.boxes)
    boxes: list[Box | None] = []
    for first, second, _ in explanation.phrases:
        places = [
            (a, b, c, d) for a, b in _runs(explanation.premise, first) for c, d in _runs(explanation.hypothesis, second)
        ]
        boxes.append(max(places, key=lambda p: _inside(explanation.scores, p), default=None))
    return boxes


def rationale_sentence(explanation: Alignments) -> str:
    """How much is selected and whether it is enough, in a sentence; nothing for scores."""
    if not explanation.selected:
        return ""
    cells = [chosen for row in explanation.selected for chosen in row]
    told = f"{sum(cells)} of {len(cells)} word pairs selected"
    if explanation.fidelity is not None and explanation.empty is not None:
        told += f"; with them alone the logits move by {explanation.fidelity:.2f} (with none: {explanation.empty:.2f})"
    if explanation.kept is not None:
        told += ", and the label is kept" if explanation.kept else ", and the label is lost"
    return told


def _inside(scores: Sequence[Sequence[float]], box: Box) -> float:
    top, bottom, left, right = box
    return sum(finite(s) for row in scores[top : bottom + 1] for s in row[left : right + 1])


def _runs(words: Sequence[Word], phrase: str) -> list[tuple[int, int]]:
    def bare(text: str) -> str:
        return "".join(c for c in text if c.isalnum()) or "".join(text.split())

    wanted, found = bare(phrase), []
    for start in range(len(words) if wanted else 0):
        grown = ""
        for end in range(start, len(words)):
            grown += bare(words[end].text)
            if grown == wanted:
                found.append((start, end))
            if len(grown) >= len(wanted):
                break
    return found


def evolution(explanation: FreeText) -> tuple[list[str], list[list[float]]]:
    """Column names (the sentence's words) and one row of probabilities a label.

    One more step than words is the distribution at the end of the sentence, two more are its start and its end; any
    other number of steps is counted.
    """
    words, steps = explanation.sentence.split(), explanation.steps
    extra = len(steps) - len(words)
    columns = {0: words, 1: [*words, "end"], 2: ["start", *words, "end"]}.get(
        extra, [str(i + 1) for i in range(len(steps))]
    )
    return columns, [list(row) for row in zip(*steps, strict=True)]


def settles(explanation: FreeText) -> str:
    """A sentence that says with which word the final label took the lead for good."""
    columns, _ = evolution(explanation)
    leads = [max(range(len(step)), key=step.__getitem__) for step in explanation.steps]
    at = len(leads) - 1
    while at and leads[at - 1] == leads[-1]:
        at -= 1
    label = explanation.header.labels[leads[-1]]
    final = f"{label} ({explanation.steps[-1][leads[-1]]:.2f})"
    where = f"step {at + 1}" if columns[at].isdigit() else f"“{columns[at]}”"
    return f"{final} from the start" if at == 0 else f"{final} leads from {where} on"
