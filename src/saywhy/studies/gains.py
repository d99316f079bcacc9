"""Relative gains of a study: what models trained for one thing gain or lose in another."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from saywhy.ops.gains import average_relative_gain
from saywhy.studies.table import Row, StudyTable

__all__ = ["Gains", "relative_gains"]


@dataclass(frozen=True)
class Gains:
    """Average relative gains, models x metrics; nan where nothing can be compared.

    Attributes:
        models: titles of the models, those of the references first.
        metrics: titles of the metrics.
        values: of each model, in the order of the metrics; positive is better.
    """

    models: tuple[str, ...]
    metrics: tuple[str, ...]
    values: tuple[tuple[float, ...], ...]


def relative_gains(table: StudyTable, references: Mapping[str, str]) -> Gains:
    """How much better each model is than the reference of a metric, in proportion, averaged over data and methods.

    Reference: IvRA, section 3.4 and figure 5, where the reference of a criterion is the model trained for it alone.

    Args:
        table: of a study that has run.
        references: the title of a model for each metric.
    """
    rows: dict[tuple[str, str], dict[tuple[str, str, str], Row]] = {}
    for row in table.rows:
        if row.metric in references:
            rows.setdefault((row.model, row.metric), {})[row.step, row.data, row.method] = row
    models = tuple(dict.fromkeys([*references.values(), *(model for model, _ in rows)]))
    values = tuple(
        tuple(_gain(rows.get((m, metric), {}), rows.get((base, metric), {})) for metric, base in references.items())
        for m in models
    )
    return Gains(models, tuple(references), values)


def _gain(own: Mapping[tuple[str, str, str], Row], base: Mapping[tuple[str, str, str], Row]) -> float:
    both = [(own[key], base[key]) for key in own if key in base and base[key].value != 0]
    if not both:
        return math.nan
    return average_relative_gain(
        [row.value for row, _ in both], [row.value for _, row in both], [row.higher_is_better for row, _ in both]
    )
