"""The table of a study: every number over seeds, with its deviation, its interval and a mark."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saywhy.metrics.base import bin_kind
from saywhy.studies.grids import grids_html, grids_latex, grids_rich
from saywhy.studies.parts import part_columns, parts_latex
from saywhy.studies.plan import Plan

__all__ = ["Row", "StudyTable", "make_table"]

SAMPLES = 2000
LEVEL = 0.95
BETTER, WORSE = "+", "-"

_Seeds = Mapping[int, Mapping[str, Any]]


@dataclass(frozen=True)
class Row:
    """One number: a metric of a method (or of the model) on a dataset, over seeds.

    Attributes:
        step: of the study's ``evaluate``.
        model: title of the model; ``variant`` has what was swept.
        data: title of the dataset.
        method: title of the method, empty for metrics of the model.
        metric: title of the metric.
        value: mean over seeds.
        deviation: standard deviation over seeds; 0 for one.
        low: lower bound of the interval, by a bootstrap over seeds and, within them, over examples.
        high: its upper bound.
        mark: ``+`` or ``-`` where it is clearly better or worse than the baseline method, by a paired bootstrap.
        difference: from the baseline, with its interval; None where there is none.
        reference: the model this one is compared with, behind the method where that is another (`attention of plain`);
            empty where there is none.
        change: from the reference to this one, with its interval: the same metric on the same data, by the same method
            or by its counterpart, example by example where all examples count for both.
        change_mark: ``+`` or ``-`` where it is clearly better or worse than the reference.
        seeds: the values of the seeds, by seed.
        n: examples.
        higher_is_better: direction.
        paper: the paper's value, if it has one.
        bins: more numbers of the metric by name, each by seed; a seed may lack some.
        bins_are: what they are, one of `saywhy.metrics.base.BIN_KINDS`; empty where there are none.
    """

    step: str
    model: str
    data: str
    method: str
    metric: str
    value: float
    deviation: float
    low: float
    high: float
    n: int
    higher_is_better: bool
    mark: str = ""
    difference: tuple[float, float, float] | None = None
    reference: str = ""
    change: tuple[float, float, float] | None = None
    change_mark: str = ""
    seeds: Mapping[str, float] = field(default_factory=dict)
    variant: Mapping[str, Any] = field(default_factory=dict)
    paper: float | None = None
    bins: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    bins_are: str = ""


@dataclass(frozen=True)
class StudyTable:
    """All rows of a study, in the order of its plan.

    Attributes:
        rows: one for each number.
        own: titles of the methods that only models have which were trained for them.
    """

    rows: tuple[Row, ...]
    own: frozenset[str] = frozenset()

    def to_dict(self) -> list[dict[str, Any]]:
        """Plain JSON types."""
        return [asdict(row) for row in self.rows]

    def to_csv(self) -> str:
        """A line for each row; seeds, variants and named parts (`part_columns`) as columns."""
        text = io.StringIO()
        records = self._records()
        writer = csv.DictWriter(text, fieldnames=list(records[0]) if records else [], lineterminator="\n")
        writer.writeheader()
        writer.writerows(records)
        return text.getvalue()

    def to_latex(self) -> str:
        r"""Tables with ``booktabs``: methods by metrics for each model and dataset, models by metrics, then parts."""
        return "\n".join(filter(None, (grids_latex(self.rows), parts_latex(self.rows))))

    def write_parquet(self, path: str | os.PathLike[str]) -> None:
        """The same as `to_csv`, as a Parquet file."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        records = self._records()
        # Said, not guessed: a column in which no row has a value would get no type.
        types = {"n": pa.int64(), "higher_is_better": pa.bool_()}
        texts = {"step", "model", "data", "method", "metric", "mark", "reference", "change_mark"}
        schema = pa.schema(
            (name, types.get(name) or (pa.string() if name in texts or name.startswith("variant_") else pa.float64()))
            for name in (records[0] if records else {})
        )
        pq.write_table(pa.Table.from_pylist(records, schema=schema), Path(path))

    def __rich__(self) -> Any:
        return grids_rich(self.rows)

    def _repr_html_(self) -> str:
        return grids_html(self.rows)

    def groups(self) -> dict[tuple[str, str, str], list[Row]]:
        """The rows by step, model and dataset."""
        found: dict[tuple[str, str, str], list[Row]] = {}
        for row in self.rows:
            found.setdefault((row.step, row.model, row.data), []).append(row)
        return found

    def orderings(self) -> tuple[int, int, list[str]]:
        """How many of the paper's orderings of methods and models hold here, of how many, and those that do not."""
        held, total, broken = 0, 0, []
        groups: dict[tuple[str, ...], list[Row]] = {}
        for row in self.rows:
            if row.paper is not None:
                groups.setdefault((row.data, row.metric, "" if row.method else "model"), []).append(row)
        for (data, metric, _), rows in groups.items():
            for i, a in enumerate(rows):
                for b in rows[i + 1 :]:
                    # Two methods on one model, one method on two models, or what a model says of itself beside what
                    # is said of another: other pairs say nothing.
                    alike = a.model == b.model or a.method == b.method or {a.method, b.method} & self.own
                    if a.paper is None or b.paper is None or a.paper == b.paper or not alike:
                        continue
                    total += 1
                    if (a.paper > b.paper) == (a.value > b.value) and a.value != b.value:
                        held += 1
                        continue
                    high, low = (a, b) if a.paper > b.paper else (b, a)
                    broken.append(
                        f"{data}, {metric}: the paper has {_who(high, low)} above {_who(low, high)} "
                        f"({high.paper:g} against {low.paper:g}); here {high.value:.3f} against {low.value:.3f}"
                    )
        return held, total, broken

    def _records(self) -> list[dict[str, Any]]:
        variants = sorted({key for row in self.rows for key in row.variant})
        seeds = list(dict.fromkeys(seed for row in self.rows for seed in row.seeds))
        spans = ("difference", "change")
        plain = [f.name for f in fields(Row) if f.name not in ("seeds", "variant", "bins", "bins_are", *spans)]
        made = []
        for row, parts in zip(self.rows, part_columns(self.rows), strict=True):
            record: dict[str, Any] = {name: getattr(row, name) for name in plain}
            for span in spans:
                names = (span, f"{span}_low", f"{span}_high")
                record |= dict(zip(names, getattr(row, span) or (None,) * 3, strict=True))
            record |= {f"seed_{seed}": row.seeds.get(seed) for seed in seeds}
            record |= {f"variant_{key}": _text(row.variant.get(key)) for key in variants} | parts
            made.append(record)
        return made


