"""The studies of AREC: what they measure at both scales, and each of them from end to end on next to nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from saywhy.data.yaml12 import read_yaml_lines
from saywhy.studies import run_study
from saywhy.studies.schema import read_study
from tests import zoo
from tests.studies.shipped import FOLDER, cut, name_of

FILES = sorted(FOLDER.glob("arec-*.yaml"))
SMALL = {
    "text-transformer": {"layers": 1, "width": 16, "heads": 2, "vocabulary_size": 300},
    "decomposable-attention": {"embedding_size": 8, "hidden_size": 8},
    "esim": {"embedding_size": 8, "hidden_size": 8},
}
FEW = {
    "arec": {"steps": 3, "samples": 2},
    "lime": {"samples": 10},
    "interaction": {"contexts": 2},
    "integrated-gradients": {"points": 4},
}

pytestmark = pytest.mark.realdata


def tiny_method(method: Any) -> Any:
    """A method with as little work as it takes; options that studies choose, such as lambda, stay."""
    name, options = next(iter(method.items())) if isinstance(method, dict) else (method, {})
    return {name: {**options, **FEW[name]}} if name in FEW else method


def tiny(path: Path, encoder: Path) -> dict[str, Any]:
    """The study with small networks and a few pairs, one epoch, one seed, nothing pretrained."""
    document, _ = read_yaml_lines(path.read_text(encoding="utf-8"))
    for step in document["train"].values():
        step["data"] = cut(step["data"], 24)
        step["model"] = "text-transformer" if step["model"] == "minilm" else step["model"]
        kept = {k: v for k, v in step.get("options", {}).items() if k not in ("limit", "model_options")}
        shape = {"model_options": SMALL[step["model"]]} if step["model"] in SMALL else {}
        step["options"] = {**kept, **shape, "epochs": 1}
    for step in document.get("taggers", {}).values():
        step["data"] = cut(step["data"], 12)
        step["options"] = {"epochs": 1, "encoder": str(encoder)}
    for step in document["evaluate"].values():
        step["data"] = cut(step["data"], 4)
        step["methods"] = [tiny_method(method) for method in step.get("methods", [])]
    return document


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_the_papers_scale_has_three_seeds_of_every_model(path: Path) -> None:
    study = read_study(path, "paper")[0]
    assert study.seeds == [0, 1, 2]
    assert [step.seeds for step in study.train.values()] == [None] * len(study.train)


def test_table_one_asks_whether_the_label_is_kept_at_matched_fidelity() -> None:
    study = read_study(FOLDER / "arec-table1.yaml")[0]
    asked = {
        name: metric.options
        for name, step in study.evaluate.items()
        for metric in step.metrics
        if metric.name == "label-kept"
    }
    assert asked == {name: {"until": "arec"} for name in ("decomposable", "esim", "transformer")}


def test_table_three_has_every_number_of_the_paper_but_peoples_judgements() -> None:
    document, _ = read_yaml_lines((FOLDER / "arec-table3.yaml").read_text(encoding="utf-8"))
    told = {
        (model, data): values
        for model, by_data in document["paper"]["values"].items()
        for data, values in by_data.items()
    }
    accuracies = {
        "snli": (0.8504, 0.8778, 0.9027),
        "breaking-nli": (0.4882, 0.6709, 0.9540),
        "hans entailment": (0.9694, 0.9935, 0.9956),
        "hans non-entailment": (0.0247, 0.0151, 0.1659),
    }
    models = ("da-nli", "esim-nli", "minilm-nli")
    for data, expected in accuracies.items():
        assert tuple(told[model, data]["accuracy"] for model in models) == expected
    assert len(told) == 15
    assert all(set(told[model, "contradictions"]["arec"]) == {"iou-f1", "token-f1"} for model in models)
    assert all(set(told[model, "breaking-nli"]["arec"]) == {"max-f1", "exact-inc", "soft-inc"} for model in models)


def numbers_in(values: Any) -> list[float]:
    """All numbers of a paper's table, sorted."""
    if not isinstance(values, dict):
        return [values]
    return sorted(number for inner in values.values() for number in numbers_in(inner))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::saywhy.errors.SayWhyWarning")  # of texts that are cut
@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_they_run(path: Path, tmp_path: Path) -> None:
    given = tiny(path, zoo.save_encoder(tmp_path / "encoder"))
    table = run_study(given, out=tmp_path / "out").table
    found = {(row.model, row.data, row.method, row.metric) for row in table.rows}
    assert len(found) == len(table.rows) > 0
    # Every number of the paper stands beside one of ours.
    assert sorted(row.paper for row in table.rows if row.paper is not None) == numbers_in(given["paper"]["values"])
    if path.stem == "arec-table1":
        kept = [row for row in table.rows if row.metric == "label-kept"]
        assert len(kept) == 3 * 3 * 8
        assert all(0 <= row.low <= row.value <= row.high <= 1 for row in kept)
