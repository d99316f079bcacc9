"""Metrics that ask a model which the same study trains."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from saywhy.studies import run_study
from saywhy.studies.plan import make_plan
from saywhy.studies.schema import StudyError, read_study

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
    result = run_study(study(), tmp_path, workers=1)
    assert "critic-score" in str(result.table if hasattr(result, "table") else result)
