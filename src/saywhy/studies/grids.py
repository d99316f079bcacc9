"""A study's rows as grids, methods or models by metrics, and how terminals, notebooks and LaTeX show them."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from saywhy.studies.table import Row

__all__ = [
    "Grid",
    "Number",
    "arrow",
    "change_grids",
    "grids",
    "grids_html",
    "grids_latex",
    "grids_rich",
    "latex_escape",
]

BETTER = "+"  # a row's mark
_LATEX = {c: f"\\{c}" for c in "&%$#_{}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
}
_LEGEND = "mean ± deviation over seeds, 95 % interval; + and − clearly better and worse than the baseline"
_CHANGES = "; of changes, than the model they are from"


@dataclass(frozen=True)
class Number:
    """What stands in one place of a grid.

    Attributes:
        value: the number itself, in three decimals; of a change with its sign.
        spread: the deviation over seeds, empty for one seed and for changes.
        mark: ``+``, ``-`` or nothing.
        low: lower bound of the interval.
        high: upper bound.
        paper: the paper's value, empty where there is none.
    """

    value: str
    spread: str
    mark: str
    low: str
    high: str
    paper: str


@dataclass(frozen=True)
class Grid:
    """What belongs into one table.

    Attributes:
        step: of the study's ``evaluate``.
        model: whose methods are compared; empty where the lines are models.
        reference: where the numbers are changes, the model they are changes from.
        data: the dataset.
        names: methods, or models; the lines.
        metrics: the columns.
        cells: rows of the study's table by name and metric.
    """

    step: str
    model: str
    data: str
    names: tuple[str, ...]
    metrics: tuple[str, ...]
    cells: Mapping[tuple[str, str], Row]
    reference: str = ""

    @property
    def title(self) -> str:
        """What it is about."""
        if self.reference:
            return f"changes from {self.reference} on {self.data}"
        return f"{self.model} on {self.data}" if self.model else f"models on {self.data}"

    def column(self, metric: str) -> list[Row]:
        """The rows of a metric, in the order of the lines."""
        return [row for name in self.names if (row := self.cells.get((name, metric))) is not None]

    def best(self, metric: str) -> Row | None:
        """The best row of a metric; None where there is nothing to compare, and for changes."""
        rows = [row for row in self.column(metric) if math.isfinite(row.value)]
        if len(rows) < 2 or self.reference:
            return None
        return (max if rows[0].higher_is_better else min)(rows, key=lambda row: row.value)

    def number(self, row: Row) -> Number:
        """What is shown of a row."""
        if self.reference and row.change is not None:
            # With the sign of a bound that rounds to zero: it says on which side it is.
            value, low, high = (f"{number:+.3f}" for number in row.change)
            return Number(value, "", row.change_mark, low, high, "")
        spread = f"{row.deviation:.3f}" if len(row.seeds) > 1 else ""
        paper = "" if row.paper is None else f"{row.paper:g}"
        return Number(f"{row.value:z.3f}", spread, row.mark, f"{row.low:z.3f}", f"{row.high:z.3f}", paper)


def grids(rows: Sequence[Row]) -> list[Grid]:
    """Methods by metrics for each step, model and dataset; then the models' own metrics for each step and dataset."""
    groups: dict[tuple[bool, str, str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((not row.method, row.step, row.model if row.method else "", row.data), []).append(row)
    made = []
    for (_, step, model, data), members in sorted(groups.items(), key=lambda item: item[0][0]):
        names = tuple(dict.fromkeys(row.method or row.model for row in members))
        metrics = tuple(dict.fromkeys(row.metric for row in members))
        made.append(Grid(step, model, data, names, metrics, {(r.method or r.model, r.metric): r for r in members}))
    return made


def change_grids(rows: Sequence[Row]) -> list[Grid]:
    """Models and methods by metrics for each step, reference and dataset: how far each is from the reference."""
    groups: dict[tuple[bool, str, str, str], list[Row]] = {}
    for row in rows:
        if row.change is not None:
            groups.setdefault((not row.method, row.step, row.reference, row.data), []).append(row)
    made = []
    for (_, step, reference, data), members in sorted(groups.items(), key=lambda item: item[0][0]):
        cells = {(" · ".join(filter(None, (row.model, row.method))), row.metric): row for row in members}
        names = tuple(dict.fromkeys(name for name, _ in cells))
        metrics = tuple(dict.fromkeys(row.metric for row in members))
        made.append(Grid(step, "", data, names, metrics, cells, reference))
    return made


def arrow(row: Row) -> str:
    """Which direction is better."""
    return "↑" if row.higher_is_better else "↓"


def grids_rich(rows: Sequence[Row]) -> Any:
    """Tables for a terminal."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    parts: list[Any] = []
    for grid in _all(rows):
        table = Table()
        table.add_column("method" if grid.model else "model")
        for metric in grid.metrics:
            table.add_column(Text(f"{metric} {arrow(grid.column(metric)[0])}"), justify="right")
        for name in grid.names:
            cells = [Text(name)]
            for metric in grid.metrics:
                row = grid.cells.get((name, metric))
                if row is None:
                    cells.append(Text(""))
                    continue
                number = grid.number(row)
                cells.append(
                    Text.assemble(
                        (number.value, "bold" if row is grid.best(metric) else ""),
                        f" ±{number.spread}" if number.spread else "",
                        (_mark(number), "bold"),
                        (f"\n[{number.low}, {number.high}]", "dim"),
                        (f"\npaper {number.paper}" if number.paper else "", "italic"),
                    )
                )
            table.add_row(*cells)
        parts += [Text(grid.title, style="bold"), table]
    return Group(*parts, Text(_legend(rows), style="dim"))


def grids_html(rows: Sequence[Row]) -> str:
    """Tables for a notebook."""
    style = 'style="text-align:right;padding:2px 10px;white-space:nowrap"'
    parts = []
    for grid in _all(rows):
        head = "".join(
            f"<th {style}>{html.escape(metric)} {arrow(grid.column(metric)[0])}</th>" for metric in grid.metrics
        )
        lines = []
        for name in grid.names:
            cells = []
            for metric in grid.metrics:
                row = grid.cells.get((name, metric))
                if row is None:
                    cells.append("<td></td>")
                    continue
                number = grid.number(row)
                value = f"<b>{number.value}</b>" if row is grid.best(metric) else number.value
                spread = f" ±{number.spread}" if number.spread else ""
                bounds = f'<br><span style="opacity:.65">[{number.low}, {number.high}]</span>'
                paper = f"<br><i>paper {number.paper}</i>" if number.paper else ""
                cells.append(f"<td {style}>{value}{spread}<b>{_mark(number)}</b>{bounds}{paper}</td>")
            lines.append(f'<tr><th style="text-align:left">{html.escape(name)}</th>{"".join(cells)}</tr>')
        table = f"<table><thead><tr><th></th>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>"
        parts.append(f"<p><b>{html.escape(grid.title)}</b></p>{table}")
    return f"<div>{''.join(parts)}<p>{html.escape(_legend(rows))}</p></div>"


def grids_latex(rows: Sequence[Row]) -> str:
    r"""Tables with ``booktabs``; the best value is bold, deviations are small, marks raised."""
    return "\n".join(_latex(grid) for grid in _all(rows))


def _latex(grid: Grid) -> str:
    lines = [
        # A comment ends with its line, so a title must not have two.
        f"% {' '.join(f'{grid.step}: {grid.title}'.split())}",
        r"\begin{tabular}{l" + "r" * len(grid.metrics) + "}",
        r"\toprule",
        " & ".join(["", *(latex_escape(metric) for metric in grid.metrics)]) + r" \\",
        r"\midrule",
    ]
    for name in grid.names:
        parts = [latex_escape(name)]
        for metric in grid.metrics:
            row = grid.cells.get((name, metric))
            if row is None:
                parts.append("--")
                continue
            number = grid.number(row)
            value = rf"\textbf{{{number.value}}}" if row is grid.best(metric) else number.value
            spread = rf" {{\scriptsize$\pm${number.spread}}}" if number.spread else ""
            parts.append(f"{value}{spread}{'$^{' + number.mark + '}$' if number.mark else ''}")
        lines.append(" & ".join(parts) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])


def _all(rows: Sequence[Row]) -> list[Grid]:
    return [*grids(rows), *change_grids(rows)]


def _legend(rows: Sequence[Row]) -> str:
    if not rows:
        return "nothing was measured"
    return _LEGEND + _CHANGES * any(row.change is not None for row in rows)


def latex_escape(text: str) -> str:
    """Text that LaTeX shows as it is, in one line."""
    return "".join(_LATEX.get(character, character) for character in " ".join(text.split()))


def _mark(number: Number) -> str:
    return "" if not number.mark else " +" if number.mark == BETTER else " −"
