"""Plots of what a study measured over what it cost to train each model."""

from __future__ import annotations

from markupsafe import Markup

from saywhy.reports import svg
from saywhy.reports.study_figures import Figure
from saywhy.studies import Row, StudyResult

__all__ = ["cost_figures", "training_costs"]


def training_costs(result: StudyResult) -> dict[str, float]:
    """CPU time of training each model, as times that of the model it is compared with; means over seeds.

    A model that is compared with none has 1. One is left out where its time, or that of the other, is not known: it was
    not trained here, or by an earlier version.
    """
    found: dict[str, list[float]] = {}
    for cell in result.plan.cells:
        spent = result.results.get(cell.name, {}).get("cpu_seconds")
        if cell.kind == "train" and spent:
            found.setdefault(str(cell.facts["model"]), []).append(float(spent))
    means = {model: sum(spent) / len(spent) for model, spent in found.items()}
    bases = {model: result.study.reference_of(model) or model for model in means}
    return {model: means[model] / means[base] for model, base in bases.items() if base in means}


def cost_figures(result: StudyResult) -> list[Figure]:
    """For each dataset and each metric under ``costs``, the models in the order of their costs; one line a method."""
    costs = training_costs(result)
    groups: dict[tuple[str, str, str], list[Row]] = {}
    for row in result.table.rows:
        if row.metric in result.study.costs and row.model in costs:
            groups.setdefault((row.step, row.data, row.metric), []).append(row)
    made = []
    for (_, data, metric), rows in groups.items():
        models = sorted({row.model for row in rows}, key=lambda model: (costs[model], model))
        if len(models) < 2:
            continue
        lines = []
        for number, name in enumerate(dict.fromkeys(row.method for row in rows)):
            mine = sorted((row for row in rows if row.method == name), key=lambda row: models.index(row.model))
            points = tuple((costs[row.model], row.value) for row in mine)
            lines.append(svg.Line(name or metric, points, number, tuple((row.low, row.high) for row in mine)))
        about = f"on {data}: " + ", ".join(f"{model} {costs[model]:.1f}" for model in models)
        plot = svg.lines(f"{metric} over the cost of training, {about}", lines, under="times the cost of training")
        keys = tuple((line.name, Markup(svg.series_swatch(line.series))) for line in lines) if len(lines) > 1 else ()
        made.append(Figure(metric, about, Markup(plot), keys, rows[0].higher_is_better))
    return made
