"""How a page shows the bins of metrics: by what the metric says they are, over an axis of their own or as parts."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from saywhy.metrics.base import bin_kind
from saywhy.reports import svg
from saywhy.reports.table import Row, arrange
from saywhy.types import MetricResult

__all__ = ["AXES", "Axis", "PartsTable", "parts_tables", "plot_bins", "plot_row"]

MODEL = "the model"


@dataclass(frozen=True)
class Axis:
    """A kind of bins that is drawn, and the section of a page where its plots stand.

    Attributes:
        kind: one of `saywhy.metrics.base.BIN_KINDS`.
        id: of the section.
        heading: of the section.
        said: what its plots show.
        at: what is told of a metric in the words for those who hear the plot.
        under: what the axis counts.
    """

    kind: str
    id: str
    heading: str
    said: str
    at: str
    under: str

    @property
    def counts(self) -> bool:
        """Whether heights are shares of the examples, so that higher is neither better nor worse."""
        return self.kind == "histogram"

    def holds(self, kind: str, names: Collection[str]) -> bool:
        """Whether bins of a kind are drawn over this axis; those of a rationale, which has one size only, are not."""
        return kind == self.kind and len(names) > 1 and all(map(_is_number, names))


AXES = (
    Axis(
        "shares",
        "curves",
        "More and fewer words",
        "How the score moves as more of the most important words are kept or taken away",
        "at each share of words",
        "share of words",
    ),
    Axis(
        "thresholds",
        "thresholds",
        "Lower and higher thresholds",
        "How the value moves as the threshold rises",
        "at each threshold",
        "threshold",
    ),
    Axis(
        "histogram",
        "histograms",
        "How the examples are spread",
        "The share of the examples whose value lies in each range",
        "as a histogram",
        "value",
    ),
)


def plot_bins(title: str, shown: Sequence[tuple[str, int, Mapping[str, float]]], axis: Axis) -> str:
    """A plot over an axis.

    Args:
        title: the metric, for those who hear the plot.
        shown: name, number (for colour and mark) and bins of each line.
        axis: that holds all these bins.
    """
    keys = sorted({float(key) for _, _, bins in shown for key in bins})
    middle = 0.5 if axis.counts else 0.0  # of a range, between its ends
    lines = [
        svg.Line(name, tuple(sorted((keys.index(float(key)) + middle, v) for key, v in bins.items())), number)
        for name, number, bins in shown
    ]
    places = [f"{100 * key:g}%" if axis.kind == "shares" else f"{key:g}" for key in keys]
    if axis.counts:
        places.append(f"{2 * keys[-1] - keys[-2]:g}")
    return svg.lines(f"{title} {axis.at}", lines, places=places, under=axis.under, steps=axis.counts)


def plot_row(row: Row, methods: Sequence[str], axis: Axis) -> str:
    """The bins of a metric on the page of an evaluation, one line a method; empty where none belong to this axis."""
    shown = [
        (cell.method, methods.index(cell.method), cell.result.bins)
        for cell in row.cells
        if cell.result and axis.holds(bin_kind(cell.result.name, cell.result.bins_are), cell.result.bins)
    ]
    return plot_bins(row.title, shown, axis) if shown else ""


@dataclass(frozen=True)
class PartsTable:
    """The named parts of one metric.

    Attributes:
        title: the metric.
        columns: names of the parts.
        lines: for each method, or for the model, its numbers in the order of the columns; None where it has none.
    """

    title: str
    columns: tuple[str, ...]
    lines: tuple[tuple[str, tuple[float | None, ...]], ...]


def parts_tables(results: Sequence[MetricResult]) -> list[PartsTable]:
    """A table for each metric of methods or of the model whose bins are parts."""
    own = [replace(r, method=MODEL) for r in results if not r.method]
    made = []
    for row in (*arrange(own)[1], *arrange(results)[1]):
        found = [
            (c.method, c.result.bins)
            for c in row.cells
            if c.result and c.result.bins and bin_kind(c.result.name, c.result.bins_are) == "parts"
        ]
        columns = tuple(dict.fromkeys(name for _, bins in found for name in bins))
        if columns:
            lines = tuple((method, tuple(bins.get(name) for name in columns)) for method, bins in found)
            made.append(PartsTable(row.title, columns, lines))
    return made


def _is_number(key: str) -> bool:
    try:
        return math.isfinite(float(key))
    except ValueError:
        return False
