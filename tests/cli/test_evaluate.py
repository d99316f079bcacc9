"""`saywhy evaluate`: spaces, comparisons, and what the report shows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from saywhy.cli import main
from tests import zoo


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("model")
    zoo.pair_classifier().save(folder)
    return str(folder)


@pytest.fixture
def data(tmp_path: Path) -> str:
    rows = [f"{a}\t{b}\tneutral" for a in ("A film", "Dull", "You sleep") for b in ("It was dull", "A car", "You run")]
    path = tmp_path / "pairs.tsv"
    path.write_text("\n".join(["premise\thypothesis\tlabel", *rows]))
    return str(path)


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    try:
        main(["evaluate", *arguments])
        code = 0
    except SystemExit as end:
        code = int(end.code or 0)
    out, err = capsys.readouterr()
    return code, " ".join(out.split()), err


def test_all_are_compared_with_random_and_two_on_request(
    model: str, data: str, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [
        model,
        "--data",
        data,
        "--split",
        "all",
        "--methods",
        "random,gradient,leave-one-out",
        "--metrics",
        "comprehensiveness",
    ]
    code, out, err = run(capsys, *arguments)
    assert code == 0, err
    assert "gradient" in out
    assert out.count("comprehensiveness: ") == 2
    code, out, err = run(capsys, *arguments, "--compare", "leave-one-out,gradient", "--json")
    assert code == 0, err
    pairs = [(c["first"], c["second"]) for c in json.loads(out)["comparisons"]]
    assert pairs == [("gradient", "random"), ("leave-one-out", "random"), ("leave-one-out", "gradient")]


@pytest.mark.parametrize("given", ["gradient", "gradient,lime", "random,gradient,random"])
def test_what_cannot_be_compared_is_said_first(given: str, model: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, model, "--data", "planted-nli", "--methods", "random,gradient", "--compare", given)
    assert (code, out) == (2, "")
    assert "--compare takes two of the methods" in err


def test_alignments_and_their_report(model: str, data: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "report.html"
    code, out, err = run(
        capsys,
        model,
        "--data",
        data,
        "--split",
        "all",
        "--methods",
        "gradient,leave-one-out",
        "--metrics",
        "aorc,method-jaccard",
        "--space",
        "alignments",
        "--limit",
        "3",
        "--html",
        str(page),
        "--json",
    )
    assert code == 0, err
    assert json.loads(out)["erasure"] == "co-attention"
    shown = page.read_text()
    assert "aorc" in shown
    assert "co-attention" in shown


def test_frames_of_your_own_guide(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    zoo.pair_classifier("decomposable-attention").save(tmp_path / "model")
    (tmp_path / "pairs.tsv").write_text("premise\thypothesis\tlabel\nYou sleep\tYou run\tneutral\n")
    frame = {"predicate": [4, 7], "roles": [["ARG0", 0, 3]]}
    rows = [{"text": text, "frames": [frame]} for text in ("You sleep", "You run")]
    frames = tmp_path / "frames.jsonl"
    frames.write_text("\n".join(map(json.dumps, rows)))
    arguments = [str(tmp_path / "model"), "--data", str(tmp_path / "pairs.tsv"), "--split", "all"]
    arguments += ["--metrics", "accuracy", "--option", f"guide={frames}", "--json"]
    code, out, err = run(capsys, *arguments)
    assert code == 0, err
    assert json.loads(out)["results"][0]["variant"]["guide"] == str(frames)
    frames.write_text(json.dumps({**rows[0], "frames": [{**frame, "predicate": [4, 70]}]}))
    code, out, err = run(capsys, *arguments)
    assert (code, out) == (2, "")
    assert "frames.jsonl:1 (field 'predicate'): the span [4, 70]" in " ".join(err.split()).replace(
        "frames. ", "frames."
    )
