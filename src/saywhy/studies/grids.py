"""A study's rows as grids, methods or models by metrics, and how terminals, notebooks and LaTeX show them."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from saywhy.studies.table import Row

__all__ = ["Grid", "arrow", "grids", "grids_html", "grids_latex", "grids_rich"]

BETTER = "+"  # a row's mark
_LATEX = {c: f"\\{c}" for c in "&%$#_{}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
}
_LEGEND = "mean ± deviation over seeds, 95 % interval; + and − clearly better and worse than the baseline"


@dataclass(frozen=True)
class Grid:
    """What belongs into one table.

    Attributes:
        step: of the study's ``evaluate``.
        model: whose methods are compared; empty where the lines are models.
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

    @property
    def title(self) -> str:
        """What it is about."""
        return f"{self.model} on {self.data}" if self.model else f"models on {self.data}"

    def column(self, metric: str) -> list[Row]:
        """The rows of a metric, in the order of the lines."""
        return [row for name in self.names if (row := self.cells.get((name, metric))) is not None]

    def best(self, metric: str) -> Row | None:
        """The best row of a metric; None where there is nothing to compare."""
        rows = [row for row in self.column(metric) if math.isfinite(row.value)]
        if len(rows) < 2:
            return None
        return (max if rows[0].higher_is_better else min)(rows, key=lambda row: row.value)


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


def arrow(row: Row) -> str:
    """Which direction is better."""
    return "↑" if row.higher_is_better else "↓"


def grids_rich(rows: Sequence[Row]) -> Any:
    """Tables for a terminal."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    parts: list[Any] = []
    for grid in grids(rows):
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
                cells.append(
                    Text.assemble(
                        (f"{row.value:z.3f}", "bold" if row is grid.best(metric) else ""),
                        _spread(row),
                        (_mark(row), "bold"),
                        (f"\n[{row.low:z.3f}, {row.high:z.3f}]", "dim"),
                        ("" if row.paper is None else f"\npaper {row.paper:g}", "italic"),
                    )
                )
            table.add_row(*cells)
        parts += [Text(grid.title, style="bold"), table]
    return Group(*parts, Text(_LEGEND if parts else "nothing was measured", style="dim"))


def grids_html(rows: Sequence[Row]) -> str:
    """Tables for a notebook."""
    style = 'style="text-align:right;padding:2px 10px;white-space:nowrap"'
    parts = []
    for grid in grids(rows):
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
                value = f"<b>{row.value:z.3f}</b>" if row is grid.best(metric) else f"{row.value:z.3f}"
                bounds = f'<br><span style="opacity:.65">[{row.low:z.3f}, {row.high:z.3f}]</span>'
                paper = "" if row.paper is None else f"<br><i>paper {row.paper:g}</i>"
                cells.append(f"<td {style}>{value}{_spread(row)}<b>{_mark(row)}</b>{bounds}{paper}</td>")
            lines.append(f'<tr><th style="text-align:left">{html.escape(name)}</th>{"".join(cells)}</tr>')
        table = f"<table><thead><tr><th></th>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>"
        parts.append(f"<p><b>{html.escape(grid.title)}</b></p>{table}")
    return f"<div>{''.join(parts)}<p>{_LEGEND if parts else 'nothing was measured'}</p></div>"


def grids_latex(rows: Sequence[Row]) -> str:
    r"""Tables with ``booktabs``; the best value is bold, deviations are small, marks raised."""
    return "\n".join(_latex(grid) for grid in grids(rows))


def _latex(grid: Grid) -> str:
    lines = [
        # A comment ends with its line, so a title must not have two.
        f"% {' '.join(f'{grid.step}: {grid.title}'.split())}",
        r"\begin{tabular}{l" + "r" * len(grid.metrics) + "}",
        r"\toprule",
        " & ".join(["", *(_escape(metric) for metric in grid.metrics)]) + r" \\",
        r"\midrule",
    ]
    for name in grid.names:
        parts = [_escape(name)]
        for metric in grid.metrics:
            row = grid.cells.get((name, metric))
            if row is None:
                parts.append("--")
                continue
            number = f"{row.value:z.3f}"
            if row is grid.best(metric):
                number = rf"\textbf{{{number}}}"
            spread = rf" {{\scriptsize$\pm${row.deviation:.3f}}}" if len(row.seeds) > 1 else ""
            parts.append(f"{number}{spread}{'$^{' + row.mark + '}$' if row.mark else ''}")
        lines.append(" & ".join(parts) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])


def _escape(text: str) -> str:
    return "".join(_LATEX.get(character, character) for character in " ".join(text.split()))


def _spread(row: Row) -> str:
    return f" ±{row.deviation:.3f}" if len(row.seeds) > 1 else ""


def _mark(row: Row) -> str:
    return "" if not row.mark else " +" if row.mark == BETTER else " −"
