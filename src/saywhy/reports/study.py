"""The report of a study: one page that opens offline, its table as CSV, LaTeX and Parquet, cards for its models.

Example:
    >>> from saywhy.studies import run_study
    >>> write_study(run_study("studies/planted.yaml"))                   # doctest: +SKIP
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from markupsafe import Markup

from saywhy.display import STYLE
from saywhy.errors import OptionError
from saywhy.reports.bins import AXES
from saywhy.reports.cost_figures import cost_figures
from saywhy.reports.model_card import study_cards
from saywhy.reports.page import duration, template, write_page
from saywhy.reports.study_examples import alike, examples, pairs
from saywhy.reports.study_figures import (
    bar_figures,
    bin_figures,
    gain_figures,
    map_figures,
    sweep_figures,
    training_figures,
)
from saywhy.reports.study_parts import changed, legend, overviews, ran, short, study_notes
from saywhy.studies import StudyResult, StudyTable
from saywhy.studies.grids import change_grids, grids
from saywhy.studies.parts import parts_grids

__all__ = ["study_page", "write_study"]


def write_study(result: StudyResult) -> list[Path]:
    """Write the report of a study into its folder; a reader never sees half of a file.

    Args:
        result: of `saywhy.studies.run_study`.

    Returns:
        ``report.html``, ``table.csv``, ``table.tex``, ``table.parquet``, and a ``README.md`` in the folder of each
        model that the study trained.
    """
    table, folder = result.table, result.folder
    written = [
        write_page(folder / "report.html", study_page(result)),
        write_page(folder / "table.csv", table.to_csv()),
        write_page(folder / "table.tex", table.to_latex()),
        _write_parquet(table, folder / "table.parquet"),
    ]
    return written + study_cards(result)


def study_page(result: StudyResult) -> str:
    """The page as a string: no script, nothing fetched, every text escaped."""
    study, table = result.study, result.table
    found = grids(table.rows)
    moved = change_grids(table.rows)
    cells = ran(result)
    held, total, broken = table.orderings()
    shown, left_out = examples(result)
    metric_legend, method_legend = legend(result)
    return template("study.html.j2").render(
        title=study.title or study.study,
        study=study,
        style=Markup(STYLE),
        facts=_facts(result, cells),
        findings=short(found, study.baseline) + changed(moved),
        orderings={"held": held, "total": total, "broken": broken},
        overviews=overviews(found),
        grids=found,
        changes=moved,
        parts=parts_grids(table.rows),
        several=any(len(row.seeds) > 1 for row in table.rows),
        marked=any(row.difference is not None for row in table.rows),
        papers=any(row.paper is not None for row in table.rows),
        sections=[
            ("bars", "Methods beside each other", "Means with their intervals.", bar_figures(table)),
            (
                "sweeps",
                "What the swept options do",
                "Values stand evenly, whatever their distance.",
                sweep_figures(table),
            ),
            (
                "gains",
                "What is gained and lost",
                "In proportion to the model named for each metric, averaged over data and methods. Blue is better.",
                gain_figures(result),
            ),
            (
                "costs",
                "What it costs",
                "Over the CPU time of training, as times that of the model it is compared with; means over seeds.",
                cost_figures(result),
            ),
            *((axis.id, axis.heading, f"{axis.said}; means over seeds.", bin_figures(table, axis)) for axis in AXES),
            (
                "training",
                "Training",
                "What was logged while the models were trained: means over seeds, the seeds behind them.",
                training_figures(result),
            ),
            (
                "maps",
                "Inside the models",
                "What was learnt: blue where a coefficient grew, orange where it shrank. The first seed.",
                map_figures(result),
            ),
        ],
        examples=shown,
        left_out=left_out,
        pairs=pairs(result),
        alike=alike(result),
        notes=study_notes(result),
        cells=cells,
        reused=sum(cell["reused"] for cell in cells),
        metric_legend=metric_legend,
        method_legend=method_legend,
        created=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
    )


def _taggers(result: StudyResult) -> Iterator[str]:
    """How good the taggers of semantic roles are that guide metrics."""
    for cell in result.plan.cells:
        if cell.kind == "tag" and cell.name in result.results:
            f1 = result.results[cell.name]["f1"]
            shown = ", ".join(f"{name} {f1[name]:.3f}" for name in ("predicates", "roles", "end-to-end"))
            yield f"{cell.facts['model']}, F1 on {cell.config['data']['name']} ({f1['split']}): {shown}"


def _facts(result: StudyResult, cells: list[dict[str, Any]]) -> list[tuple[str, str]]:
    study, rows = result.study, result.table.rows
    models = dict.fromkeys(cell.facts["model"] for cell in result.plan.cells if cell.kind != "tag")
    data = dict.fromkeys(row.data for row in rows)
    reused = sum(cell["reused"] for cell in cells)
    earlier = "all" if reused == len(cells) else f"{reused} of them"
    trained = sum(cell["kind"] == "train" for cell in cells)
    facts = {
        "study": study.study,
        "scale": _scale(result.folder),
        "models": f"{len(models)}" + (f", trained in {trained} runs" if trained else ""),
        "taggers": "; ".join(_taggers(result)),
        "data": ", ".join(data),
        "seeds": ", ".join(map(str, study.seeds)),
        "baseline": study.baseline if any(row.difference is not None for row in rows) else "",
        "references": ", ".join(dict.fromkeys(row.reference for row in rows if row.reference)),
        "cells": f"{len(cells)}" + (f", {earlier} from an earlier run" if reused else ""),
        "work": duration(sum(cell["seconds"] for cell in cells)),
        "threads": str(study.threads),
        "reproduces": study.paper.table if study.paper is not None else "",
    }
    return [(name, value) for name, value in facts.items() if value]


def _scale(folder: Path) -> str:
    file = folder / "study.json"
    return str(json.loads(file.read_text(encoding="utf-8")).get("scale", "")) if file.is_file() else ""


def _write_parquet(table: StudyTable, target: Path) -> Path:
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        table.write_parquet(part)
        os.replace(part, target)
    except OSError as error:
        raise OptionError(f"cannot write {target}: {error.strerror}") from error
    finally:
        part.unlink(missing_ok=True)
    return target
