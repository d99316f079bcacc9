"""Explanations as coloured words on a terminal.

Two mid-tones that read on black and on white alike carry the sign; bold (for) and underline (against) carry it where
there is no colour. A console with sixteen colours gets white on blue and black on yellow.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from saywhy.display.alignments import Palette, linked_sentences, listed_links, matrix
from saywhy.display.lines import dim, line
from saywhy.display.parts import (
    LEVELS,
    STRONG,
    check_lengths,
    evolution,
    finite,
    level_of,
    links_of,
    margins,
    marked_names,
    number,
    peak,
    quoted,
    rationale_sentence,
    segments,
    settles,
    strongest,
    visible,
)
from saywhy.display.verdict import judgement, verdict_sentences
from saywhy.types import Alignments, Example, Explanation, FreeText, Header, Rationale, Span, Word, WordScores

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions
    from rich.text import Text

__all__ = ["example_rich", "explanation_rich"]

MEDIUM = 3
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
            yield dim(f"{sum(explanation.selected)} of {len(levels)} words selected")
        elif isinstance(explanation, Alignments):
            yield from _alignments(explanation, names, options.max_width, rich_colours)
        elif isinstance(explanation, FreeText):
            yield from _fields(fields, names, (), (), rich_colours)
            yield line(f"“{explanation.sentence}”", "bold")
            yield from _evolution(explanation)
        for sentence in verdict_sentences(explanation):
            yield line(sentence)
        if explanation.verdict is not None:
            # The one that says no is the one that must be seen.
            style = "bold" if explanation.verdict.better else "bold italic"
            yield line(f"→ {judgement(explanation)}", style)
        for note in header.notes:
            yield line(f"note: {note}", "italic")


@dataclass(frozen=True)
class _Gold:
    example: Example

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        example = self.example
        header = Header("", str(example.label), (), (), example.texts, example.choices)
        yield line(f"{example.label}" if example.label is not None else "no label", "bold")
        spans = [span for marked in example.rationales for span in marked] + list(example.answers)
        yield from _fields(example.fields, marked_names(header), (), (), True, gold=spans)
        for sentence in example.explanations:
            yield dim(f"because: {sentence}")


def _headline(header: Header) -> Text:
    made = line(header.method, "bold")
    made.append(visible(f" for {header.target}" + (f" against {header.against}" if header.against else "")))
    if header.probabilities:
        made.append(visible(f" · model says {header.prediction}"))
    return made


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
            yield dim(names[field])
        made = line()
        for chunk, at, is_gold in segments(text, field, words, gold, selected):
            made.append(
                visible(chunk), style=_style(levels[at] if at is not None and levels else 0, rich_colours, is_gold)
            )
        yield made


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
        return dim("no word stands out")
    pros = ", ".join(f"{quoted(t)} {number(s)}" for t, s in items if s >= 0)
    cons = ", ".join(f"{quoted(t)} {number(s)}" for t, s in items if s < 0)
    return dim("; ".join(filter(None, [pros and f"for: {pros}", cons and f"against: {cons}"])))


def _alignments(explanation: Alignments, names: Sequence[str], width: int, rich_colours: bool) -> Iterator[Text]:
    links, palette = links_of(explanation), Palette(rich_colours)
    if any(link.box for link in links):
        yield from linked_sentences(explanation, names, links, palette)
    else:
        words, strength = margins(explanation)
        levels = [level_of(s, peak(strength)) for s in strength]
        yield from _fields(explanation.header.texts + explanation.header.choices, names, words, levels, rich_colours)
    yield from matrix(explanation, links, width, palette)
    yield from listed_links(explanation, links, palette)
    if told := rationale_sentence(explanation):
        yield dim(told)


def _evolution(explanation: FreeText) -> Iterator[Text]:
    if not explanation.steps:
        return
    _, by_label = evolution(explanation)
    width = max(len(label) for label in explanation.header.labels)
    for label, row in zip(explanation.header.labels, by_label, strict=True):
        bars = "".join(STEPS[min(len(STEPS) - 1, max(0, int(finite(p) * len(STEPS))))] for p in row)
        yield line(f"{label:>{width}} {bars} {row[-1]:.2f}")
    yield dim(settles(explanation))
