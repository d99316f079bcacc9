"""Two sentences, one above the other, with links between the phrases that were aligned."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from unicodedata import east_asian_width

from saywhy.display.colours import colour_of
from saywhy.display.parts import finite, links_of, number, peak, visible
from saywhy.types import Alignments, Span, Word

__all__ = ["links_svg"]

SIZE, GAP, MARGIN = 15, 7, 6
TOP, BOTTOM, HEIGHT = 20, 130, 148
# From a sentence's baseline to the links' ends: below the premise and its underlines, above the hypothesis.
BELOW, ABOVE, UNDER = 10, 17, 4
# Widths in font sizes, as sans-serif fonts mostly have them; what is not listed is a letter of middling width.
LETTER, CAPITAL, WIDE = 0.56, 0.66, 1.0
WIDTHS = {
    **dict.fromkeys("ijl.,:;'|!’", 0.27),
    **dict.fromkeys('frt()[]-/"“”', 0.38),
    **dict.fromkeys("ckszvxyJ", 0.51),
    **dict.fromkeys("mwMW@%…—", 0.86),
    "I": 0.3,
}
LONGEST = 80


def links_svg(explanation: Alignments, gold: Sequence[Span] = ()) -> str:
    """The links as an inline SVG in the page's own ink; nothing where there is nothing to link, or too many words.

    Each phrase pair (or, where a method selects none, each of the strongest word pairs) has a colour and a number. The
    bands are as strong as the scores. Words of gold spans are underlined.
    """
    links = [(link, link.box) for link in links_of(explanation) if link.box is not None]
    if not links or max(len(explanation.premise), len(explanation.hypothesis)) > LONGEST:
        return ""
    above, below = _places(explanation.premise), _places(explanation.hypothesis)
    width = max(above[-1][1], below[-1][1]) + MARGIN
    top = peak([link.score for link, _ in links]) or 1.0
    high, low, middle = TOP + BELOW, BOTTOM - ABOVE, (TOP + BOTTOM) / 2
    parts = []
    for link, (first, last, left, right) in links:
        colour, strength = colour_of(link.number), 0.15 + 0.35 * abs(finite(link.score)) / top
        a, b, c, d = above[first][0], above[last][1], below[left][0], below[right][1]
        path = (
            f"M{a:.0f} {high}C{a:.0f} {middle:.0f} {c:.0f} {middle:.0f} {c:.0f} {low}L{d:.0f} {low}"
            f"C{d:.0f} {middle:.0f} {b:.0f} {middle:.0f} {b:.0f} {high}Z"
        )
        title = f"<title>{_safe(link.text)}: {number(link.score)}</title>"
        at, font = (a + b + c + d) / 4, f'font-size="{SIZE - 4}" font-weight="650"'
        parts.append(
            f'<g><path d="{path}" fill="{colour}" fill-opacity="{strength:.2f}" stroke="{colour}"/>'
            f'<path d="M{a:.0f} {high}H{b:.0f}M{c:.0f} {low}H{d:.0f}" stroke="{colour}" stroke-width="3"/>'
            f'<text x="{at:.0f}" y="{middle + 4:.0f}" text-anchor="middle" {font}>{link.number}</text>'
            f"{title}</g>"
        )
    for words, places, y in ((explanation.premise, above, TOP), (explanation.hypothesis, below, BOTTOM)):
        for word, (start, end) in zip(words, places, strict=True):
            # The text is fitted to the place that was reckoned for it, whatever font the page has.
            fit = f'textLength="{end - start:.0f}" lengthAdjust="spacingAndGlyphs"'
            parts.append(f'<text x="{start:.0f}" y="{y}" {fit}>{_safe(word.text)}</text>')
        parts += [
            f'<path class="sw-gold" d="M{start:.0f} {y + UNDER}H{end:.0f}" stroke="currentColor" stroke-width="2"/>'
            for start, end in _underlined(words, places, gold)
        ]
    label = "links between phrases of the premise (above) and of the hypothesis (below)"
    return (
        f'<div class="sw-scroll" role="region" tabindex="0" aria-label="{label}">'
        f'<svg class="sw-links" width="{width:.0f}" height="{HEIGHT}" viewBox="0 0 {width:.0f} {HEIGHT}" '
        f'font-size="{SIZE}" fill="currentColor" role="img" aria-label="{label}">{"".join(parts)}</svg></div>'
    )


def _places(words: Sequence[Word]) -> list[tuple[float, float]]:
    """Where each word begins and ends, from the left."""
    found, at = [], float(MARGIN)
    for word in words:
        size = SIZE * max(0.27, sum(map(_width, visible(word.text))))
        found.append((at, at + size))
        at += size + GAP
    return found


def _underlined(
    words: Sequence[Word], places: Sequence[tuple[float, float]], gold: Sequence[Span]
) -> list[tuple[float, float]]:
    """From where to where lines go under words of gold spans; neighbours of one span share a line."""
    found = []
    for span in gold:
        own = [at for at, w in enumerate(words) if w.field == span.field and w.start < span.end and span.start < w.end]
        if own:
            found.append((places[own[0]][0], places[own[-1]][1]))
    return found


def _width(letter: str) -> float:
    if east_asian_width(letter) in "WF":
        return WIDE
    return WIDTHS.get(letter, CAPITAL if letter.isupper() else LETTER)


def _safe(text: str) -> str:
    return escape(visible(text))
