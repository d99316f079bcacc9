"""The studies of VER: their plans, and each of them from end to end on next to nothing."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from saywhy.data import load_dataset
from saywhy.data.yaml12 import read_yaml_lines
from saywhy.errors import OptionError
from saywhy.studies import run_study
from saywhy.studies.run import plan_study
from tests.studies.shipped import FOLDER, name_of

FILES = sorted(FOLDER.glob("ver-*.yaml"))
SMALL = {"layers": 1, "width": 16, "heads": 2}

pytestmark = pytest.mark.realdata


def tiny(path: Path) -> dict[str, Any]:
    """The study with a few texts, one epoch, one seed, and a small network in place of a pretrained one."""
    document, _ = read_yaml_lines(path.read_text(encoding="utf-8"))
    document["seeds"] = [1]
    for step in document["train"].values():
        step.pop("seeds", None)
        # Long texts: two games are enough there, all of them play on the documents of table one.
        if step["data"]["name"] != "composed":
            step["objective"] = step["objective"][:2]
        step["data"] = {**step["data"], "limit": 24}
        options = step["options"] = {**step["options"], "epochs": 1}
        if "rate" in options:
            options["rate"] = [0.0, 0.8]
        if step["model"] == "minilm":
            step["model"] = "rationalizer"
            options["model_options"] = {"encoder": "text-transformer", "encoder_options": SMALL}
    for step in document["evaluate"].values():
        step["data"] = {**step["data"], "limit": 12}
    return document


def test_table_one_has_every_row_with_its_seeds() -> None:
    plan, _ = plan_study(next(path for path in FILES if path.stem == "ver-table1"))
    seeds: dict[str, int] = {}
    for cell in plan.cells:
        if cell.kind == "train":
            seeds[cell.facts["model"]] = seeds.get(cell.facts["model"], 0) + 1
    three = ("a2i", "a2r", "cr", "dmr", "fr", "inter-rat", "invrat", "nir", "reader")
    assert seeds == {"rnp": 5, "ver": 5, **dict.fromkeys(three, 3)}


def test_the_papers_scale_says_that_it_needs_the_official_annotations() -> None:
    if any(any(e.rationales) for e in load_dataset("beer-appearance", split="test", limit=20)):
        pytest.skip("the official annotations are there")
    path = next(path for path in FILES if path.stem == "ver-table1")
    with pytest.raises(OptionError, match="beer-appearance: token-f1 needs examples with a gold rationale"):
        plan_study(path, scale="paper")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::saywhy.errors.SayWhyWarning")  # of texts that are cut, and collapsed selections
@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_they_run(path: Path, tmp_path: Path) -> None:
    table = run_study(tiny(path), out=tmp_path).table
    assert table.rows
    assert all(math.isfinite(row.value) for row in table.rows)
