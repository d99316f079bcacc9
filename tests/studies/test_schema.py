from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from saywhy.studies import StudyError, read_study
from tests.studies.small import study

GOOD = """\
study: tiny
seeds: [0, 1]
train:
  plain:
    objective: plain
    data: {name: planted-reviews, options: {size: demo}}
    options: {epochs: 1, learning_rate: [1e-3, 3e-3]}
evaluate:
  main:
    model: plain
    data:
      - planted-reviews
      - {name: sst2, limit: 10, label: SST}
    methods:
      - random
      - lime: {samples: 50}
    metrics:
      - truth
      - sufficiency: {score: normalised}
scales:
  paper:
    seeds: [1, 2, 3]
    train: {plain: {options: {epochs: 20}}}
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "study.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_what_a_file_says(tmp_path: Path) -> None:
    read, _, _ = read_study(write(tmp_path, GOOD))
    step = read.evaluate["main"]
    assert [d.title for d in step.data] == ["planted-reviews", "SST"]
    assert step.data[1].limit == 10
    assert [(m.name, m.options) for m in step.methods] == [("random", {}), ("lime", {"samples": 50})]
    assert step.metrics[1].options == {"score": "normalised"}
    assert read.train["plain"].objective == ["plain"]
    assert read.train["plain"].options["learning_rate"] == [1e-3, 3e-3]


@pytest.mark.parametrize(
    ("change", "limit", "options"),
    [
        ({"limit": 5}, 5, {"size": "demo"}),
        ({"name": "planted-reviews"}, None, {}),
        ({"name": "planted-reviews", "options": {"n": 20}}, None, {"n": 20}),
        ("planted-reviews", None, {}),
    ],
)
def test_a_dataset_that_a_scale_names_is_given_anew(change: Any, limit: int | None, options: dict[str, Any]) -> None:
    study = {
        "study": "tiny",
        "train": {"plain": {"data": {"name": "planted-reviews", "limit": 9, "options": {"size": "demo"}}}},
        "evaluate": {"main": {"model": "plain", "data": "planted-reviews", "metrics": "accuracy"}},
        "scales": {"paper": {"train": {"plain": {"data": change}}}},
    }
    (data,) = read_study(study, "paper")[0].train["plain"].data
    assert (data.limit, data.options) == (limit, options)


def test_a_scale_leaves_a_step_out() -> None:
    step = {"model": "plain", "data": "planted-reviews", "metrics": "accuracy"}
    study = {
        "study": "tiny",
        "train": {"plain": {"data": "planted-reviews"}, "more": {"data": "planted-reviews"}},
        "evaluate": {"main": step, "costly": step},
        "scales": {"paper": {"train": {"more": None}, "evaluate": {"costly": None, "main": {"seeds": None}}}},
    }
    paper, _, document = read_study(study, "paper")
    assert (list(paper.train), list(paper.evaluate)) == (["plain"], ["main"])
    assert list(document["evaluate"]) == ["main"]
    assert set(read_study(study)[0].evaluate) == {"main", "costly"}


def test_a_scale_changes_what_it_names_and_nothing_else(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD)
    quick, paper = read_study(path)[0], read_study(path, "paper")[0]
    assert (quick.seeds, paper.seeds) == ([0, 1], [1, 2, 3])
    assert paper.train["plain"].options == {"epochs": 20, "learning_rate": [1e-3, 3e-3]}
    assert paper.evaluate == quick.evaluate
    with pytest.raises(StudyError, match=r"line 20: there is no scale 'huge'; there are quick, paper"):
        read_study(path, "huge")


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("seeds: [0, 1]\n", "seedz: [0, 1]\n", 2, "unknown key 'seedz'; did you mean 'seeds'"),
        ("    objective: plain", "    objectiv: plain", 5, "unknown key 'objectiv'; did you mean 'objective'"),
        ("label: SST", "lable: SST", 13, "unknown key 'lable'; did you mean 'label'"),
        (
            "    metrics:\n      - truth",
            "    metric:\n      - truth",
            17,
            "unknown key 'metric'; did you mean 'metrics'",
        ),
        ("study: tiny", "study: Tiny Study", 1, "study: string should match pattern"),
        ("limit: 10", "limit: many", 13, "limit: input should be a valid integer"),
        ("seeds: [0, 1]", "seeds: []", 2, "at least 1 item"),
        ("    model: plain\n", "", 9, "the key 'model' is missing"),
        ("seeds: [0, 1]", "seeds: [0, 1", 3, "expected"),
        ("seeds: [0, 1]", "study: again", 2, "the key 'study' comes twice"),
    ],
)
def test_mistakes_name_their_line(tmp_path: Path, old: str, new: str, line: int, message: str) -> None:
    assert old in GOOD
    path = write(tmp_path, GOOD.replace(old, new, 1))
    with pytest.raises(StudyError) as caught:
        read_study(path)
    assert f"study.yaml, line {line}: " in str(caught.value)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_files_that_are_no_studies(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="cannot be read"):
        read_study(tmp_path / "nothing.yaml")
    with pytest.raises(StudyError, match="a study is a mapping"):
        read_study(write(tmp_path, "- a\n- b\n"))
    with pytest.raises(StudyError, match="a study is a mapping"):
        read_study(write(tmp_path, ""))


def test_a_mapping_is_read_as_a_file_and_left_as_it_is() -> None:
    given = study()
    before = repr(given)
    assert read_study(given)[0].study == "small"
    assert repr(given) == before
    with pytest.raises(StudyError, match="the study: unknown key 'seed'"):
        read_study(study(seed=3))
