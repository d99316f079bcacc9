from __future__ import annotations

import json
from pathlib import Path

import pytest

from saywhy.cli import main

MODEL = """
def liking(texts):
    return [[0.1, 0.9] if "good" in text else [0.8, 0.2] for text in texts]

def hating(texts):
    return [[0.1, 0.9] if "long" in text else [0.8, 0.2] for text in texts]
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "model.py").write_text(MODEL, encoding="utf-8")
    rows = [("a good film", "yes"), ("one good day", "yes"), ("a long day", "no"), ("no thanks", "no")] * 3
    lines = ["text,label", *(f"{text},{label}" for text, label in rows)]
    (tmp_path / "texts.csv").write_text("\n".join(lines), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


COMMON = ["--data", "texts.csv", "--labels", "no,yes"]


def run(*arguments: str) -> int:
    try:
        main(list(arguments))
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def test_check_passes_and_fails(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("check", "model.py:liking", *COMMON, "--require", "accuracy>=0.9", "--junit", "c.xml") == 0
    assert 'failures="0"' in (home / "c.xml").read_text(encoding="utf-8")
    assert run("check", "model.py:hating", *COMMON, "--require", "accuracy>=0.9", "--out", "c.json") == 1
    assert json.loads((home / "c.json").read_text(encoding="utf-8"))["passed"] is False
    assert "FAILED" in capsys.readouterr().out
    assert run("check", "model.py:liking", *COMMON, "--require", "nonsense") == 2


def test_diff(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    how = ["--method", "leave-one-out", "--json"]
    assert run("diff", "model.py:liking", "model.py:liking", *COMMON, *how) == 0
    assert json.loads(capsys.readouterr().out)["same"] is True
    assert run("diff", "model.py:liking", "model.py:hating", *COMMON, *how, "--html", "d.html") == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["turned"], found["broken"]) == (9, 9)
    assert "9 of 12 predictions changed" in (home / "d.html").read_text(encoding="utf-8")


def test_overview(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("overview", "model.py:liking", *COMMON, "--method", "leave-one-out", "--html", "o.html") == 0
    assert "good" in capsys.readouterr().out
    assert "Decides for yes" in (home / "o.html").read_text(encoding="utf-8")


def test_counterfactual(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("counterfactual", "model.py:liking", "a good film", "--labels", "no,yes", "--json") == 0
    assert json.loads(capsys.readouterr().out)["new_texts"] == ["a film"]
    assert run("counterfactual", "model.py:liking", *COMMON, "--limit", "4") == 0
    assert "of 4 turned" in capsys.readouterr().out
    assert run("counterfactual", "model.py:liking", "--labels", "no,yes") == 2
