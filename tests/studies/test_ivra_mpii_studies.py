"""The studies of IvRA and MPII: their plans at both scales, and each of them from end to end on next to nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from saywhy.data.yaml12 import read_yaml_lines
from saywhy.studies import run_study
from saywhy.studies.cells import Cell
from saywhy.studies.run import plan_study
from tests.studies.shipped import FOLDER, cut, name_of

FILES = sorted([*FOLDER.glob("ivra-*.yaml"), *FOLDER.glob("mpii-*.yaml")])
SMALL = {"layers": 1, "width": 16, "heads": 2}
CRITERIA = ("sim", "comp", "suff", "cons")

pytestmark = pytest.mark.realdata


def tiny_options(step: dict[str, Any]) -> dict[str, Any]:
    """One epoch, and nothing pretrained: a student is its teacher with a new head, an encoder a small one."""
    options = {k: v for k, v in step.get("options", {}).items() if k != "student"}
    if options.get("epochs"):
        options["epochs"] = 1
    shape = dict(options.get("model_options") or {})
    if step["model"] in ("mpii", "cage"):
        own = {"layers": 1, "width": 16, "heads": 2, "longest": 6, "encoder_options": SMALL}
        options["model_options"] = {**{k: v for k, v in shape.items() if k != "encoder"}, **own}
    elif step["model"] == "e-infersent":
        options["model_options"] = {"hidden_size": 8, "decoder_size": 8, "embedding_size": 8, "longest": 6}
    elif "model_options" in options or step["model"] == "text-transformer":
        options["model_options"] = {**shape, **SMALL}
    return options


def tiny(path: Path) -> dict[str, Any]:
    """The study with small networks, a few texts, one epoch and one seed."""
    document, _ = read_yaml_lines(path.read_text(encoding="utf-8"))
    document["seeds"] = [0]

    for step in document["train"].values():
        step.pop("seeds", None)
        step["data"] = cut(step["data"], 24)
        step["model"] = "text-transformer" if step["model"] == "minilm" else step["model"]
        step["options"] = tiny_options(step)
    document["evaluate"] = {k: step for k, step in document["evaluate"].items() if 0 in step.get("seeds", [0])}
    for step in document["evaluate"].values():
        step["data"] = cut(step["data"], 12)
        for metric in step["metrics"]:
            if isinstance(metric, dict) and "simulatability" in metric:
                metric["simulatability"] = {"epochs": 1}
            if isinstance(metric, dict) and "similarity" in metric:
                metric["similarity"] = {}
        for method in step.get("methods", []):
            if isinstance(method, dict) and "lime" in method:
                method["lime"] = {"samples": 10}
    return document


@pytest.mark.parametrize("name", ["imdb", "snli"])
def test_each_criterion_has_three_seeds_on_its_own_metric(name: str) -> None:
    plan, _ = plan_study(FOLDER / f"ivra-table1-4-{name}.yaml")
    found: dict[tuple[str, str], set[int]] = {}
    for cell in plan.cells:
        for metric in cell.config.get("metrics", ()) if cell.kind == "evaluate" else ():
            found.setdefault((cell.facts["model"], metric["name"]), set()).add(cell.facts["seed"])
    own = dict(zip(CRITERIA, ("simulatability", "comprehensiveness", "sufficiency", "consistency"), strict=True))
    for criterion in CRITERIA:
        for metric in own.values():
            assert found[criterion, metric] == ({0, 1, 2} if metric == own[criterion] else {0})
            assert found[f"{criterion}-softmax", metric] == {0}


@pytest.mark.parametrize("name", ["ivra-figure8", "ivra-figure8-nli"])
@pytest.mark.parametrize("scale", ["quick", "paper"])
def test_gains_of_direct_training_are_in_proportion_to_what_was_transferred(name: str, scale: str) -> None:
    plan, _ = plan_study(FOLDER / f"{name}.yaml", scale=scale)
    assert len(plan.study.gains) == len(CRITERIA)
    assert all(model.startswith("transferred") for model in plan.study.gains.values())


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_nothing_is_trained_or_selected_on_what_is_reported(path: Path) -> None:
    """Training selects on `dev`: what is reported is another split, or other data."""
    document, _ = read_yaml_lines(path.read_text(encoding="utf-8"))
    trained = {
        step["data"] if isinstance(step["data"], str) else step["data"]["name"] for step in document["train"].values()
    }
    for step in document["evaluate"].values():
        for data in step["data"] if isinstance(step["data"], list) else [step["data"]]:
            # Table 7 is itself a choice of settings, which are made on dev.
            assert data["split"] == "test" or data["name"] not in trained or path.stem == "ivra-table7"
            share = data.get("options", {}).get("dev_share")
            for other in document["train"].values():
                if isinstance(other["data"], dict) and other["data"]["name"] == data["name"]:
                    assert other["data"].get("options", {}).get("dev_share") == share


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_the_scale_paper_leaves_nothing_out(path: Path) -> None:
    plan, _ = plan_study(path, scale="paper")
    for cell in plan.cells:
        # SMaT learns from few texts in its own paper too.
        assert cell.config["data"]["limit"] == (2000 if few(cell) else None), cell.title


def few(cell: Cell) -> bool:
    return cell.config.get("objective") == "smat" and cell.config["data"]["name"] != "eraser-movies"


@pytest.mark.parametrize("scale", ["quick", "paper"])
@pytest.mark.parametrize(
    ("name", "first", "own"),
    [
        ("mpii-table2", "mpii-table1-nli", set()),
        ("mpii-table3", "mpii-table1-nli", {"reader"}),
        ("mpii-figure5", "mpii-table1-cqa", set()),
    ],
)
def test_in_one_folder_nothing_is_trained_twice(name: str, first: str, own: set[str], scale: str) -> None:
    there, here = (plan_study(FOLDER / f"{study}.yaml", scale=scale)[0].cells for study in (first, name))
    known = {cell.name for cell in there}
    assert {cell.facts["model"] for cell in here if cell.kind == "train" and cell.name not in known} == own


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::saywhy.errors.SayWhyWarning")  # of texts that are cut
@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_they_run(path: Path, tmp_path: Path) -> None:
    given = tiny(path)
    table = run_study(given, out=tmp_path).table
    found = {(row.model, row.data, row.method, row.metric) for row in table.rows}
    assert len(found) == len(table.rows) > 0
    values = (given.get("paper") or {}).get("values", {})
    assert bool(values) == any(row.paper is not None for row in table.rows)
