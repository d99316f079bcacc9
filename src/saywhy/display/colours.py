"""Colours of phrase pairs, the same in every picture: a link, its box and its number are seen to belong together."""

from __future__ import annotations

__all__ = ["COLOURS", "colour_of", "ink_on", "luminance"]

# After Okabe and Ito, whose colours people with any kind of colour vision tell apart; sky blue and orange are darkened,
# yellow and black replaced, so that lines have a contrast of 3 or more on white and on black. Numbers say the same.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#3a97cc", "#bf8400", "#8f5fc0", "#7f7f7f")


def colour_of(number: int) -> str:
    """The colour of a phrase pair by its number, which counts from 1; the ninth has the first again.

    Example:
        >>> colour_of(1), colour_of(9) == colour_of(1)
        ('#0072b2', True)
    """
    return COLOURS[(number - 1) % len(COLOURS)]


def luminance(colour: str) -> float:
    """Relative luminance of ``#rrggbb``, from 0 (black) to 1 (white), as WCAG 2 defines it."""
    shares = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in shares)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def ink_on(colour: str) -> str:
    """Black or white, whichever reads better on a colour; the contrast is 4.5 or more.

    Example:
        >>> ink_on("#0072b2"), ink_on("#cc79a7")
        ('#ffffff', '#000000')
    """
    light = luminance(colour)
    return "#ffffff" if 1.05 / (light + 0.05) >= (light + 0.05) / 0.05 else "#000000"