def make_table(plan: Plan, results: Mapping[str, Mapping[str, Any]]) -> StudyTable:
    """Collect the results of a plan's cells into one table."""
    found: dict[tuple[str, ...], dict[int, Mapping[str, Any]]] = {}
    variants: dict[tuple[str, ...], Mapping[str, Any]] = {}
    for cell in plan.cells:
        if cell.kind != "evaluate" or cell.name not in results:
            continue
        for entry in results[cell.name]["results"]:
            names = (*(cell.facts[k] for k in ("step", "model", "data")), entry["method"], entry["metric"])
            found.setdefault(names, {})[int(cell.facts["seed"])] = {**entry["result"], "of": results[cell.name]["n"]}
            variants[names] = cell.facts["variant"]
    paper = plan.study.paper
    values = paper.values if paper is not None else {}
    rows = []
    for key, by_seed in found.items():
        step, model, data, method, metric = key
        base = found.get((step, model, data, plan.study.baseline, metric)) if method else None
        if method == plan.study.baseline:
            base = None
        reference = plan.study.reference_of(model)
        start = _reference(found, key, reference) if reference else None
        other = plan.study.counterparts.get(method)
        if reference and start is None and other is not None:
            start = _reference(found, (step, model, data, other, metric), reference)
            reference = f"{other} of {reference}"
        value = _paper_value(values, (model, data, method, metric))
        row = _row(key, by_seed, base, start, variants[key], value)
        rows.append(row if row.change is None else replace(row, reference=reference))
    return StudyTable(tuple(rows), frozenset(plan.study.counterparts))


def _reference(found: Mapping[tuple[str, ...], _Seeds], key: tuple[str, ...], reference: str) -> _Seeds | None:
    """The reference model's results to compare with: of the same step if it was measured there, else of another."""
    step, _, *what = key
    same = found.get((step, reference, *what))
    return same or next((by for (_, model, *own), by in found.items() if model == reference and own == what), None)


def _row(
    key: tuple[str, ...],
    by_seed: _Seeds,
    base: _Seeds | None,
    start: _Seeds | None,
    variant: Mapping[str, Any],
    paper: float | None,
) -> Row:
    step, model, data, method, metric = key
    seeds = sorted(by_seed)
    values = np.asarray([by_seed[s]["value"] for s in seeds], dtype=np.float64)
    first = by_seed[seeds[0]]
    low, high = _interval([by_seed[s] for s in seeds])
    better = bool(first["higher_is_better"])
    difference, mark = _compare(by_seed, base, better)
    change, change_mark = _compare(by_seed, start, better, models=True)
    bins = _bins(by_seed)
    return Row(
        step=step,
        model=model,
        data=data,
        method=method,
        metric=metric,
        value=float(values.mean()),
        deviation=float(values.std(ddof=1)) if len(values) > 1 else 0.0,
        low=low,
        high=high,
        n=int(first["n"]),
        higher_is_better=better,
        mark=mark,
        difference=difference,
        change=change,
        change_mark=change_mark,
        seeds={str(s): float(v) for s, v in zip(seeds, values, strict=True)},
        variant=dict(variant),
        paper=paper,
        bins=bins,
        bins_are=bin_kind(first.get("name", ""), first.get("bins_are", "")) if bins else "",
    )


