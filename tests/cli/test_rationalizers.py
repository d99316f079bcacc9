"""A rationalizer from the command line: trained, then in new processes explained, measured, shown and used to clean."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from saywhy.cli import main
from tests.objectives.rationalizers import FILL, reviews

SMALL = "encoder_options={hidden_size: 12, embedding_size: 16}"


def write_reviews(folder: Path) -> Path:
    target = folder / "reviews.jsonl"
    lines = []
    for i, e in enumerate(reviews(240)):
        (span,) = e.rationales[0]
        # The deciding word stands at another place in every text: a selector of places would not find it.
        before = "".join(f"{phrase} " for phrase in FILL[: i // 2 % 5])
        place = [span.start + len(before), span.end + len(before)]
        lines.append({"text": before + e.texts[0], "label": e.label, "rationale": [place]})
    target.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return target


def train_arguments(data: Path, out: Path) -> list[str]:
    found = ["train", "ver", "--data", str(data), "--out", str(out), "--epochs", "25", "--batch-size", "16"]
    found += ["--learning-rate", "0.01", "--model-option", SMALL, "--json"]
    for option in ("target_sparsity=0.15", "anneal=0.4", "lambda2=0.1", "probes=true"):
        found += ["--option", option]
    return found


def in_process(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> Any:
    with pytest.raises(SystemExit) as end:
        main(arguments)
    assert not end.value.code, capsys.readouterr().err
    return json.loads(capsys.readouterr().out)


def elsewhere(arguments: list[str]) -> str:
    done = subprocess.run([sys.executable, "-m", "saywhy", *arguments], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_from_training_to_a_page_each_in_a_process_of_its_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, model = write_reviews(tmp_path), str(tmp_path / "ver")
    told = in_process(train_arguments(data, Path(model)), capsys)
    report = json.loads((tmp_path / "ver" / "run.json").read_text())["report"]
    assert abs(report["sparsity"] - 0.15) <= 0.03
    assert report["collapse"] == ""
    page = tmp_path / "why.html"
    text = "it rained all day and superb then I had soup"
    why = json.loads(elsewhere(["explain", model, text, "--json", "--html", str(page)]))
    assert why["header"]["method"] == "rationale"
    said = why["header"]
    assert max(zip(said["probabilities"], said["labels"], strict=True))[1] == "good"
    assert "superb" in page.read_text(encoding="utf-8")
    metrics = "token-f1,compactness,accuracy,rationale-accuracy,rationale-cross-entropy,lipschitz"
    arguments = ["evaluate", model, "--data", str(data), "--methods", "rationale", "--metrics", metrics, "--json"]
    found = {r["name"]: r["value"] for r in json.loads(elsewhere(arguments))["results"]}
    assert set(found) == set(metrics.split(","))
    assert found["accuracy"] > 0.9
    assert found["rationale-accuracy"] > 0.9
    assert found["token-f1"] > 0.35  # one word decides and about three are selected: with it 0.5, without it 0
    clean = tmp_path / "clean.parquet"
    facts = json.loads(elsewhere(["rationalize", model, "--data", str(data), "--out", str(clean), "--json"]))
    assert clean.exists()
    assert 0.05 < facts["kept"] < 0.3
    # The model that was loaded elsewhere is the one that was trained here.
    assert why["header"]["model"] == told["fingerprint"]


def test_what_was_trained_is_loaded_and_explained(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, model = write_reviews(tmp_path), tmp_path / "ver"
    arguments = train_arguments(data, model)
    arguments[arguments.index("25")] = "2"
    told = in_process(arguments, capsys)
    page = tmp_path / "why.html"
    why = in_process(["explain", str(model), "it was superb then", "--json", "--html", str(page)], capsys)
    assert (why["header"]["method"], why["header"]["model"]) == ("rationale", told["fingerprint"])
    assert "superb" in page.read_text(encoding="utf-8")
