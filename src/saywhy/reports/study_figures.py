"""The plots of a study: bars, sweeps, bins over their axes, training curves and heat maps."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from saywhy.reports import svg
from saywhy.reports.bins import Axis, plot_bins
from saywhy.studies import Row, StudyResult, StudyTable
from saywhy.studies.gains import relative_gains

__all__ = ["Figure", "bar_figures", "bin_figures", "gain_figures", "map_figures", "sweep_figures", "training_figures"]

TOGETHER = 6  # models in one plot
POINTS = 60  # of a line; more would only make the page heavy
_NO_VALUES = frozenset({"step", "epoch"})

Points = tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Figure:
    """A plot.

    Attributes:
        title: its metric.
        about: model and dataset.
        plot: the SVG.
        keys: names of its series and how they are drawn, where there is more than one.
        higher: which direction is better; None where that is no question.
        papers: whether it shows a paper's values.
    """

    title: str
    about: str
    plot: Markup
    keys: tuple[tuple[str, Markup], ...] = ()
    higher: bool | None = None
    papers: bool = False


def bar_figures(table: StudyTable) -> list[Figure]:
    """For each dataset and metric the methods, models side by side; then the models' own metrics."""
    groups: dict[tuple[str, str, str], dict[str, list[Row]]] = {}
    for row in table.rows:
        groups.setdefault((row.step, row.data, row.metric), {}).setdefault(row.model, []).append(row)
    made = []
    for (_, data, metric), by_model in groups.items():
        own = [row for rows in by_model.values() for row in rows if not row.method]
        if len(own) > 1:
            made.append(_bars(metric, data, [(row.model, [row]) for row in own], []))
        of_methods = {model: rows for model, rows in by_model.items() if any(row.method for row in rows)}
        for models in _batches(list(of_methods)):
            names = list(dict.fromkeys(row.method for model in models for row in of_methods[model] if row.method))
            lines = [(n, [r for m in models for r in of_methods[m] if r.method == n]) for n in names]
            if sum(len(rows) for _, rows in lines) > 1:
                about = data if len(models) > 1 else f"{models[0]} on {data}"
                made.append(_bars(metric, about, lines, models))
    return made


def _bars(metric: str, about: str, lines: Sequence[tuple[str, Sequence[Row]]], models: Sequence[str]) -> Figure:
    several = len(models) > 1
    bars = [
        (
            name,
            [
                svg.Bar(
                    f"{name}, {row.model}" if several else name,
                    row.value,
                    row.low,
                    row.high,
                    models.index(row.model) if several else 0,
                    row.paper,
                )
                for row in rows
            ],
        )
        for name, rows in lines
    ]
    rows = [row for _, group in lines for row in group]
    plot = Markup(svg.bars(f"{metric}, {about}", bars))
    papers = any(row.paper is not None for row in rows)
    return Figure(metric, about, plot, _keys(models) if several else (), rows[0].higher_is_better, papers)


def sweep_figures(table: StudyTable) -> list[Figure]:
    """A line for each method over the values of an option that was swept."""
    methods = list(dict.fromkeys(row.method for row in table.rows if row.method))
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in table.rows:
        for key, value in row.variant.items():
            if _is_number(value):
                # Models that differ in this option only have the same title without its value.
                base = row.model.replace(f"{key}={value}", str(key))
                kind = "method" if row.method else ""
                groups.setdefault((row.step, base, row.data, row.metric, str(key), kind), []).append(row)
    made = []
    for (_, base, data, metric, key, _), rows in groups.items():
        values = sorted({float(row.variant[key]) for row in rows})
        if len(values) < 2:
            continue
        lines = []
        for name in dict.fromkeys(row.method for row in rows):
            mine = sorted((row for row in rows if row.method == name), key=lambda row: float(row.variant[key]))
            points = tuple((float(values.index(float(row.variant[key]))), row.value) for row in mine)
            spans = tuple((row.low, row.high) for row in mine)
            lines.append(svg.Line(name or metric, points, methods.index(name) if name else 0, spans))
        about = f"{base} on {data}"
        plot = svg.lines(f"{metric} by {key}, {about}", lines, places=[f"{v:g}" for v in values], under=key)
        keys = tuple((line.name, Markup(svg.series_swatch(line.series))) for line in lines) if len(lines) > 1 else ()
        made.append(Figure(metric, about, Markup(plot), keys, rows[0].higher_is_better))
    return made


def bin_figures(table: StudyTable, axis: Axis) -> list[Figure]:
    """The metrics whose bins belong to an axis, means over seeds; one line a method.

    Where every model has one method only, it is the models that are compared, and each has a line in one plot.
    """
    groups: dict[tuple[str, str, str], dict[str, list[Row]]] = {}
    for row in table.rows:
        if axis.holds(row.bins_are, row.bins):
            groups.setdefault((row.step, row.data, row.metric), {}).setdefault(row.model, []).append(row)
    methods = {key: list(dict.fromkeys(row.method for row in rows)) for key, rows in table.groups().items()}
    made = []
    for (step, data, _), by_model in groups.items():
        if len(by_model) > 1 and all(len(rows) == 1 for rows in by_model.values()):
            same = len({row.method for (row,) in by_model.values()}) == 1
            for models in _batches(list(by_model)):
                alone = [row for model in models for row in by_model[model]]
                names = [row.model if same else f"{row.model} · {row.method}" for row in alone]
                made.append(_bins(axis, data, list(zip(names, range(len(names)), alone, strict=True))))
            continue
        for model, rows in by_model.items():
            order = methods[step, model, data]
            lines = [(row.method or model, order.index(row.method), row) for row in rows]
            made.append(_bins(axis, f"{model} on {data}", lines))
    return made


