"""Prepare docstrings for the documentation site: sections that its parser does not know become Markdown.

The site's parser knows ``Examples:`` but not ``Example:``, and would read ``>>>`` as a quotation. Options of explainers
and metrics stand under ``Options:``, which becomes a list.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

__all__ = ["Sections"]

_OPTIONS = re.compile(r"^Options:\n((?:[ ]{4}.*(?:\n|\Z)|\n(?=[ ]{4}))+)", re.MULTILINE)
_OPTION = re.compile(r"^[ ]{4}(\w+): ", re.MULTILINE)


class Sections(griffe.Extension):
    """A griffe extension that rewrites the sections of every docstring."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Called for each module, class, function and attribute that was read."""
        if obj.docstring is not None:
            obj.docstring.value = prepare(obj.docstring.value)


def prepare(text: str) -> str:
    r"""A docstring with its sections as the site's parser and Markdown read them.

    Example:
        >>> prepare("Options:\n    size: how many.\n        At least 1.\n")
        '**Options**\n\n- `size`: how many.\n    At least 1.\n'
    """
    text = re.sub(r"^Example:$", "Examples:", text, flags=re.MULTILINE)
    return _OPTIONS.sub(_as_list, text)


def _as_list(found: re.Match[str]) -> str:
    lines = _OPTION.sub(r"- `\1`: ", found[1]).split("\n")
    return "**Options**\n\n" + "\n".join(line[4:] if line.startswith("        ") else line for line in lines)
