"""Metric results arranged as metrics by methods, with the best marked and compared with chance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from saywhy.metrics.comparison import compare_results, is_mean
from saywhy.types import MetricResult

__all__ = ["Cell", "Row", "arrange", "findings"]

CHANCE = "random"


@dataclass(frozen=True)
class Cell:
    """One metric of one method; ``best`` in its row, or ``close``: its interval overlaps that of the best."""

    method: str
    result: MetricResult | None
    best: bool = False
    close: bool = False


@dataclass(frozen=True)
class Row:
    """One variant of a metric over all methods, cells in the order of the table's columns."""

    name: str
    detail: str
    family: str
    higher_is_better: bool
    cells: tuple[Cell, ...]

    @property
    def title(self) -> str:
        """Name and what sets the variant apart."""
        return f"{self.name} ({self.detail})" if self.detail else self.name

    def results(self) -> list[MetricResult]:
        """The results that are there and are numbers."""
        return [c.result for c in self.cells if c.result is not None and math.isfinite(c.result.value)]


def arrange(results: Sequence[MetricResult]) -> tuple[tuple[str, ...], tuple[Row, ...]]:
    """Columns (methods, chance last) and rows (metrics by family) of the results that belong to a method.

    Rows of one metric differ in variant, erasure, seed or model; what differs is named, what does not is left out.
    """
    mine = [r for r in results if r.method]
    methods = list(dict.fromkeys(r.method for r in mine))
    methods.sort(key=lambda m: m == CHANCE)
    rows: dict[tuple[tuple[str, str], ...], dict[str, MetricResult]] = {}
    facts = [_facts(r) for r in mine]
    for result, own in zip(mine, facts, strict=True):
        rows.setdefault(tuple(own.items()), {})[result.method] = result
    families = list(dict.fromkeys(r.family for r in mine))
    out = [
        _row(methods, cells, _difference(dict(key), [f for f in facts if f["name"] == dict(key)["name"]]))
        for key, cells in rows.items()
    ]
    return tuple(methods), tuple(sorted(out, key=lambda row: families.index(row.family)))


def findings(rows: Sequence[Row]) -> list[tuple[str, str]]:
    """For each row: its title, and who leads and who is not clearly better than chance, in plain words."""
    out = []
    for row in rows:
        best = next((c.result for c in row.cells if c.best and c.result is not None), None)
        if best is None or len(row.results()) < 2:
            continue
        near = [c.method for c in row.cells if c.close]
        lead = f"{best.method} leads with {best.value:z.3f}" + (f", close to {_names(near)}" if near else "")
        chance = next((r for r in row.results() if r.method == CHANCE), None)
        if chance is best:
            out.append((row.title, f"random itself is best with {best.value:z.3f}: no method beats chance."))
            continue
        if chance is None:
            out.append((row.title, f"{lead}."))
            continue
        weak = [r.method for r in row.results() if r is not chance and not _beats(r, chance, row.higher_is_better)]
        verb = "is" if len(weak) == 1 else "are"
        tail = f" {_names(weak)} {verb} not clearly better than random." if weak else " Every method beats random."
        out.append((row.title, f"{lead}; random gets {chance.value:z.3f}.{tail}"))
    return out


def _facts(result: MetricResult) -> dict[str, str]:
    variant = {str(k): str(v) for k, v in sorted(result.variant.items())}
    return {
        "name": result.name,
        **variant,
        "erasure": result.erasure or "",
        "seed": str(result.seed),
        "model": result.model,
    }


def _difference(own: dict[str, str], others: Sequence[dict[str, str]]) -> str:
    differs = {k: v for k, v in own.items() if any(o.get(k) != v for o in others)}
    return ", ".join(f"{k} {v}" for k, v in differs.items() if v)


def _row(methods: Sequence[str], found: dict[str, MetricResult], detail: str) -> Row:
    first = next(iter(found.values()))
    numbers = [r for r in found.values() if math.isfinite(r.value)]
    sign = 1 if first.higher_is_better else -1
    best = max(numbers, key=lambda r: sign * r.value, default=None) if len(numbers) > 1 else None
    cells = []
    for method in methods:
        result = found.get(method)
        close = best is not None and result is not None and result is not best and _overlap(result, best)
        cells.append(Cell(method, result, best is not None and result is best, close))
    return Row(first.name, detail, first.family, first.higher_is_better, tuple(cells))


def _overlap(one: MetricResult, other: MetricResult) -> bool:
    return one.low <= other.high and other.low <= one.high


def _beats(one: MetricResult, chance: MetricResult, higher: bool) -> bool:
    if one.n == chance.n and is_mean(one) and is_mean(chance):
        return compare_results(one, chance).verdict == "better"
    # Without values of examples that could be paired, intervals apart are the safe sign.
    return one.low > chance.high if higher else one.high < chance.low


def _names(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1] if names else ""
