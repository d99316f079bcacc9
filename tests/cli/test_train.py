from __future__ import annotations

import json
from pathlib import Path

import pytest

from saywhy.cli import main


def test_a_trained_model_has_a_card_with_what_was_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["train", "plain", "--data", "planted-reviews", "--epochs", "1", "--out", str(tmp_path / "m"), "--json"]
    arguments += ["--data-option", "n=16", "--data-option", "size=demo"]
    arguments += ["--model-option", "width=16", "--model-option", "layers=1", "--model-option", "heads=2"]
    with pytest.raises(SystemExit) as end:
        main(arguments)
    assert not end.value.code
    told = json.loads(capsys.readouterr().out)
    card = (tmp_path / "m" / "README.md").read_text(encoding="utf-8")
    assert told["card"] == str(tmp_path / "m" / "README.md")
    assert f"- fingerprint: {told['fingerprint']}\n" in card
    assert f"| planted-reviews, test | accuracy | {told['test']['value']:.3f} |" in card
    assert "- score on the development split:" in card
