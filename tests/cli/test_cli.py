"""The command line as a person types it: exit codes, one-line errors, JSON, pages."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from saywhy.cli import main
from saywhy.cli.shared import parse_options
from tests import zoo


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    root = tmp_path_factory.mktemp("models")
    made = {"text": zoo.classifier(), "pair": zoo.pair_classifier(), "choices": zoo.chooser(), "span-qa": zoo.reader()}
    for name, model in made.items():
        model.save(root / name)
    return {name: str(root / name) for name in made}


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    try:
        main(list(arguments))
        code = 0
    except SystemExit as end:
        code = int(end.code or 0)
    out, err = capsys.readouterr()
    return code, out, err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["explain", "nosuchmodel", "x"], "there is no folder 'nosuchmodel'"),
        (["explain", "{text}", "a film", "-m", "gradeint"], "did you mean 'gradient'"),
        (["explain", "{text}", ""], "no words to explain"),
        (["explain", "{text}", " \t"], "no words to explain"),
        (["explain", "{text}", "a film", "--target", "nobody"], "the labels are negative, neutral, positive"),
        (["explain", "{text}", "a film", "-m", "gradient", "-O", "nothing=1"], "its options: aggregation"),
        (["explain", "{text}", "a film", "-m", "gradient", "-O", "nothing"], "write it as key=value"),
        (["explain", "{text}", "film " * 100], "truncation='head'"),
        (["explain", "{text}", "a film", "-O", "seed=3"], "--seed"),
        (["explain", "{text}", "a film", "-m", "integrated-gradients", "-O", "tolerance=much"], "must be float"),
        (["explain", "{text}", "a film", "-O", "tolerance=0.1"], "method 'auto' has no option 'tolerance'"),
        (["explain", "{text}", "a film", "--no-verdict", "--verdict-seeds", "2"], "leave --no-verdict out"),
        (["explain", "{text}", "a film", "--verdict-seeds", "-1"], "seeds at least 0"),
        (
            ["evaluate", "{text}", "--data", "planted-reviews", "--metrics", "accuracy", "--batch-size", "0"],
            "batch_size",
        ),
        (["train", "plain", "--data", "planted-reviews", "-O", "out=x"], "--out"),
        (["explain", "{pair}", "one text only"], "reads a pair of texts"),
        (["explain", "{choices}", "what?"], "give at least two choices"),
        (["explain", "nofile.py:predict", "x"], "there is no file nofile.py"),
        (["list", "method"], "did you mean 'methods'"),
        (["evaluate", "{text}", "--data", "planted-review"], "did you mean 'planted-reviews'"),
        (["evaluate", "{text}", "--data", "nosuch.csv"], "nosuch.csv"),
        (["train", "plane", "--data", "planted-reviews"], "did you mean 'plain'"),
        (["data", "show", "nosuchdata"], "unknown dataset"),
    ],
)
def test_mistakes_are_one_line_and_exit_code_2(
    arguments: list[str], said: str, folders: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(capsys, *(a.format(**folders) for a in arguments))
    assert code == 2
    assert out == ""
    assert err.startswith("saywhy: ")
    assert said in err
    assert len(err.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("kind", "texts"),
    [
        ("text", ["A gripping film."]),
        ("pair", list(zoo.PAIR)),
        ("choices", ["What do you do?", "--choice", "sleep", "--choice", "run away"]),
        ("span-qa", ["Who sits in a car?", "Passengers sit in a car."]),
    ],
)
@pytest.mark.parametrize("method", ["integrated-gradients", "leave-one-out", "attention"])
def test_explains_every_task(
    kind: str, texts: list[str], method: str, folders: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = run(capsys, "explain", folders[kind], *texts, "-m", method, "--json")
    assert code == 0
    why = json.loads(out)
    assert why["kind"] == "word-scores"
    assert why["header"]["method"] == method
    assert len(why["scores"]) == len(why["words"]) > 2
    code, out, _ = run(capsys, "explain", folders[kind], *texts, "-m", method)
    assert code == 0
    assert method in out


def test_the_verdict_is_printed_and_may_be_left_out(
    folders: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["explain", folders["text"], "A gripping, beautifully shot film.", "-m", "random"]
    code, out, _ = run(capsys, *arguments, "--verdict-seeds", "2")
    assert code == 0
    said = " ".join(out.split())
    assert "keeping these 2 words (" in said or "keeping this word (" in said
    assert "better than random words" in said
    assert "with 2 other seeds" in said
    code, out, _ = run(capsys, *arguments, "--no-verdict")
    assert code == 0
    assert "keeping" not in out
    code, out, _ = run(capsys, *arguments, "--no-verdict", "--json")
    assert json.loads(out)["verdict"] is None


def test_several_methods_and_a_page(
    folders: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "sub" / "why.html"
    code, out, _ = run(
        capsys,
        "explain",
        folders["text"],
        "A <b>gripping</b> film.",
        "-m",
        "gradient",
        "-m",
        "random",
        "--html",
        str(page),
    )
    assert code == 0
    assert str(page) in out.replace("\n", "")
    html = page.read_text()
    assert "&lt;" in html
    assert "<b>gripping" not in html


def test_explains_a_prediction_function(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "fan.py"
    file.write_text("def predict(texts):\n    return [[0.1, 0.9] if 'good' in t else [0.8, 0.2] for t in texts]\n")
    spec = f"{file}:predict"
    code, out, _ = run(capsys, "explain", spec, "a good film", "--labels", "no,yes", "--json")
    assert code == 0
    why = json.loads(out)
    assert why["header"]["parameters"]["chosen-by"] == "auto"
    assert why["header"]["target"] == "yes"
    assert why["verdict"]["better"] is True
    assert [round(s, 6) for s in why["scores"]] == [0.0, 0.7, 0.0]
    code, _, err = run(capsys, "explain", spec, "a good film", "--labels", "no,yes", "-m", "gradient")
    assert code == 2
    assert "leave-one-out" in err
    code, _, err = run(capsys, "explain", spec, "a good film")
    assert code == 2
    assert "labels=[...]" in err


@pytest.mark.parametrize("kind", ["methods", "metrics", "models", "objectives", "datasets"])
def test_lists(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "list", kind, "--json")
    assert code == 0
    entries = json.loads(out)
    assert entries
    wanted = {"name", "family", "tasks", "spaces", "needs", "fitted", "paper", "summary"}
    assert all(wanted <= set(entry) for entry in entries)
    assert [e["name"] for e in entries] == sorted(e["name"] for e in entries)
    code, out, _ = run(capsys, "list", kind)
    assert all(entry["name"] in out for entry in entries)


def test_evaluates_and_writes_a_report(
    folders: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = tmp_path / "mine.csv"
    data.write_text("text,label\nA gripping film,positive\nDull and lifeless,negative\nIt was fine,neutral\n")
    page = tmp_path / "report.html"
    code, out, _ = run(
        capsys, "evaluate", folders["text"], "--data", str(data), "--methods", "random,gradient",
        "--metrics", "faithfulness,accuracy", "-O", "score=normalised", "--json", "--html", str(page),
    )  # fmt: skip
    assert code == 0
    results = json.loads(out)["results"]
    assert {(r["method"], r["name"]) for r in results} == {
        ("", "accuracy"),
        *((m, n) for m in ("random", "gradient") for n in ("sufficiency", "comprehensiveness")),
    }
    assert all(r["low"] <= r["value"] <= r["high"] for r in results)
    assert "gradient" in page.read_text()


def test_shows_data(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    page = tmp_path / "data.html"
    code, out, _ = run(
        capsys, "data", "show", "planted-reviews", "-O", "size=demo", "--examples", "1", "--html", str(page)
    )
    assert code == 0
    assert "4000" in out
    assert page.exists()
    code, out, _ = run(capsys, "data", "show", "planted-reviews", "-O", "size=demo", "--json")
    assert json.loads(out)["labels"] == ["negative", "positive"]


def test_dry_run_prints_an_estimate_and_writes_nothing(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    out_folder = tmp_path / "run"
    arguments = ["train", "plain", "--data", "planted-reviews", "--data-option", "size=demo", "--limit", "64"]
    code, out, _ = run(capsys, *arguments, "--out", str(out_folder), "--dry-run", "--json")
    assert code == 0
    assert json.loads(out)["seconds"] > 0
    assert not out_folder.exists()


def test_numbers_and_labels_in_options() -> None:
    assert parse_options(["a=1e-3", "b=[no, yes]", "c=true", "d-e=5", "f=2.5E+2"]) == {
        "a": 0.001, "b": ["no", "yes"], "c": True, "d_e": 5, "f": 250.0,
    }  # fmt: skip


def test_debug_shows_the_traceback() -> None:
    command = [sys.executable, "-m", "saywhy", "--debug", "list", "nothing"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert "Traceback" in ended.stderr


def test_help_is_fast_because_nothing_heavy_is_imported() -> None:
    code = (
        "import sys; from saywhy.cli.app import app; sys.exit(any(m in sys.modules for m in ('torch', 'transformers')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
