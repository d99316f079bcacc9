"""Every study that comes with the project can be planned."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from saywhy.data.yaml12 import read_yaml_lines
from saywhy.studies.cells import Cell
from saywhy.studies.run import plan_study
from tests.studies.shipped import FOLDER, name_of

pytestmark = pytest.mark.realdata


def names_in(cell: Cell) -> set[str]:
    """What rows of a cell can be called."""
    titles = {part["title"] for key in ("methods", "metrics") for part in cell.config[key]}
    return titles | {cell.facts["model"], cell.facts["data"]}


def keys_of(values: Any) -> set[str]:
    """All names on the way to the paper's numbers."""
    if not isinstance(values, dict):
        return set()
    return set(values).union(*map(keys_of, values.values()))


@pytest.mark.parametrize("scale", ["quick", "paper"])
@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.yaml")), ids=name_of)
def test_they_can_be_planned_and_have_the_rows_of_the_paper(path: Path, scale: str) -> None:
    document, _ = read_yaml_lines(path.read_text(encoding="utf-8"))
    if scale not in ("quick", *document.get("scales", ())):
        pytest.skip("has no such scale")
    if (path.stem, scale) == ("ver-table1", "paper"):
        pytest.skip("needs the official annotations, which test_ver_studies.py asks for")
    plan, _ = plan_study(path, scale=scale)
    assert plan.study.study == path.stem
    known = {name for cell in plan.cells if cell.kind == "evaluate" for name in names_in(cell)}
    assert keys_of(plan.study.paper.values if plan.study.paper else {}) <= known
