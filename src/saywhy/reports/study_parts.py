"""What the page of a study says in words and tables: overview, findings, what ran, the legend."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from saywhy.reports.legend import method_sentence, metric_sentence
from saywhy.reports.page import duration
from saywhy.studies import Row, StudyResult
from saywhy.studies.grids import Grid

__all__ = ["Overview", "changed", "legend", "overviews", "ran", "short", "study_notes"]

LEVELS = 9
NAMED = 4  # things that a sentence lists by name


@dataclass(frozen=True)
class Overview:
    """All methods by all metrics of a step, on all models and datasets.

    Attributes:
        step: of the study's ``evaluate``.
        heads: title of each grid, and how many columns it has.
        columns: the metrics and the directions in which they are better.
        lines: name of a method, and for each column its row and how good it is there, 0 to 9.
    """

    step: str
    heads: tuple[tuple[str, int], ...]
    columns: tuple[tuple[str, bool], ...]
    lines: tuple[tuple[str, tuple[tuple[Row | None, int], ...]], ...]


def overviews(found: list[Grid]) -> list[Overview]:
    """One for each step that has methods to compare."""
    made = []
    for step in dict.fromkeys(grid.step for grid in found):
        mine = [grid for grid in found if grid.step == step and grid.model]
        names = dict.fromkeys(name for grid in mine for name in grid.names)
        pairs = [(grid, metric) for grid in mine for metric in grid.metrics]
        if len(names) < 2 or len(pairs) < 2:
            continue
        lines = []
        for name in names:
            rows = [(grid.cells.get((name, metric)), grid.column(metric)) for grid, metric in pairs]
            lines.append((name, tuple((row, _level(row, column)) for row, column in rows)))
        heads = tuple((grid.title, len(grid.metrics)) for grid in mine)
        columns = tuple((metric, grid.column(metric)[0].higher_is_better) for grid, metric in pairs)
        made.append(Overview(step, heads, columns, tuple(lines)))
    return made


def _level(row: Row | None, column: list[Row]) -> int:
    values = [r.value for r in column if math.isfinite(r.value)]
    if row is None or not math.isfinite(row.value) or max(values) == min(values):
        return 0
    share = (row.value - min(values)) / (max(values) - min(values))
    return round(LEVELS * (share if row.higher_is_better else 1 - share))


def short(found: list[Grid], baseline: str) -> list[tuple[str, str]]:
    """For each metric of methods: who is best how often, and who is not clearly better than the baseline."""
    columns: dict[str, list[tuple[Grid, list[Row]]]] = {}
    for grid in found:
        for metric in grid.metrics if grid.model else ():
            if grid.best(metric) is not None:
                columns.setdefault(metric, []).append((grid, grid.column(metric)))
    said = []
    for metric, tables in columns.items():
        best = [row for grid, _ in tables if (row := grid.best(metric)) is not None]
        total = len(tables)
        if total == 1:
            lead = f"{best[0].method} is best with {best[0].value:z.3f}."
        else:
            counts = Counter(row.method for row in best).most_common()
            lead = "Best: " + ", ".join(f"{name} in {count} of {total} tables" for name, count in counts) + "."
        judged = [row for _, rows in tables for row in rows if row.difference is not None]
        weak = Counter(row.method for row in judged if row.mark != "+")
        if weak:
            names = ", ".join(n if total == 1 else f"{n} ({c} of {total})" for n, c in weak.most_common())
            lead += f" Not clearly better than {baseline}: {names}."
        elif judged:
            lead += f" Every method is clearly better than {baseline}."
        said.append((metric, lead))
    return said


def changed(moved: list[Grid]) -> list[tuple[str, str]]:
    """For each metric: what is clearly better, and what clearly worse, than the same of the reference model."""
    columns: dict[str, list[tuple[str, Row]]] = {}
    for grid in moved:
        for (name, metric), row in grid.cells.items():
            columns.setdefault(metric, []).append((f"{name} on {row.data}", row))
    against = " or ".join(dict.fromkeys(grid.reference for grid in moved))
    said = []
    for metric, rows in columns.items():
        parts = []
        for mark, told in (("+", "better"), ("-", "worse")):
            names = [name for name, row in rows if row.change_mark == mark]
            if names:
                which = f": {', '.join(names)}" if len(names) <= NAMED else ""
                parts.append(f"clearly {told} in {len(names)} of {len(rows)}{which}")
        none = "no clear change" + f" in any of {len(rows)}" * (len(rows) > 1)
        lead = f"Against {against}: {'; '.join(parts) or none}."
        said.append((metric, lead))
    return said


def ran(result: StudyResult) -> list[dict[str, Any]]:
    """Every cell: what it was, how long it took, on what, and whether it was there already."""
    made = []
    for cell in result.plan.cells:
        if cell.name not in result.results:
            continue
        found = result.results[cell.name]
        machine, seconds = found.get("machine", {}), float(found.get("seconds", math.nan))
        made.append(
            {
                "name": cell.name,
                "kind": cell.kind,
                "title": cell.title,
                "seed": cell.facts.get("seed", 0),
                "seconds": seconds,
                "time": duration(seconds) if math.isfinite(seconds) else "",
                "threads": cell.environment.get("threads", ""),
                "versions": ", ".join(f"{k} {v}" for k, v in cell.environment.items() if k != "threads"),
                "machine": _machine(machine),
                "reused": _older(result.folder / "cells" / cell.name / "result.json", result.folder / "study.json"),
            }
        )
    return made


def _machine(facts: Mapping[str, Any]) -> str:
    order = (("system", "{}"), ("processors", "{} processors"), ("python", "Python {}"))
    return ", ".join(form.format(facts[key]) for key, form in order if facts.get(key))


def _older(file: Path, start: Path) -> bool:
    """Whether a cell was finished before this run of the study began, which is when the study's own file is written."""
    try:
        return file.stat().st_mtime_ns < start.stat().st_mtime_ns
    except FileNotFoundError:
        return False


