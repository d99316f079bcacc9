"""What the tests of the studies that come with the project share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from saywhy.studies.run import plan_study

__all__ = ["FOLDER", "check_plan", "cut", "name_of"]

FOLDER = Path(__file__).resolve().parents[2] / "studies"


def name_of(path: Path) -> str:
    return path.stem


def cut(data: Any, limit: int) -> Any:
    """A step's data, however it was given, with so many examples."""
    if isinstance(data, list):
        return [cut(one, limit) for one in data]
    return {**({"name": data} if isinstance(data, str) else data), "limit": limit}


def check_plan(path: Path, scale: str) -> None:
    """A study can be planned, and every number of the paper is one of a row that it has."""
    plan, document = plan_study(path, scale=scale)
    assert plan.study.study == path.stem
    models = {cell.facts["model"] for cell in plan.cells}
    assert set((document.get("paper") or {}).get("values", {})) <= models
