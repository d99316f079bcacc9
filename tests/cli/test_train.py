from __future__ import annotations

import json
from pathlib import Path

import pytest

from saywhy.cli import main
from saywhy.data import load_dataset


def train_small(folder: Path, *more: str) -> None:
    arguments = ["train", "plain", "--data", "planted-reviews", "--epochs", "1", "--out", str(folder), *more]
    arguments += ["--data-option", "n=16", "--data-option", "size=demo"]
    arguments += ["--model-option", "width=16", "--model-option", "layers=1", "--model-option", "heads=2"]
    with pytest.raises(SystemExit) as end:
        main(arguments)
    assert not end.value.code


def test_a_large_test_split_is_tried_in_part_and_that_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("saywhy.cli.train.TRIED", 4)
    train_small(tmp_path / "m")
    said = " ".join(capsys.readouterr().out.split())
    whole = len(load_dataset("planted-reviews", n=16, size="demo")["test"])
    assert f"(n=4 of {whole}; saywhy evaluate takes them all)" in said


def test_a_trained_model_has_a_card_with_what_was_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    train_small(tmp_path / "m", "--json")
    told = json.loads(capsys.readouterr().out)
    card = (tmp_path / "m" / "README.md").read_text(encoding="utf-8")
    assert told["card"] == str(tmp_path / "m" / "README.md")
    assert f"- fingerprint: {told['fingerprint']}\n" in card
    assert f"| planted-reviews, test | accuracy | {told['test']['value']:.3f} |" in card
    assert "- score on the development split:" in card