def study_notes(result: StudyResult) -> list[tuple[str, list[str]]]:
    """What the metrics want the reader to know, by model and dataset; said once for all methods and seeds."""
    found: dict[str, dict[tuple[str, str], dict[str, None]]] = {}
    for cell, entry in _entries(result):
        for note in entry["result"].get("notes", ()):
            about = found.setdefault(f"{cell.facts['model']} on {cell.facts['data']}", {})
            about.setdefault((entry["metric"], note), {})[entry["method"]] = None
    return [
        (title, [f"{metric}{_of(methods)}: {note}" for (metric, note), methods in notes.items()])
        for title, notes in found.items()
    ]


def _of(methods: Mapping[str, None]) -> str:
    named = [name for name in methods if name]
    return f" of {', '.join(named)}" if named else ""


def legend(result: StudyResult) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """A sentence for each metric and for each method, by the titles of the study."""
    metrics: dict[str, str] = {}
    for _, entry in _entries(result):
        measured = entry["result"]
        sentence = metric_sentence(measured["name"], measured.get("family", ""))
        metrics[entry["metric"]] = _with_name(entry["metric"], measured["name"], {}, sentence)
    methods: dict[str, str] = {}
    for step in result.study.evaluate.values():
        for one in step.methods:
            methods[one.title] = _with_name(one.title, one.name, one.options, method_sentence(one.name))
    return list(metrics.items()), list(methods.items())


def _with_name(title: str, name: str, options: Mapping[str, Any], sentence: str) -> str:
    told = ", ".join(f"{key} {value}" for key, value in options.items())
    known = "" if title == name else name
    extra = " with ".join(part for part in (known, told) if part) if known else told
    return f"{sentence} ({extra})" if extra else sentence


def _entries(result: StudyResult) -> Iterator[tuple[Any, Mapping[str, Any]]]:
    for cell in result.plan.cells:
        if cell.kind == "evaluate":
            for entry in result.results.get(cell.name, {}).get("results", ()):
                yield cell, entry
