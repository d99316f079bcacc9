"""Names of a study's own parts: models that metrics ask (``critic: step:critic``), or that rows are held against."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from saywhy.errors import OptionError
from saywhy.studies.cells import Cell, Store
from saywhy.studies.schema import Named, Source, Study
from saywhy.studies.sweeps import digest_of

__all__ = ["PREFIX", "check_references", "follow_references", "refer"]

PREFIX = "step:"


def check_references(study: Study, cells: Sequence[Cell], source: Source) -> None:
    """Whether a study measures what its ``reference``, ``counterparts``, ``gains`` and ``costs`` name.

    Raises:
        StudyError: it does not; names the line.
    """
    measured = [c for c in cells if c.kind == "evaluate"]
    metrics = {m["title"] for c in measured for m in c.config["metrics"]}
    models = {str(c.facts["model"]) for c in measured}
    named = study.reference or {}
    for model in [*named, *named.values()] if isinstance(named, dict) else [named]:
        if model not in models:
            raise source.error(
                f"no model {model!r} is measured here; there are {', '.join(sorted(models))}", ("reference",)
            )
    titles = {m["title"] for c in measured for m in c.config["methods"]}
    for method, other in study.counterparts.items():
        for name in (method, other):
            if name not in titles:
                raise source.error(
                    f"no method {name!r} is measured here; there are {', '.join(sorted(titles))}",
                    ("counterparts", method),
                )
    if study.counterparts and study.reference is None:
        raise source.error("counterparts are methods of the study's reference: name that model", ("counterparts",))
    for metric, model in study.gains.items():
        for what, name, known in (("metric", metric, metrics), ("model", model, models)):
            if name not in known:
                raise source.error(
                    f"no {what} {name!r} is measured here; there are {', '.join(sorted(known))}", ("gains", metric)
                )
    for place, metric in enumerate(study.costs):
        if metric not in metrics:
            raise source.error(
                f"no metric {metric!r} is measured here; there are {', '.join(sorted(metrics))}", ("costs", place)
            )
    if study.costs and study.reference is None:
        raise source.error("costs are times those of the study's reference: name that model", ("costs",))


def refer(metrics: Sequence[Named], find: Callable[[str], Cell | None]) -> tuple[list[dict[str, Any]], list[str]]:
    """Metrics as a cell's configuration has them, and the names of the cells that must be there first.

    Args:
        metrics: as the study's file has them; an option ``step:NAME`` is what a step of ``train`` or a tagger makes;
            another content of a file that an option names is another cell.
        find: gives the cell of such a name; None where there is none.

    Raises:
        OptionError: there is no such step.
    """
    made, needs = [], []
    for metric in metrics:
        options, files = dict(metric.options), {}
        for key, value in metric.options.items():
            if isinstance(value, str) and value.startswith(PREFIX):
                name = value.removeprefix(PREFIX)
                cell = find(name)
                if cell is None:
                    raise OptionError(f"{metric.name}: {key} names {name!r}, which is no step of train and no tagger")
                options[key] = {"cell": cell.name}
                needs.append(cell.name)
            elif isinstance(value, str) and os.path.isfile(value):
                files[key] = digest_of(Path(value))
        # Files are named only where there are some: what was measured without stays the same cell.
        content = {"content": files} if files else {}
        made.append({"name": metric.name, "options": options, "title": metric.title, **content})
    return made, needs


def follow_references(options: Mapping[str, Any], store: Store) -> dict[str, Any]:
    """A metric's options, with the folders of the models they refer to."""
    return {
        key: str(store.folder(value["cell"]) / "model") if isinstance(value, Mapping) and "cell" in value else value
        for key, value in options.items()
    }
