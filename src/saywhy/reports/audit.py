"""Pages of audits: what decides over a corpus, and what changed between two models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from saywhy.audits import Decider, Difference, Overview
from saywhy.display import STYLE, explanation_html
from saywhy.reports.page import template

__all__ = ["difference_page", "overview_page"]

# Rows of a table: more than this nobody reads, and the JSON has all of them.
_ROWS = 30


@dataclass(frozen=True)
class _Row:
    cells: tuple[str, ...]
    seen: tuple[str, ...] = ()
    marked: bool = False


@dataclass(frozen=True)
class _Table:
    title: str
    says: str
    columns: tuple[str, ...]
    rows: Sequence[_Row]


def overview_page(found: Overview, title: str = "") -> str:
    """The page of an overview: deciders by label, possible shortcuts, errors by what decided."""
    tables = [_shortcuts(found)]
    for label in found.labels:
        rows = [
            _Row(
                (d.text, str(d.present), str(d.decided), str(d.flipped), _effect(d),
                 str(d.wrong)),
                d.examples,
            )
            for d in found.of(label)[:_ROWS]
        ]  # fmt: skip
        columns = ("word or phrase", "texts", "decided", "flipped", "effect", "wrong")
        says = (
            "How many texts have it, in how many its removal cost the predicted label most, in how many the prediction "
            "changed without it, how much it cost in the mean, and how many of its decisions were wrong."
        )
        tables.append(_Table(f"Decides for {label}", says, columns, rows))
    if found.accuracy is not None:
        rows = [_Row((e.text, e.label, f"{e.wrong} of {e.decided}", _p(e.p_value)), e.examples) for e in found.errors]
        says = "What decided where the model was wrong; p is for so many errors at the model's usual rate."
        tables.append(_Table("Errors by what decided", says, ("word or phrase", "for", "wrong", "p"), rows[:_ROWS]))
    facts = [
        ("texts", str(found.n)),
        ("method", found.method),
        ("predicted", ", ".join(f"{label} {count}" for label, count in found.predicted.items())),
        ("accuracy", "" if found.accuracy is None else f"{found.accuracy:.3f}"),
        ("model", found.model),
        ("saywhy", found.version),
    ]
    lead = f"The words and phrases that decide what the model says about {found.n} texts."
    return _page("overview", title or f"What decides on {found.data or 'these texts'}", lead, facts, tables)


def _shortcuts(found: Overview) -> _Table:
    rows = [
        _Row(
            (c.word, "possible shortcut" if c.suspect else "", c.label, f"{c.turned} of {c.tried}", f"{c.usual:.0%}",
             _p(c.p_value), _share(c.gold)),
            marked=c.suspect,
        )
        for c in found.tried[:_ROWS]
    ]  # fmt: skip
    says = (
        "The words that decide most often were put before texts that the model judges otherwise. A word that turns far "
        "more of them than the others do needs no context."
    )
    if not found.candidates:
        says += " None does."
    columns = ("word", "", "for", "turned", "others turned", "p", "gold label where it stands")
    return _Table("Possible shortcuts", says, columns, rows)


def difference_page(found: Difference, title: str = "") -> str:
    """The page of a difference: predictions, roles of words, and texts side by side."""
    rows = [
        _Row((r.word, r.label, str(r.texts), f"{r.old:.2f}", f"{r.new:.2f}",
              f"{r.change:+.2f} [{r.low:+.2f}, {r.high:+.2f}]", _p(r.p_value)))
        for r in found.changed[:_ROWS]
    ]  # fmt: skip
    says = (
        "Mean scores of a word in the texts that have it, relative to each text's largest, and how much they changed."
        if rows
        else "No word changed its role by more than chance would have it."
    )
    columns = ("word", "for", "texts", "old", "new", "change", "p")
    facts = [
        ("texts", str(found.n)),
        ("predictions that changed", str(found.turned)),
        ("became right", str(found.mended) if found.judged else ""),
        ("became wrong", str(found.broken) if found.judged else ""),
        ("accuracy", f"{found.old_accuracy:.3f} → {found.new_accuracy:.3f}" if found.judged else ""),
        ("rank correlation of scores", "" if found.agreement is None else f"{found.agreement:.2f}"),
        ("method", found.method),
        ("old model", found.old_model),
        ("new model", found.new_model),
        ("saywhy", found.version),
    ]
    lead = "Nothing changed." if found.same else f"{found.turned} of {found.n} predictions changed."
    examples = [
        {
            "title": f"{shown.old.prediction} → {shown.new.prediction}",
            "gold": shown.gold,
            "old": Markup(explanation_html(shown.old)),
            "new": Markup(explanation_html(shown.new)),
        }
        for shown in found.examples
    ]
    tables = [_Table("Words that changed their role", says, columns, rows)]
    return _page("diff", title or f"Two models on {found.data or 'these texts'}", lead, facts, tables, examples)


def _page(
    kind: str,
    title: str,
    lead: str,
    facts: Sequence[tuple[str, str]],
    tables: Sequence[_Table],
    examples: Sequence[dict[str, Any]] = (),
) -> str:
    return template("audit.html.j2").render(
        kind=kind,
        title=title,
        lead=lead,
        facts=[(name, value) for name, value in facts if value],
        tables=tables,
        examples=examples,
        style=Markup(STYLE),
    )


def _effect(decider: Decider) -> str:
    """The effect with its interval; one text alone has none."""
    bounds = f" [{decider.low:.2f}, {decider.high:.2f}]" if decider.decided > 1 else ""
    return f"{decider.effect:.2f}{bounds}"


def _p(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.0%}"
