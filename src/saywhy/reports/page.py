"""One HTML file that opens offline: explanations on a page, or a whole report of a model.

The page runs no script and fetches nothing; its own content security policy forbids both. Every text of the user is
escaped.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from saywhy.display import STYLE, explanation_html, field_names, visible, words_html
from saywhy.errors import InputError, OptionError
from saywhy.metrics.table import notes_of
from saywhy.reports import svg
from saywhy.reports.bins import AXES, parts_tables, plot_row
from saywhy.reports.legend import method_sentence, metric_sentence
from saywhy.reports.table import arrange, findings
from saywhy.types import Example, Explanation, Header, MetricResult, Span

__all__ = [
    "Report",
    "Shown",
    "duration",
    "examples_page",
    "explanations_page",
    "report",
    "shown_parts",
    "template",
    "write_page",
]

CARD_ORDER = ("task", "labels", "architecture", "data", "accuracy", "fingerprint", "version", "seed", "time")


@dataclass(frozen=True)
class Shown:
    """One input with its explanations, side by side, and what is known about its true reasons."""

    example: Example
    explanations: tuple[Explanation, ...] = ()


@dataclass(frozen=True)
class Report:
    """Everything a report says, before it becomes a page.

    Args:
        title: heading of the page.
        card: facts about the model: labels, architecture, data, accuracy, fingerprint, version, seed, time. A value may
            be a string, a number, a sequence, or a `MetricResult`, which is shown with its interval.
        examples: inputs with their explanations.
        results: metric results; those without a method belong to the model and join the card.
        summary: a sentence or two under the title.
        notes: what the reader should know, such as texts that were cut.
        sentences: explanations of metrics and methods that replace the built-in ones.
        created: when it was made; left out where empty.
    """

    title: str
    card: Mapping[str, Any] = field(default_factory=dict)
    examples: tuple[Shown, ...] = ()
    results: tuple[MetricResult, ...] = ()
    summary: str = ""
    notes: tuple[str, ...] = ()
    sentences: Mapping[str, str] = field(default_factory=dict)
    created: str = ""

    def to_html(self) -> str:
        """The page as a string."""
        methods, rows = arrange(self.results)
        used = dict.fromkeys([*methods, *(e.method for s in self.examples for e in s.explanations)])
        drawn = [(axis, [(row, Markup(plot_row(row, methods, axis))) for row in rows]) for axis in AXES]
        known = dict.fromkeys((row.name, row.family) for row in rows)
        return template("page.html.j2").render(
            report=self,
            style=Markup(STYLE),
            card=self._card(),
            examples=[shown_parts(shown) for shown in self.examples],
            methods=methods,
            rows=rows,
            findings=findings(rows),
            level=_level(self.results),
            result_notes=notes_of(self.results),
            plots=[(row, Markup(svg.dots(row))) for row in rows if len(row.results()) > 1],
            binned=[(axis, shown) for axis, plots in drawn if (shown := [(row, plot) for row, plot in plots if plot])],
            parts=parts_tables(self.results),
            swatches=[(method, Markup(svg.series_swatch(i))) for i, method in enumerate(methods)],
            metric_legend=[(n, self.sentences.get(n) or metric_sentence(n, f)) for n, f in known],
            method_legend=[(n, self.sentences.get(n) or method_sentence(n)) for n in used],
        )

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Write the page; a reader never sees half of it."""
        return write_page(path, self.to_html())

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {
            "kind": "report",
            "schema": 1,
            "title": self.title,
            "card": {str(k): v.to_dict() if isinstance(v, MetricResult) else _plain(v) for k, v in self.card.items()},
            "examples": [
                {"example": _plain(asdict(s.example)), "explanations": [e.to_dict() for e in s.explanations]}
                for s in self.examples
            ],
            "results": [r.to_dict() for r in self.results],
            "summary": self.summary,
            "notes": list(self.notes),
            "sentences": dict(self.sentences),
            "created": self.created,
        }

    def _card(self) -> list[tuple[str, str]]:
        facts: dict[str, Any] = {k: self.card[k] for k in CARD_ORDER if k in self.card}
        facts |= {str(k): v for k, v in self.card.items() if k not in facts}
        facts |= {r.name: r for r in self.results if not r.method and not isinstance(facts.get(r.name), str)}
        return [(name, _fact(name, value)) for name, value in facts.items() if value not in (None, "", (), [])]


