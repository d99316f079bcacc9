from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from saywhy.errors import LoadError
from saywhy.reports.model_card import model_card, study_cards, write_card

from .conftest import result
from .made import RUN, study


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "run.json").write_text(json.dumps(RUN))
    (tmp_path / "saywhy.json").write_text(json.dumps({"task": "text", "labels": ["no", "yes"], "max_length": 64}))
    return tmp_path


def test_the_card_says_what_was_trained_how_and_on_what(folder: Path) -> None:
    card = model_card(folder)
    _, front, _ = card.split("---\n", 2)
    assert yaml.safe_load(front) == {"library_name": "saywhy", "tags": ["saywhy", "plain"], "datasets": ["reviews"]}
    assert "# plain on reviews\n" in card
    for line in (
        "labels: no, yes",
        "network or starting point: gru",
        "options: width: 8",
        "examples: 600",
        "splits: train: c0ffee",
        "loop: epochs: 3",
        "seed: 0",
        "score on the development split: 0.810 at step 20",
        "time: 1 min 15 s",
        "CPU time of a step: 1.5 s",
        "memory: 0.50 GiB",
    ):
        assert f"- {line}\n" in card
    assert "## How" not in card


def test_metrics_of_the_model_and_of_explanations_have_tables_of_their_own(folder: Path) -> None:
    results = [
        result("accuracy", "", 0.9),
        result("truth", "lime", 0.5),
        result("sufficiency", "lime", 0.2, higher=False),
        result("truth", "random", 0.1),
    ]
    card = model_card(folder, results={"reviews, test": results})
    assert "| reviews, test | accuracy | 0.900 | 0.880 to 0.920 | 100 |" in card
    assert "| data | method | truth ↑ | sufficiency ↓ |" in card
    assert r"| reviews, test | lime | 0.500 \[0.480, 0.520\] | 0.200 \[0.180, 0.220\] |" in card
    assert r"| reviews, test | random | 0.100 \[0.080, 0.120\] |  |" in card


def test_nothing_of_the_user_is_markup(folder: Path) -> None:
    bad = "<script>x</script> | [a](b) `c`\n# d"
    (folder / "saywhy.json").write_text(json.dumps({"labels": [bad]}))
    card = model_card(folder, title=bad, base=bad, facts={"study": bad}, results={bad: [result("truth", bad, 0.5)]})
    assert "<script" not in card
    assert "](b)" not in card.replace(r"\](b)", "")
    assert "\n# d" not in card
    (line,) = [line for line in card.splitlines() if "0.500" in line]
    assert line.replace(r"\|", "").count("|") == 4


def test_paths_are_nobodys_business(folder: Path) -> None:
    run = json.loads(json.dumps(RUN))
    run["config"]["model"]["name"] = "/home/somebody/secret/base"
    run["config"]["data"]["name"] = "../x y.csv"
    (folder / "run.json").write_text(json.dumps(run))
    card = model_card(folder)
    assert "secret" not in card
    assert "starting point: base" in card
    assert "datasets:" not in card


def test_a_card_is_written_again_but_never_over_somebody_elses(folder: Path) -> None:
    path = write_card(folder)
    assert path == folder / "README.md"
    assert write_card(folder, title="new") == path
    assert "# new\n" in path.read_text(encoding="utf-8")
    path.write_text("mine")
    assert write_card(folder) is None
    assert path.read_text() == "mine"


def test_a_folder_without_a_training_run_has_no_card(tmp_path: Path) -> None:
    with pytest.raises(LoadError, match=r"run\.json"):
        model_card(tmp_path)


def test_a_study_gives_each_model_what_was_measured_on_it(tmp_path: Path) -> None:
    made = study(tmp_path)
    before = {name: (tmp_path / "cells" / name / "result.json").read_bytes() for name in made.results}
    cards = study_cards(made)
    assert len(cards) == 2
    first, second = (card.read_text(encoding="utf-8") for card in cards)
    assert "# small, seed 0\n" in first
    assert r"| reviews, test | lime | 0.600 \[0.500, 0.700\]" in first
    assert r"| reviews, test | lime | 0.610 \[0.510, 0.710\]" in second
    assert "| reviews, test | accuracy | 0.910 |" in second
    assert "- study: made\n" in first
    assert before == {name: (tmp_path / "cells" / name / "result.json").read_bytes() for name in made.results}
