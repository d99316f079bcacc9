"""The result of an evaluation: methods by metrics, with intervals, as data and for the eye."""

from __future__ import annotations

import html
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from saywhy.errors import OptionError
from saywhy.metrics.comparison import Comparison, Evidence, compare_results
from saywhy.types import SCHEMA, Example, Explanation, MetricResult

__all__ = ["CHANCE", "EvaluationTable", "Evidence", "notes_of"]

CHANCE = "random"


@dataclass(frozen=True)
class EvaluationTable:
    """Metric results of several methods on the same examples.

    ``table["lime", "sufficiency"]`` is one result; ``table["accuracy"]`` one of the model itself. Results of methods
    come in the order of the methods, then of the metrics; those of the model have an empty method and come first.

    Attributes:
        results: all of them.
        data: name of the dataset, or empty.
        n: number of examples.
        erasure: how words were removed.
        seed: of everything that was drawn.
        model: fingerprint of the model.
        version: of the library.
        examples: the first ones, as many as were to be kept.
        explanations: theirs, method by method.
        evidence: for each result of a method what it was computed from, so that methods can be compared.
    """

    results: tuple[MetricResult, ...]
    data: str = ""
    n: int = 0
    erasure: str = ""
    seed: int = 0
    model: str = ""
    version: str = ""
    examples: tuple[Example, ...] = field(default=(), repr=False, compare=False)
    explanations: tuple[Explanation, ...] = field(default=(), repr=False, compare=False)
    evidence: tuple[Evidence | None, ...] = field(default=(), repr=False, compare=False)

    @property
    def methods(self) -> tuple[str, ...]:
        """Names of the methods, in their order."""
        return tuple(dict.fromkeys(r.method for r in self.results if r.method))

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names of the metrics, in their order."""
        return tuple(dict.fromkeys(r.name for r in self.results))

    def __iter__(self) -> Iterator[MetricResult]:
        return iter(self.results)

    def __len__(self) -> int:
        return len(self.results)

    def __getitem__(self, key: str | tuple[str, str]) -> MetricResult:
        method, metric = ("", key) if isinstance(key, str) else key
        return self.find(method, metric)

    def find(self, method: str, metric: str, **variant: Any) -> MetricResult:
        """The one result of a method and metric, and of a variant where several were asked for.

        Raises:
            OptionError: there is none, or more than one.
        """
        found = [r for r in self.results if (r.method, r.name) == (method, metric)]
        found = [r for r in found if all(r.variant.get(k) == v for k, v in variant.items())]
        if len(found) == 1:
            return found[0]
        what = f"{metric} of {method!r}" if method else f"{metric} of the model"
        if found:
            raise OptionError(
                f"{len(found)} variants of {what}; name one, such as table.find(method, metric, score=...)"
            )
        raise OptionError(
            f"no {what} in this table; methods: {', '.join(self.methods) or 'none'}; metrics: {', '.join(self.metrics)}"
        )

    def compare(self, first: str, second: str, metric: str, **variant: Any) -> Comparison:
        """Whether a method is better than another by a metric, by the paired bootstrap over examples.

        Example:
            >>> print(table.compare("lime", "random", "sufficiency"))                # doctest: +SKIP
            sufficiency: lime is better than random by 0.040 [0.020, 0.060]
        """
        return self._compare(self.find(first, metric, **variant), self.find(second, metric, **variant))

    def comparisons(self, second: str = CHANCE, first: str | None = None) -> list[Comparison]:
        """Comparisons by all metrics: of one method, or of all others, with the second one."""
        for name in (second, *([first] if first is not None else [])):
            if name not in self.methods:
                raise OptionError(f"no method {name!r} in this table; there are {', '.join(self.methods) or 'none'}")
        made = []
        for _, cell in self._columns():
            for method, result in cell.items():
                wanted = method != second and first in (None, method)
                # A metric of pairs of methods has compared them already.
                if wanted and second in cell and second not in result.bins:
                    made.append(self._compare(result, cell[second]))
        return made

    def _compare(self, first: MetricResult, second: MetricResult) -> Comparison:
        known = {id(r): e for r, e in zip(self.results, self.evidence, strict=False)}
        a, b = known.get(id(first)), known.get(id(second))
        return compare_results(first, second, None if a is None or b is None else (a, b))

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        facts = {name: getattr(self, name) for name in ("data", "n", "erasure", "seed", "model", "version")}
        return {
            "kind": "evaluation",
            "schema": SCHEMA,
            **facts,
            "results": [r.to_dict() for r in self.results],
            "comparisons": [c.to_dict() for c in self._against_chance],
        }

    def to_json(self, indent: int | None = None) -> str:
        """The same as a string."""
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=indent)

    def __str__(self) -> str:
        lines = [f"{r.method + ': ' if r.method else ''}{r}" for r in self.results]
        return "\n".join([self._title(), *lines, *map(str, self._against_chance)])

    def __rich__(self) -> Any:
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        columns = self._columns()
        table = Table()
        table.add_column("method")
        for label, _ in columns:
            table.add_column(label, justify="right")
        for method in self.methods:
            cells = [Text(method)]
            for _, cell in columns:
                result = cell.get(method)
                cells.append(
                    Text("")
                    if result is None
                    else Text.assemble(
                        (f"{result.value:z.3f}", "bold" if result is _best(cell) else ""),
                        (f" [{result.low:z.3f}, {result.high:z.3f}]", "dim"),
                    )
                )
            table.add_row(*cells)
        parts: list[Any] = [
            Text(self._title(), style="bold"),
            *([table] if self.methods else []),
            Text(self._caption()),
        ]
        return Group(*parts)

    def _repr_html_(self) -> str:
        columns = self._columns()
        cell_style = 'style="text-align:right;padding:2px 10px;white-space:nowrap"'
        head = "".join(f"<th {cell_style}>{html.escape(label)}</th>" for label, _ in columns)
        rows = []
        for method in self.methods:
            cells = []
            for _, cell in columns:
                result = cell.get(method)
                if result is None:
                    cells.append("<td></td>")
                    continue
                value = f"{result.value:z.3f}"
                value = f"<b>{value}</b>" if result is _best(cell) else value
                bounds = f'<span style="opacity:.65">[{result.low:z.3f}, {result.high:z.3f}]</span>'
                cells.append(f"<td {cell_style}>{value} {bounds}</td>")
            rows.append(f'<tr><th style="text-align:left">{html.escape(method)}</th>{"".join(cells)}</tr>')
        body = f"<table><thead><tr><th></th>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>" if rows else ""
        caption = html.escape(self._caption()).replace("\n", "<br>")
        return f"<div><p><b>{html.escape(self._title())}</b></p>{body}<p>{caption}</p></div>"

    def _title(self) -> str:
        return f"{self.data or 'evaluation'}: {self.n} example{'s' * (self.n != 1)}"

    def _caption(self) -> str:
        """Results of the model, then what a reader must know about the numbers."""
        lines = [f"{r} {_arrow(r)}" for r in self.results if not r.method]
        if self.methods:
            levels = sorted({f"{r.variant['level']:.0%}" for r in self.results if "level" in r.variant})
            lines.append(
                f"↑ higher is better, ↓ lower is better; {', '.join(levels)} bootstrap intervals over examples"
            )
        if any(r.erasure for r in self.results):
            lines.append(f"erasure: {self.erasure}")
        lines += notes_of(self.results)
        lines += [str(comparison) for comparison in self._against_chance]
        return "\n".join(lines)

    @cached_property
    def _against_chance(self) -> list[Comparison]:
        return self.comparisons() if CHANCE in self.methods else []

    def _columns(self) -> list[tuple[str, dict[str, MetricResult]]]:
        """Labels and results by method; variants of one metric are told apart by the options in which they differ."""
        cells: dict[tuple[str, str], dict[str, MetricResult]] = {}
        for r in self.results:
            if r.method:
                cells.setdefault((r.name, json.dumps(r.variant, sort_keys=True, default=str)), {})[r.method] = r
        columns = []
        for (name, _), cell in cells.items():
            first = next(iter(cell.values()))
            others = [next(iter(c.values())) for (n, _), c in cells.items() if n == name]
            differing = {k: v for k, v in first.variant.items() if any(o.variant.get(k) != v for o in others)}
            detail = ", ".join(f"{k}={v}" for k, v in differing.items())
            columns.append((f"{name}{f' ({detail})' if detail else ''} {_arrow(first)}", cell))
        return columns


def notes_of(results: Sequence[MetricResult]) -> list[str]:
    """What the metrics want the reader to know, said once for all methods it is true of."""
    about: dict[tuple[str, str], list[str]] = {}
    for result in results:
        for note in result.notes:
            about.setdefault((result.name, note), []).append(result.method)
    return [
        f"{name}{' of ' + ', '.join(filter(None, methods)) if any(methods) else ''}: {note}"
        for (name, note), methods in about.items()
    ]


def _arrow(result: MetricResult) -> str:
    return "↑" if result.higher_is_better else "↓"


def _best(cell: dict[str, MetricResult]) -> MetricResult | None:
    """The result to print in bold, where there are several."""
    if len(cell) < 2:
        return None
    return max(cell.values(), key=lambda r: r.value if r.higher_is_better else -r.value)