def report(
    title: str,
    *,
    card: Mapping[str, Any] | None = None,
    explanations: Sequence[Explanation] = (),
    examples: Sequence[Example] = (),
    results: Sequence[MetricResult] = (),
    summary: str = "",
    notes: Sequence[str] = (),
    sentences: Mapping[str, str] | None = None,
) -> Report:
    """Gather a report from plain results.

    Explanations of the same input are put side by side in the order of their first appearance; an example with the same
    texts gives the input its label and its gold spans.

    Example:
        >>> page = report("Demo", card={"labels": ["negative", "positive"]})
        >>> page.write("report.html")                       # doctest: +SKIP
    """
    known = {(e.texts, e.choices): e for e in examples}
    groups: dict[tuple[tuple[str, ...], tuple[str, ...]], list[Explanation]] = {}
    for explanation in explanations:
        groups.setdefault((explanation.header.texts, explanation.header.choices), []).append(explanation)
    shown = tuple(
        Shown(known.get(key) or Example(texts=key[0], choices=key[1]), tuple(group)) for key, group in groups.items()
    )
    now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    return Report(title, dict(card or {}), shown, tuple(results), summary, tuple(notes), dict(sentences or {}), now)


def explanations_page(explanations: Sequence[Explanation], title: str = "Why the model says so") -> str:
    """A page with explanations only, for one input or many."""
    if not explanations:
        raise InputError("there is nothing to show: give at least one explanation")
    return report(title, explanations=explanations).to_html()


def examples_page(examples: Sequence[Example], title: str, facts: Mapping[str, Any] | None = None) -> str:
    """A page that shows examples of a dataset with their gold spans, and facts about it."""
    return Report(title, dict(facts or {}), tuple(Shown(e) for e in examples)).to_html()


def write_page(path: str | os.PathLike[str], html: str) -> Path:
    """Write a page under a temporary name, then rename it; makes missing folders."""
    target = Path(path)
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            part.write_text(html, encoding="utf-8", newline="\n")
            os.replace(part, target)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        raise OptionError(f"cannot write {target}: {error.strerror}; choose another place for the page") from error
    return target


@cache
def template(name: str) -> jinja2.Template:
    """A template of this package; every text that goes into it is escaped."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("saywhy.reports"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=lambda value: visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value,
    )
    return environment.get_template(name)


def _level(results: Sequence[MetricResult]) -> str:
    levels = {float(r.variant.get("level", 0.95)) for r in results if r.method}
    return f"{100 * levels.pop():g} % " if len(levels) == 1 else ""


def shown_parts(shown: Shown) -> dict[str, Any]:
    """What the template needs to know about one input."""
    example = shown.example
    gold = tuple(dict.fromkeys(span for marked in example.rationales for span in marked)) + example.answers
    header = shown.explanations[0].header if shown.explanations else None
    said = header.prediction if header is not None and header.probabilities else None
    label, right = _label(example), None
    if said is not None and example.label is not None and not example.answers:
        wanted = said.index if isinstance(example.label, int) else said.label
        right = example.label == wanted
    return {
        "id": example.id,
        "source": example.where() if example.source else "",
        "label": label,
        "said": said,
        "right": right,
        "truth": example.truth and bool(gold),
        "gold": bool(gold),
        "kinds": sorted({e.kind for e in shown.explanations}),
        "sentences": example.explanations,
        "bare": "" if shown.explanations else Markup(f'<div class="saywhy">{_bare(example, gold)}</div>'),
        "fragments": [Markup(explanation_html(e, gold=gold, compact=True)) for e in shown.explanations],
    }


def _bare(example: Example, gold: Sequence[Span]) -> str:
    names = field_names(Header("", "", (), (), example.texts, example.choices))
    return words_html(example.fields, gold=gold, names=names)


def _label(example: Example) -> str:
    if isinstance(example.label, int) and 0 <= example.label < len(example.choices):
        return f"choice {example.label + 1}: {example.choices[example.label]}"
    return "" if example.label is None else str(example.label)


def _fact(name: str, value: Any) -> str:
    if isinstance(value, MetricResult):
        return f"{value.value:z.3f} [{value.low:z.3f}, {value.high:z.3f}], n = {value.n}"
    if isinstance(value, Mapping):
        return ", ".join(f"{k}: {_fact(str(k), v)}" for k, v in value.items())
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(_fact(name, v) for v in value)
    if isinstance(value, float):
        return duration(value) if name.endswith("time") else f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) and name in ("parameters", "examples") else str(value)


def duration(seconds: float) -> str:
    """A time for people."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)
