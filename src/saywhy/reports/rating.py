"""The page on which people rate explanations: opens offline, tells nothing of the methods, hands out its answers.

It runs one script, its own, which the page's content security policy names by its hash; without it the page can still
be printed and filled in by hand.
"""

from __future__ import annotations

import base64
import hashlib
from typing import TYPE_CHECKING, Any

import jinja2
from markupsafe import Markup

from saywhy.display import STYLE, field_names, safe, words_html
from saywhy.display.parts import margins, strongest_pairs
from saywhy.reports.page import template
from saywhy.types import Alignments, Explanation, FreeText, Rationale, WordScores

if TYPE_CHECKING:
    from saywhy.studies.rating import Sheet

__all__ = ["rating_page"]

_PAIRS = 5


def rating_page(sheet: Sheet) -> str:
    """A sheet as one HTML file."""
    loader = jinja2.PackageLoader("saywhy.reports")
    script = loader.get_source(jinja2.Environment(), "rating.js")[0]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return template("rating.html.j2").render(
        sheet=sheet,
        style=Markup(STYLE),
        script=Markup(script),
        digest=Markup(digest),
        groups=[
            [{"code": item.code, "target": item.why.target, "shown": _blind_html(item.why)} for item in group]
            for group in sheet.inputs
        ],
        signed=any(isinstance(i.why, WordScores) and min(i.why.scores, default=0.0) < 0 for i in sheet.items),
    )


def _blind_html(why: Explanation) -> Markup:
    """An explanation without anything that tells its method: no name, no parameters, no absolute numbers."""
    header = why.header
    fields, names = header.texts + header.choices, field_names(header)
    if isinstance(why, WordScores):
        shown = words_html(fields, why.words, _relative(why.scores), names=names)
    elif isinstance(why, Rationale):
        shown = words_html(fields, why.words, selected=why.selected, names=names)
    elif isinstance(why, Alignments):
        words, strength = margins(why)
        pairs = "".join(f"<li>{safe(name)}</li>" for name, _ in strongest_pairs(why, _PAIRS))
        shown = words_html(fields, words, _relative(strength), names=names) + f'<ul class="pairs">{pairs}</ul>'
    elif isinstance(why, FreeText):
        shown = words_html(fields, names=names) + f'<p class="sw-quote">{safe(why.sentence)}</p>'
    else:
        shown = words_html(fields, names=names)
    return Markup(f'<div class="saywhy">{shown}</div>')


def _relative(scores: Any) -> tuple[float, ...]:
    """Shares of the strongest: how large a method's numbers are would give it away."""
    top = max((abs(score) for score in scores), default=0.0) or 1.0
    return tuple(round(score / top, 2) for score in scores)