def _bins(by_seed: _Seeds) -> dict[str, dict[str, float]]:
    """The bins of all seeds: by name, then by seed."""
    made: dict[str, dict[str, float]] = {}
    for seed in sorted(by_seed):
        for name, value in by_seed[seed].get("bins", {}).items():
            made.setdefault(name, {})[str(seed)] = float(value)
    return made


def _interval(results: Sequence[Mapping[str, Any]]) -> tuple[float, float]:
    """Bounds of the mean over seeds. One seed: the result's own interval."""
    if len(results) == 1:
        return float(results[0]["low"]), float(results[0]["high"])
    draws = _resample([_contributions(r) for r in results])
    return _bounds(draws)


def _compare(
    own: _Seeds, base: _Seeds | None, higher_is_better: bool, *, models: bool = False
) -> tuple[tuple[float, float, float] | None, str]:
    """How far results are from others, seed by seed, and a mark where that is clear."""
    if base is None:
        return None, ""
    # A model that was trained once may be what several seeds of another one were compared with, or started from.
    only = next(iter(base.values())) if models and len(base) == 1 else None
    pairs = [(own[s], theirs) for s in sorted(own) if (theirs := base.get(s, only)) is not None]
    if any(a.get(name) != b.get(name) for a, b in pairs for name in ("variant", "erasure")):
        return None, ""  # measured otherwise, in another step
    paired = [x - y for x, y in (_paired(a, b, models) for a, b in pairs) if len(x) == len(y)]
    units = sum(map(len, paired))
    if len(paired) < len(pairs) or units < 2:
        return None, ""
    low, high = _bounds(_resample(paired))
    mean = float(np.mean([a["value"] - b["value"] for a, b in pairs]))
    # So few that all of them could agree by chance: the bootstrap would be too sure of itself.
    if 2.0 ** (1 - units) > 1 - LEVEL or low <= 0 <= high:
        return (mean, low, high), ""
    return (mean, low, high), BETTER if (mean > 0) == higher_is_better else WORSE


def _paired(
    a: Mapping[str, Any], b: Mapping[str, Any], models: bool
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """What is subtracted: examples' values, where they are of the same examples, else one value each."""
    x, y = _contributions(a), _contributions(b)
    # Two methods of one model count the same examples. Two models may not: which are right, say, depends on the model.
    if models and not (len(x) == a["of"] and len(y) == b["of"]):
        return np.asarray([a["value"]]), np.asarray([b["value"]])
    return x, y


def _contributions(result: Mapping[str, Any]) -> NDArray[np.float64]:
    """The examples' own values if the metric is their mean, else its one value."""
    values = np.asarray(result["values"], dtype=np.float64)
    if len(values) and np.isclose(values.mean(), result["value"], rtol=1e-6, atol=1e-9):
        return values
    return np.asarray([result["value"]], dtype=np.float64)


def _resample(groups: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Means of resampled seeds, of each of which the examples are resampled too."""
    rng = np.random.default_rng(0)
    size = len(groups)
    means = np.empty((size, SAMPLES))
    for i, values in enumerate(groups):
        # Examples are the same in every seed, but seeds are drawn, so each has its own draws of examples.
        for start in range(0, SAMPLES, 100):
            drawn = rng.integers(0, len(values), (100, len(values)))
            means[i, start : start + 100] = values[drawn].mean(axis=1)
    picked = rng.integers(0, size, (size, SAMPLES))
    return np.asarray(np.take_along_axis(means, picked, axis=0).mean(axis=0))


def _bounds(draws: NDArray[np.float64]) -> tuple[float, float]:
    low, high = np.quantile(draws, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


def _paper_value(values: Any, keys: Sequence[str]) -> float | None:
    """The paper's number: keys are looked up in their order, and levels that are not there are skipped."""
    for key in keys:
        if isinstance(values, Mapping) and key in values:
            values = values[key]
    return float(values) if isinstance(values, int | float) and not isinstance(values, bool) else None


def _who(row: Row, other: Row) -> str:
    """What tells a row from another one."""
    if row.model == other.model:
        return row.method
    return f"{row.model} ({row.method})" if row.method else row.model


def _text(value: Any) -> str | None:
    return None if value is None else str(value)
