"""Lines of a terminal, made of text that is harmless there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from saywhy.display.parts import visible

if TYPE_CHECKING:
    from rich.text import Text

__all__ = ["dim", "line"]


def line(text: str = "", style: str = "") -> Text:
    """A line in a style; long words are folded, control characters are shown as pictures."""
    from rich.text import Text

    return Text(visible(text), style=style, overflow="fold")


def dim(text: str) -> Text:
    """A line that stands back."""
    return line(text, "dim")
