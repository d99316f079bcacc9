"""Parts with names that metrics have, such as an attack's queries: over seeds, as tables, as columns and in LaTeX."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from saywhy.studies.grids import latex_escape

if TYPE_CHECKING:
    from saywhy.studies.table import Row

__all__ = ["Part", "PartsGrid", "part_columns", "parts_grids", "parts_latex"]


@dataclass(frozen=True)
class Part:
    """A part over seeds.

    Attributes:
        value: the mean, in three decimals.
        spread: the deviation, empty for one seed.
    """

    value: str
    spread: str


@dataclass(frozen=True)
class PartsGrid:
    """The parts of one metric on one dataset.

    Attributes:
        step: of the study's ``evaluate``.
        data: the dataset.
        metric: title of the metric.
        names: the parts; the columns.
        lines: models and methods, each with its parts in the order of the names; None where it has none.
    """

    step: str
    data: str
    metric: str
    names: tuple[str, ...]
    lines: tuple[tuple[str, tuple[Part | None, ...]], ...]

    @property
    def title(self) -> str:
        """What it is about."""
        return f"{self.metric} on {self.data}"


def parts_grids(rows: Sequence[Row]) -> list[PartsGrid]:
    """A table for each step, dataset and metric whose bins are parts.

    A model and method is a line, with means over seeds. Where no seed has all the parts, seeds are not alike: a model
    that is compared with those of the other seeds has other parts in each. Then every seed is a line of its own, and
    the table is the matrix of the starts.
    """
    groups: dict[tuple[str, str, str], list[Row]] = {}
    for row in rows:
        if row.bins_are == "parts":
            groups.setdefault((row.step, row.data, row.metric), []).append(row)
    made = []
    for (step, data, metric), members in groups.items():
        names = list(dict.fromkeys(name for row in members for name in row.bins))
        if any(map(_apart, members)):
            names.sort(key=_numbers_apart)  # each seed lacks another one, so that none has the order of all
        lines = [line for row in members for line in _lines(row, names)]
        made.append(PartsGrid(step, data, metric, tuple(names), tuple(lines)))
    return made


def _lines(row: Row, names: Sequence[str]) -> list[tuple[str, tuple[Part | None, ...]]]:
    title = " · ".join(filter(None, (row.model, row.method)))
    seeds = {name: row.bins.get(name, {}) for name in names}
    if not _apart(row):
        return [(title, tuple(_part(list(seeds[name].values())) for name in names))]
    return [
        (f"{title} · seed {seed}", tuple(_part([seeds[name][seed]] if seed in seeds[name] else []) for name in names))
        for seed in row.seeds
    ]


def _apart(row: Row) -> bool:
    """Whether no seed has all the parts."""
    return not any(all(seed in values for values in row.bins.values()) for seed in row.seeds)


def _part(values: Sequence[float]) -> Part | None:
    if not values:
        return None
    mean, deviation = _summary(values)
    return Part(f"{mean:z.3f}", f"{deviation:.3f}" if len(values) > 1 else "")


def _summary(values: Sequence[float]) -> tuple[float, float]:
    """Mean and standard deviation; 0 for one value."""
    return float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else 0.0


def _numbers_apart(name: str) -> list[tuple[float, str]]:
    """A key to sort by in which ``seed 10`` comes after ``seed 2``."""
    return [(float(part), "") if part.isdecimal() else (-1.0, part) for part in re.split(r"(\d+)", name)]


def part_columns(rows: Sequence[Row]) -> list[dict[str, float | None]]:
    """More columns for a table of all rows: mean and deviation of each part, and its values of the seeds.

    They are ``part_NAME``, ``part_NAME_deviation`` and ``part_NAME_seed_N``; None where a row has no such part.
    """
    with_parts = [row for row in rows if row.bins_are == "parts"]
    names = list(dict.fromkeys(name for row in with_parts for name in row.bins))
    seeds = list(dict.fromkeys(seed for row in with_parts for seed in row.seeds))
    made = []
    for row in rows:
        columns: dict[str, float | None] = {}
        for name in names:
            values = row.bins.get(name, {}) if row.bins_are == "parts" else {}
            mean, deviation = _summary(list(values.values())) if values else (None, None)
            columns |= {f"part_{name}": mean, f"part_{name}_deviation": deviation}
            columns |= {f"part_{name}_seed_{seed}": values.get(seed) for seed in seeds}
        made.append(columns)
    return made


def parts_latex(rows: Sequence[Row]) -> str:
    r"""Tables with ``booktabs``: models and methods by parts; deviations are small."""
    return "\n".join(map(_latex, parts_grids(rows)))


def _latex(grid: PartsGrid) -> str:
    lines = [
        f"% {' '.join(f'{grid.step}: parts of {grid.title}'.split())}",
        r"\begin{tabular}{l" + "r" * len(grid.names) + "}",
        r"\toprule",
        " & ".join(["", *map(latex_escape, grid.names)]) + r" \\",
        r"\midrule",
        *(" & ".join([latex_escape(title), *map(_latex_part, parts)]) + r" \\" for title, parts in grid.lines),
    ]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])


def _latex_part(part: Part | None) -> str:
    if part is None:
        return "--"
    return part.value + (rf" {{\scriptsize$\pm${part.spread}}}" if part.spread else "")
