"""Explanations as coloured words on a terminal.

Two mid-tones that read on black and on white alike carry the sign; bold (for) and underline (against) carry it where
there is no colour. A console with sixteen colours gets white on blue and black on yellow.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from saywhy.display.parts import (
    LEVELS,
    STRONG,
    check_lengths,
    evolution,
    finite,
    level_of,
    margins,
    marked_names,
    number,
    peak,
    quoted,
    rationale_sentence,
    segments,
    settles,
    strongest,
    strongest_pairs,
    visible,
)
from saywhy.display.verdict import judgement, verdict_sentences
from saywhy.types import Alignments, Example, Explanation, FreeText, Header, Rationale, Span, Word, WordScores

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions
    from rich.text import Text

__all__ = ["example_rich", "explanation_rich"]

MEDIUM = 3
SHADES = " ·░▒▓█"
STEPS = "▁▂▃▄▅▆▇█"


def explanation_rich(explanation: Explanation) -> _Terminal:
    """One explanation as a rich renderable; it looks at the console's colours only when it is printed.

    Example:
        >>> from rich.console import Console
        >>> Console().print(explanation_rich(why))          # doctest: +SKIP
    """
    return _Terminal(explanation)


def example_rich(example: Example) -> _Gold:
    """One example of a dataset as a rich renderable, its gold spans marked."""
    return _Gold(example)


@dataclass(frozen=True)
class _Terminal:
    explanation: Explanation

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        rich_colours = console.color_system in ("256", "truecolor")
        explanation = self.explanation
        header = explanation.header
        fields, names = header.texts + header.choices, marked_names(header)
        yield _headline(header)
        if isinstance(explanation, WordScores):
            top = peak(explanation.scores)
            levels = [level_of(s, top) for s in explanation.scores]
            yield from _fields(fields, names, explanation.words, levels, rich_colours)
            yield _listed(strongest(explanation.words, explanation.scores))
        elif isinstance(explanation, Rationale):
            levels = [LEVELS if chosen else 0 for chosen in explanation.selected]
            yield from _fields(fields, names, explanation.words, levels, rich_colours, explanation.selected)
            yield _dim(f"{sum(explanation.selected)} of {len(levels)} words selected")
        elif isinstance(explanation, Alignments):
            words, strength = margins(explanation)
            levels = [level_of(s, peak(strength)) for s in strength]
            yield from _fields(fields, names, words, levels, rich_colours)
            yield from _matrix(explanation, options.max_width)
            phrases = [(f"{a} ↔ {b}", s) for a, b, s in explanation.phrases]
            pairs = phrases or ([] if explanation.selected else strongest_pairs(explanation, 5))
            yield _dim("pairs: " + (", ".join(f"{text} {number(score)}" for text, score in pairs) or "none"))
            if told := rationale_sentence(explanation):
                yield _dim(told)
        elif isinstance(explanation, FreeText):
            yield from _fields(fields, names, (), (), rich_colours)
            yield _text(f"“{explanation.sentence}”", "bold")
            yield from _evolution(explanation)
        for sentence in verdict_sentences(explanation):
            yield _text(sentence)
        if explanation.verdict is not None:
            # The one that says no is the one that must be seen.
            style = "bold" if explanation.verdict.better else "bold italic"
            yield _text(f"→ {judgement(explanation)}", style)
        for note in header.notes:
            yield _text(f"note: {note}", "italic")


@dataclass(frozen=True)
class _Gold:
    example: Example

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        example = self.example
        header = Header("", str(example.label), (), (), example.texts, example.choices)
        yield _text(f"{example.label}" if example.label is not None else "no label", "bold")
        spans = [span for marked in example.rationales for span in marked] + list(example.answers)
        yield from _fields(example.fields, marked_names(header), (), (), True, gold=spans)
        for sentence in example.explanations:
            yield _dim(f"because: {sentence}")


def _text(text: str, style: str = "") -> Text:
    from rich.text import Text

    return Text(visible(text), style=style, overflow="fold")


def _dim(text: str) -> Text:
    return _text(text, "dim")


def _headline(header: Header) -> Text:
    line = _text(header.method, "bold")
    line.append(visible(f" for {header.target}" + (f" against {header.against}" if header.against else "")))
    if header.probabilities:
        line.append(visible(f" · model says {header.prediction}"))
    return line


def _fields(
    fields: Sequence[str],
    names: Sequence[str],
    words: Sequence[Word],
    levels: Sequence[int],
    rich_colours: bool,
    selected: Sequence[bool] = (),
    gold: Sequence[Span] = (),
) -> Iterator[Text]:
    check_lengths(words, levels, selected)
    for field, text in enumerate(fields):
        if names[field]:
            yield _dim(names[field])
        line = _text("")
        for chunk, at, is_gold in segments(text, field, words, gold, selected):
            line.append(
                visible(chunk), style=_style(levels[at] if at is not None and levels else 0, rich_colours, is_gold)
            )
        yield line


def _style(level: int, rich_colours: bool, is_gold: bool) -> str:
    if is_gold:
        return "bold underline"
    size, mark = abs(level), "bold" if level > 0 else "underline"
    if size < MEDIUM:
        return ""
    if not rich_colours:
        colour = "" if size < STRONG else "white on blue" if level > 0 else "black on yellow"
    elif size < STRONG:
        # Luminance 0.18: contrast above 4.5 on black and on white.
        colour = "rgb(31,119,208)" if level > 0 else "rgb(190,90,0)"
    else:
        colour = f"rgb(255,255,255) on {'rgb(31,119,208)' if level > 0 else 'rgb(190,90,0)'}"
    return f"{mark} {colour}".strip() if size >= STRONG else colour


def _listed(items: Sequence[tuple[str, float]]) -> Text:
    if not items:
        return _dim("no word stands out")
    pros = ", ".join(f"{quoted(t)} {number(s)}" for t, s in items if s >= 0)
    cons = ", ".join(f"{quoted(t)} {number(s)}" for t, s in items if s < 0)
    return _dim("; ".join(filter(None, [pros and f"for: {pros}", cons and f"against: {cons}"])))


def _matrix(explanation: Alignments, width: int) -> Iterator[Text]:
    """Premise words down, hypothesis words across by number, shaded by size; nothing where it would not fit."""
    names = [visible(w.text) for w in explanation.premise]
    label = max(map(len, names), default=0)
    if not names or label + 3 * len(explanation.hypothesis) + 1 > width or len(names) > 60:
        return
    top = peak([s for row in explanation.scores for s in row])
    yield _text(" " * label + "".join(f"{j + 1:>3}" for j in range(len(explanation.hypothesis))), "dim")
    for i, (name, row) in enumerate(zip(names, explanation.scores, strict=True)):
        # Selected pairs are black on any terminal; the others say how near they were.
        chosen = explanation.selected[i] if explanation.selected else ()
        marks = [" ██" if chosen and chosen[j] else _shade(s / 2 if chosen else s, top) for j, s in enumerate(row)]
        yield _text(f"{name:>{label}} " + "".join(marks))
    yield _dim("  ".join(f"{j + 1} {w.text}" for j, w in enumerate(explanation.hypothesis)))


def _shade(score: float, top: float) -> str:
    share = abs(finite(score)) / top if top > 0 else 0.0
    mark = SHADES[round(share * (len(SHADES) - 1))] * 2
    return ("-" if score < 0 and share >= 0.05 else " ") + mark


def _evolution(explanation: FreeText) -> Iterator[Text]:
    if not explanation.steps:
        return
    _, by_label = evolution(explanation)
    width = max(len(label) for label in explanation.header.labels)
    for label, row in zip(explanation.header.labels, by_label, strict=True):
        bars = "".join(STEPS[min(len(STEPS) - 1, max(0, int(finite(p) * len(STEPS))))] for p in row)
        yield _text(f"{label:>{width}} {bars} {row[-1]:.2f}")
    yield _dim(settles(explanation))
