"""Metrics that ask a model or a tagger which the same study trains."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from saywhy.data import load_dataset
from saywhy.reports.study import write_study
from saywhy.studies import run_study
from saywhy.studies.cells import Cell
from saywhy.studies.plan import make_plan
from saywhy.studies.schema import StudyError, read_study
from tests import zoo
from tests.data.mini import write_jsonl

SMALL = {"layers": 1, "width": 16, "heads": 2}
TINY = {**SMALL, "longest": 6, "encoder_options": {**SMALL, "vocabulary_size": 200}}
DATA = {"name": "planted-nli", "options": {"n": {"train": 12, "dev": 4, "test": 6}}}


def study(critic: str = "step:critic") -> dict[str, Any]:
    return {
        "study": "judged",
        "train": {
            "speaker": {
                "objective": "mpii",
                "data": DATA,
                "model": "mpii",
                "options": {"epochs": 1, "model_options": TINY},
            },
            "critic": {
                "data": {"name": "critic-pairs", "limit": 8, "options": {"source": "planted-nli"}},
                "options": {"epochs": 1, "model_options": {**SMALL, "vocabulary_size": 200}},
            },
        },
        "evaluate": {
            "said": {
                "model": "speaker",
                "data": {**DATA, "split": "test"},
                "methods": ["sentence"],
                "metrics": ["accuracy", "inter-rep", {"critic-score": {"critic": critic}}],
            }
        },
    }


def test_a_judge_is_trained_first_and_asked() -> None:
    plan = make_plan(*read_study(study())[:2])
    judged = plan.cells[-1]
    assert judged.kind == "evaluate"
    trained = {cell.name: cell.facts["step"] for cell in plan.cells if cell.kind == "train"}
    assert [trained[name] for name in judged.needs] == ["speaker", "critic"]
    assert judged.config["metrics"][-1]["options"] == {"critic": {"cell": judged.needs[1]}}


def test_a_judge_that_is_not_there_is_named() -> None:
    with pytest.raises(StudyError, match="critic names 'nobody', which is no step of train"):
        make_plan(*read_study(study("step:nobody"))[:2])


@pytest.mark.slow
def test_the_whole_study_runs(tmp_path: Path) -> None:
    table = run_study(study(), out=tmp_path).table
    assert {row.metric for row in table.rows} == {"accuracy", "inter-rep", "critic-score"}


SENTENCES = [
    {
        "id": f"{who}-{what}",
        "text": f"{who} {what}",
        "tokens": [who, what],
        **{field: ["x", "x"] for field in ("lemmas", "upos", "xpos", "heads", "deprels")},
        "predicates": [{"token": 1, "frame": f"{what}.01", "args": [["ARG0", 0, 1], ["V", 1, 2]]}],
    }
    for who in ("people", "passengers")
    for what in ("walk", "eat", "run")
]


@pytest.fixture
def tagged(tmp_path: Path) -> dict[str, Any]:
    """A study in which a tagger guides; the sentences it learns from are on the disk."""
    for split in ("train", "dev", "test"):
        write_jsonl(tmp_path / "data" / "ewt_syntax_srl" / f"{split}.jsonl.gz", SENTENCES)
    encoder = zoo.save_encoder(tmp_path / "encoder")
    return {
        "study": "guided",
        "seeds": [3, 4],
        "train": {"nli": {"data": DATA, "model": "decomposable-attention", "options": {"epochs": 1}}},
        "taggers": {
            "roles": {
                "data": {"name": "ewt-srl", "options": {"root": str(tmp_path / "data")}},
                "options": {"epochs": 1, "encoder": str(encoder)},
            }
        },
        "evaluate": {
            "overlap": {
                "model": "nli",
                "data": {**DATA, "split": "test"},
                "metrics": ["accuracy", {"name": "accuracy", "options": {"guide": "step:roles"}, "label": "guided"}],
            }
        },
    }


def test_one_tagger_is_trained_and_guides_every_model(tagged: dict[str, Any], tmp_path: Path) -> None:
    result = run_study(tagged, out=tmp_path / "out")
    (tagger,) = (cell for cell in result.plan.cells if cell.kind == "tag")
    assert tagger.title == "tag roles · seed 3"
    assert [tagger.name in cell.needs for cell in result.plan.cells if cell.kind == "evaluate"] == [True, True]
    assert set(result.results[tagger.name]["f1"]) >= {"predicates", "roles", "end-to-end"}
    assert {(row.metric, len(row.seeds)) for row in result.table.rows} == {("accuracy", 2), ("guided", 2)}
    page = write_study(result)[0].read_text(encoding="utf-8")
    assert "roles, F1 on ewt-srl (test): predicates" in page


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"taggers": {"nli": {}}}, "both called 'nli'"),
        ({"taggers": {"roles": {"options": {"layers": 2}}}}, "a tagger has no option 'layers'; it has batch_size"),
        ({"taggers": {"roles": {"data": DATA}}}, "planted-nli has no frames"),
        ({"taggers": {"roles": {"model": "minilm"}}}, "unknown key 'model'"),
        ({"taggers": {}}, "guide names 'roles', which is no step of train and no tagger"),
    ],
)
def test_mistakes_about_taggers_are_named(tagged: dict[str, Any], changes: dict[str, Any], message: str) -> None:
    steps = {name: {"data": tagged["taggers"]["roles"]["data"], **step} for name, step in changes["taggers"].items()}
    with pytest.raises(StudyError, match=message):
        make_plan(*read_study({**tagged, "taggers": steps})[:2])


def test_frames_in_a_file_are_part_of_the_cell(tmp_path: Path) -> None:
    given = study()
    given["train"] = {"nli": {"data": DATA, "model": "decomposable-attention", "options": {"epochs": 1}}}
    texts = {text for example in load_dataset("planted-nli", split="test", **DATA["options"]) for text in example.texts}
    frames = tmp_path / "frames.jsonl"
    metrics = ["accuracy", {"name": "accuracy", "options": {"guide": str(frames)}, "label": "guided"}]
    given["evaluate"] = {"overlap": {"model": "nli", "data": {**DATA, "split": "test"}, "metrics": metrics}}

    def planned(*rows: dict[str, Any]) -> Cell:
        frames.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
        return make_plan(*read_study(given)[:2]).cells[-1]

    rows = [{"text": text, "frames": []} for text in sorted(texts)]
    cell = planned(*rows)
    plain, guided = cell.config["metrics"]
    assert "content" not in plain
    assert guided["options"] == {"guide": str(frames)}
    assert planned(*rows).name == cell.name
    changed = {**rows[0], "frames": [{"predicate": [0, 3], "roles": [["ARG0", 4, 6]]}]}
    assert planned(changed, *rows[1:]).name != cell.name
    with pytest.raises(StudyError, match=r"'accuracy' cannot apply to planted-nli: .*frames.jsonl: no frames of '"):
        planned(*rows[:2])
    with pytest.raises(StudyError, match=r"frames.jsonl:2 \(field 'frames'\): the field is missing"):
        planned(rows[0], {"text": "x"})
