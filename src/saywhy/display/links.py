"""Two sentences, one above the other, with links between the phrases that were aligned."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from unicodedata import east_asian_width

from saywhy.display.parts import finite, linked_boxes, number, peak, visible
from saywhy.types import Alignments, Word

__all__ = ["links_svg"]

# Okabe and Ito's colours, which people with any kind of colour vision tell apart; numbers say the same.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#8a6d00", "#7f7f7f")
SIZE, GAP, MARGIN = 15, 7, 6
TOP, BOTTOM, HEIGHT = 20, 126, 144
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


def links_svg(explanation: Alignments) -> str:
    """The links as an inline SVG in the page's own ink; nothing where there is nothing to link, or too many words.

    Each phrase pair (or, where a method selects none, each of the strongest word pairs) has a colour and a number. The
    bands are as strong as the scores.
    """
    boxes = linked_boxes(explanation)
    if not boxes or max(len(explanation.premise), len(explanation.hypothesis)) > LONGEST:
        return ""
    above, below = _places(explanation.premise), _places(explanation.hypothesis)
    width = max(above[-1][1], below[-1][1]) + MARGIN
    top = peak([score for _, score in boxes]) or 1.0
    parts = []
    for i, ((first, last, left, right), score) in enumerate(boxes):
        colour, strength = COLOURS[i % len(COLOURS)], 0.15 + 0.35 * abs(finite(score)) / top
        a, b, c, d = above[first][0], above[last][1], below[left][0], below[right][1]
        middle = (TOP + BOTTOM) / 2
        path = (
            f"M{a:.0f} {TOP + 6}C{a:.0f} {middle:.0f} {c:.0f} {middle:.0f} {c:.0f} {BOTTOM - 17}L{d:.0f} {BOTTOM - 17}"
            f"C{d:.0f} {middle:.0f} {b:.0f} {middle:.0f} {b:.0f} {TOP + 6}Z"
        )
        phrases = " ↔ ".join(
            " ".join(w.text for w in words)
            for words in (explanation.premise[first : last + 1], explanation.hypothesis[left : right + 1])
        )
        title = f"<title>{_safe(phrases)}: {number(score)}</title>"
        at, size = (a + b + c + d) / 4, f'font-size="{SIZE - 4}"'
        parts.append(
            f'<g><path d="{path}" fill="{colour}" fill-opacity="{strength:.2f}" stroke="{colour}"/>'
            f'<path d="M{a:.0f} {TOP + 6}H{b:.0f}M{c:.0f} {BOTTOM - 17}H{d:.0f}" stroke="{colour}" stroke-width="3"/>'
            f'<text x="{at:.0f}" y="{middle + 4:.0f}" text-anchor="middle" {size} font-weight="650">{i + 1}</text>'
            f"{title}</g>"
        )
    for words, places, y in ((explanation.premise, above, TOP), (explanation.hypothesis, below, BOTTOM)):
        for word, (start, end) in zip(words, places, strict=True):
            # The text is fitted to the place that was reckoned for it, whatever font the page has.
            fit = f'textLength="{end - start:.0f}" lengthAdjust="spacingAndGlyphs"'
            parts.append(f'<text x="{start:.0f}" y="{y}" {fit}>{_safe(word.text)}</text>')
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


def _width(letter: str) -> float:
    if east_asian_width(letter) in "WF":
        return WIDE
    return WIDTHS.get(letter, CAPITAL if letter.isupper() else LETTER)


def _safe(text: str) -> str:
    return escape(visible(text))
