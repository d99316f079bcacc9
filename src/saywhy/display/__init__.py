"""Explanations as a person sees them: a fragment of HTML for notebooks and pages, coloured words for terminals.

Colours are blue (for) and orange (against), normalised by the largest score of the explanation, and never the only
carrier. The text between the words stays as the user gave it.
"""

from __future__ import annotations

from saywhy.display.fragment import STYLE, explanation_html, safe, words_html
from saywhy.display.parts import field_names, marked_names, number, visible
from saywhy.display.terminal import example_rich, explanation_rich
from saywhy.display.verdict import judgement, verdict_sentences

__all__ = [
    "STYLE",
    "example_rich",
    "explanation_html",
    "explanation_rich",
    "field_names",
    "judgement",
    "marked_names",
    "number",
    "safe",
    "verdict_sentences",
    "visible",
    "words_html",
]