def _bins(axis: Axis, about: str, lines: Sequence[tuple[str, int, Row]]) -> Figure:
    first = lines[0][2]
    shown = [(name, number, _mean_bins(row)) for name, number, row in lines]
    plot = Markup(plot_bins(f"{first.metric}, {about},", shown, axis))
    keys = tuple((name, Markup(svg.series_swatch(number))) for name, number, _ in lines)
    return Figure(first.metric, about, plot, keys, None if axis.counts else first.higher_is_better)


def _mean_bins(row: Row) -> dict[str, float]:
    """The mean of every bin that all seeds have."""
    shared = {key: values for key, values in row.bins.items() if len(values) == len(row.seeds)}
    return {key: sum(values.values()) / len(values) for key, values in shared.items()}


def training_figures(result: StudyResult) -> list[Figure]:
    """What was logged in training, the mean over seeds in front of the seeds themselves."""
    found: dict[tuple[str, str], dict[str, list[list[tuple[float, float]]]]] = {}
    for cell in result.plan.cells:
        if cell.kind == "train" and cell.name in result.results:
            for name, points in _logged(result.results[cell.name].get("log", ())).items():
                logs = found.setdefault((cell.facts["step"], name), {})
                logs.setdefault(cell.facts["model"], []).append(points)
    made = []
    for (step, name), by_model in found.items():
        for models in _batches(list(by_model)):
            lines = []
            for number, model in enumerate(models):
                seeds = by_model[model]
                if len(seeds) > 1:
                    lines += [svg.Line(model, _thin(points), number, bare=True) for points in seeds]
                lines.append(svg.Line(model, _thin(_means(seeds)), number))
            about = step if len(models) > 1 or len(by_model) > 1 else models[0]
            plot = Markup(svg.lines(f"{name} in training, {about}", lines, under="step"))
            made.append(Figure(name, about, plot, _keys(models) if len(models) > 1 else ()))
    return made


def gain_figures(result: StudyResult) -> list[Figure]:
    """What each model gains or loses in each metric, in proportion to the model that the study names for it."""
    gains = relative_gains(result.table, result.study.gains)
    if not gains.metrics:
        return []
    plot = svg.heat("average relative gain", _own_parts(gains.models), gains.metrics, gains.values)
    told = ", ".join(f"{metric}: {model}" for metric, model in result.study.gains.items())
    return [Figure("average relative gain", f"against, for {told}", Markup(plot), higher=True)]


def map_figures(result: StudyResult) -> list[Figure]:
    """The heat maps that trainings reported, such as IvRA's coefficients; of the first seed of each model."""
    made, seen = [], set()
    for cell in result.plan.cells:
        found = result.results.get(cell.name, {}).get("report", {}).get("maps", {})
        for title, drawn in found.items():
            about = str(cell.facts["model"])
            if (about, title) not in seen:
                seen.add((about, title))
                plot = svg.heat(title, drawn["rows"], drawn["columns"], drawn["values"], middle=drawn["middle"])
                made.append(Figure(title, f"{about}, seed {cell.facts['seed']}", Markup(plot)))
    return made


def _own_parts(titles: Sequence[str]) -> list[str]:
    """What tells titles such as ``step (option=value)`` apart, where they all begin alike."""
    parts = [title.rpartition("=") for title in titles]
    if {start for start, _, _ in parts} == {""} or len({start for start, _, _ in parts}) > 1:
        return list(titles)
    return [value.removesuffix(")") for _, _, value in parts]


def _logged(log: Sequence[Mapping[str, Any]]) -> dict[str, list[tuple[float, float]]]:
    found: dict[str, list[tuple[float, float]]] = {}
    for entry in log:
        for name, value in entry.items():
            if name not in _NO_VALUES and _is_number(value) and "step" in entry:
                found.setdefault(name, []).append((float(entry["step"]), float(value)))
    return found


def _means(seeds: Sequence[Sequence[tuple[float, float]]]) -> Points:
    """The mean at every x that all seeds have."""
    tables = [dict(points) for points in seeds]
    shared = sorted(set(tables[0]).intersection(*tables[1:]))
    return tuple((float(x), sum(table[x] for table in tables) / len(tables)) for x in shared)


def _thin(points: Sequence[tuple[float, float]]) -> Points:
    stride = -(-len(points) // POINTS)
    kept = list(points[:: max(1, stride)])
    return tuple(kept if not points or kept[-1] == points[-1] else [*kept, points[-1]])


def _keys(names: Sequence[str]) -> tuple[tuple[str, Markup], ...]:
    return tuple((name, Markup(svg.series_swatch(i))) for i, name in enumerate(names))


def _batches(names: Sequence[str]) -> Iterator[tuple[str, ...]]:
    rest = iter(names)
    while batch := tuple(itertools.islice(rest, TOGETHER)):
        yield batch


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
