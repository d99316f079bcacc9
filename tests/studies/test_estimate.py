from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from saywhy.data import load_dataset
from saywhy.data.words import example_words
from saywhy.explainers import methods
from saywhy.studies import estimate as estimates
from saywhy.studies import plan_study
from saywhy.studies.estimate import ROWS, _rows_of, estimate_plan
from tests.studies.small import study

PAIRS: dict[str, Any] = {"name": "planted-nli", "limit": 5}


def guess(space: str, method: str, folder: Path) -> float:
    """Rows of one measurement of five pairs."""
    given = study(
        seeds=[0],
        train__plain={"data": PAIRS, "model": "decomposable-attention"},
        evaluate={
            "one": {
                "model": "plain",
                "data": {**PAIRS, "split": "test"},
                "methods": [method],
                "metrics": ["truth"],
                "space": space,
            }
        },
    )
    (cell,) = [c for c in estimate_plan(plan_study(given)[0], folder).cells if c.cell.kind == "evaluate"]
    return cell.seconds


def test_the_features_of_alignments_are_pairs_of_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(estimates._Guesser, "_training", lambda *_: (1.0, 1.0))
    test = load_dataset("planted-nli", limit=5, split="test")
    sides = [[word.field for word in example_words(e)] for e in test]
    words = sum(len(own) for own in sides)
    cells = sum(own.count(0) * own.count(1) for own in sides)
    assert guess("words", "leave-one-out", tmp_path) == pytest.approx(words + 2 * 5)
    assert guess("alignments", "leave-one-out", tmp_path) == pytest.approx(cells + 2 * 5)
    assert guess("alignments", "arec", tmp_path) > 10 * guess("alignments", "leave-one-out", tmp_path)


def test_every_method_has_its_rows() -> None:
    assert set(methods.names()) - {"auto"} == ROWS.keys()


def test_the_options_of_a_method_count() -> None:
    def rows(name: str, **options: int) -> float:
        return _rows_of({"name": name, "options": options}, 100)

    assert rows("arec") == 3 * 300 * 8 / 2
    assert rows("arec", steps=150, samples=4) == rows("arec") / 4
    assert (rows("lime"), rows("lime", samples=40), rows("lime", samples=4000)) == (250, 40, 250)


def test_a_training_that_goes_on_from_another_is_timed_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    timed: list[tuple[str, Any, dict[str, Any]]] = []

    def train(objective: str, data: Any, model: Any, **options: Any) -> SimpleNamespace:
        timed.append((objective, model, options))
        return SimpleNamespace(seconds=float(len(timed)), seconds_per_step=1.0)

    monkeypatch.setattr("saywhy.objectives.train", train)
    given = study(seeds=[0], train__plain__options={"epochs": 2, "model_options": {"layers": 3}})
    given["train"]["longer"] = {**given["train"]["plain"], "objective": "ivra", "model": "plain"}
    given["train"]["longer"]["options"] = {"epochs": 9}
    plan, _ = plan_study(given)
    found = {c.cell.facts["step"]: c for c in estimate_plan(plan, tmp_path).cells if c.cell.kind == "train"}
    assert [found["plain"].seconds, found["longer"].seconds] == [1.0, 2.0]
    objective, model, options = timed[1]
    # The network of the first, as that one makes it, in the loop of the second.
    assert (objective, model, options["epochs"]) == ("ivra", "text-transformer", 9)
    assert options["model_options"] == {"layers": 3}
    # A model that is there is taken as it is.
    timed.clear()
    (tmp_path / "cells" / found["plain"].cell.name / "model").mkdir(parents=True)
    estimate_plan(plan, tmp_path)
    assert Path(timed[1][1]).name == "model"
    assert "model_options" not in timed[1][2]


def test_a_metric_that_asks_a_model_of_the_study_is_estimated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(estimates._Guesser, "_training", lambda *_: (1.0, 1.0))
    pairs = {"name": "planted-nli", "limit": 4}
    given = study(
        seeds=[0],
        train={
            "mpii": {"objective": "mpii", "data": pairs, "model": "mpii"},
            "critic": {"objective": "plain", "data": {"name": "critic-pairs", "options": {"source": "planted-nli"}}},
        },
        evaluate={
            "one": {
                "model": "mpii",
                "data": pairs,
                "methods": ["sentence"],
                "metrics": [{"critic-score": {"critic": "step:critic"}}],
            }
        },
    )
    found = estimate_plan(plan_study(given)[0], tmp_path)
    assert all(cell.seconds > 0 for cell in found.cells)
