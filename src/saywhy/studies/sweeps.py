"""What was given as a list: single runs of it, and what to call them."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from saywhy.studies.cells import Cell
from saywhy.studies.schema import Study, TrainStep

__all__ = ["digest_of", "doubled", "title_of", "unfold", "variant_of"]


def unfold(options: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Every combination of the options whose values are lists; a list in a list is one value."""
    keys = [key.replace("-", "_") for key in options]
    lists = [value if isinstance(value, list) else [value] for value in options.values()]
    return [dict(zip(keys, values, strict=True)) for values in itertools.product(*lists)]


def variant_of(step: TrainStep, **values: Any) -> dict[str, Any]:
    """What tells the models of a step from each other: the values of everything that was given as a list."""
    swept: dict[str, list[Any]] = {"objective": step.objective, "model": step.model, "data": step.data}
    swept |= {key.replace("-", "_"): value for key, value in step.options.items() if isinstance(value, list)}
    return {key: values[key] for key, given in swept.items() if len(given) > 1}


def title_of(step: str, variant: Mapping[str, Any], study: Study | None = None) -> str:
    """What a model is called in tables: its step, and what tells it from the others of the step.

    Where only the objective does, it is called by that; with its step if a model of an earlier one, measured beside it,
    is called so already.
    """
    if not variant:
        return step
    if set(variant) == {"objective"}:
        objective = str(variant["objective"])
        return f"{objective} ({step})" if study and _taken(objective, step, study) else objective
    return f"{step} ({', '.join(f'{key}={value}' for key, value in variant.items())})"


def _taken(objective: str, step: str, study: Study) -> bool:
    earlier = itertools.takewhile(lambda name: name != step, study.train)
    rivals = {
        name for name in earlier if len(study.train[name].objective) > 1 and objective in study.train[name].objective
    }
    return any(step in measured.model and rivals & set(measured.model) for measured in study.evaluate.values())


def doubled(cells: Iterable[Cell]) -> str:
    """Model, data, method and metric that two cells measure, or nothing: a table would take both for one."""
    seen: dict[tuple[Any, ...], str] = {}
    for cell in cells:
        if cell.kind != "evaluate":
            continue
        metrics = [metric.get("title") or metric["name"] for metric in cell.config["metrics"]]
        for metric in metrics:
            key = (cell.facts["model"], cell.facts["data"], cell.facts["method"], metric, cell.facts["seed"])
            if seen.setdefault(key, cell.name) != cell.name:
                return " · ".join(str(part) for part in key[:4] if part)
    return ""


def digest_of(path: Path) -> str:
    """Of the files of a user's own data: a changed file is another cell."""
    digest = hashlib.blake2b(digest_size=10)
    for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
        if file.is_file():
            digest.update(file.name.encode())
            with file.open("rb") as content:
                while block := content.read(1 << 20):
                    digest.update(block)
    return digest.hexdigest()
