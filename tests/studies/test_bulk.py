"""Explaining at scale: every row once, whatever stops the run; the explanations as `explain` gives them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import saywhy
from saywhy.cli import main
from saywhy.errors import CapabilityError, DataError, InputError, OptionError
from saywhy.studies import explain_many, read_explanations
from saywhy.studies import shards as shards_module
from saywhy.types import Example
from tests import zoo

TEXTS = [f"A {'gripping' if i % 2 else 'dull'} film, number {i} of many." for i in range(20)]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("model")
    zoo.classifier().save(folder)
    return str(folder)


@pytest.fixture
def data(tmp_path: Path) -> str:
    return write(tmp_path / "big.parquet", TEXTS)


def write(path: Path, texts: list[Any]) -> str:
    table = pa.Table.from_pylist([{"id": f"r{i}", "review": text} for i, text in enumerate(texts)])
    pq.write_table(table, path, row_group_size=7)
    return str(path)


def rows(path: Path) -> list[dict[str, Any]]:
    return list(pq.read_table(path).to_pylist())


@pytest.mark.parametrize("size", [1, 6, 20, 256])
def test_every_row_once_and_as_explain_gives_it(model: str, data: str, tmp_path: Path, size: int) -> None:
    out = tmp_path / "why.parquet"
    result = explain_many(model, data, out, ["gradient", "leave-one-out"], shard_size=size, batch_size=1)
    assert (result.rows, result.explanations, result.failed, result.reused) == (20, 40, 0, 0)
    found = rows(out)
    assert [(r["row"], r["id"], r["method"]) for r in found] == [
        (i, f"r{i}", method) for i in range(20) for method in ("gradient", "leave-one-out")
    ]
    assert sorted(os.listdir(tmp_path)) == [
        "big.parquet",
        "why.parquet",
    ]
    whole = saywhy.explain(saywhy.load(model), TEXTS, "gradient", batch_size=1)
    assert list(read_explanations(out, ["gradient"])) == whole
    assert found[0]["prediction"] == whole[0].prediction.label
    assert found[0]["fingerprint"] == whole[0].header.model


@pytest.mark.parametrize("kind", ["pair", "choices", "alignments", "integrated-gradients", "verdict"])
def test_kinds_of_explanations_come_back_as_they_were(kind: str, tmp_path: Path) -> None:
    inputs: dict[str, tuple[Any, list[Example]]] = {
        "pair": (zoo.pair_classifier(), [Example(zoo.PAIR), Example(("People sit.", "A car sits."))]),
        "choices": (zoo.chooser(), [Example(("What do you do?",), choices=("sleep", "run away"))]),
    }
    model, examples = inputs.get(kind if kind != "alignments" else "pair", (zoo.classifier(), [Example(("A film.",))]))
    options: dict[str, Any] = {"space": "alignments"} if kind == "alignments" else {}
    method = "integrated-gradients" if kind == "integrated-gradients" else "random" if options else "leave-one-out"
    made = saywhy.explain(model, examples, method, verdict=kind == "verdict", **options)
    table = pa.Table.from_pylist(
        [shards_module.explanation_row(i, e, why) for i, (e, why) in enumerate(zip(examples, made, strict=True))],
        schema=shards_module.explanations_schema(),
    )
    pq.write_table(table, tmp_path / "why.parquet")
    assert list(read_explanations(tmp_path / "why.parquet")) == made
    assert (made[0].verdict is not None) == (kind == "verdict")


class Fails:
    """Explains some shards, then dies as a process does that is killed."""

    def __init__(self, after: int) -> None:
        self.left = after
        self.done: list[str] = []

    def __call__(self, given: Any, root: str) -> str:
        if not self.left:
            raise KeyboardInterrupt
        self.left -= 1
        self.done.append(given["name"])
        return shards_module.do_shard(given, root)


@pytest.fixture
def stopped(model: str, data: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run that was stopped after two of its shards."""
    out = tmp_path / "why.parquet"
    with monkeypatch.context() as patched:
        patched.setattr("saywhy.studies.bulk.do_shard", Fails(after=2))
        with pytest.raises(KeyboardInterrupt):
            explain_many(model, data, out, ["gradient"], shard_size=6)
    assert not out.exists()
    return out


def test_a_stopped_run_goes_on_with_what_is_missing(
    model: str, data: str, stopped: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = Fails(after=99)
    monkeypatch.setattr("saywhy.studies.bulk.do_shard", work)
    result = explain_many(model, data, stopped, ["gradient"], shard_size=6)
    assert work.done == ["shard-00002.parquet", "shard-00003.parquet"]
    assert (result.rows, result.reused) == (20, 12)
    assert [r["row"] for r in rows(stopped)] == list(range(20))
    again = explain_many(model, data, stopped.with_name("at-once.parquet"), ["gradient"], shard_size=6)
    assert rows(again.path) == rows(stopped)
    assert sorted(p.name for p in stopped.parent.iterdir()) == ["at-once.parquet", "big.parquet", "why.parquet"]


def test_other_settings_are_refused_and_force_begins_anew(model: str, data: str, stopped: Path) -> None:
    with pytest.raises(OptionError, match=r"other settings \(methods was \['gradient'\], is \['random'\]"):
        explain_many(model, data, stopped, ["random"], shard_size=6)
    with pytest.raises(OptionError, match="shard_size was 6, is 5"):
        explain_many(model, data, stopped, ["gradient"], shard_size=5)
    result = explain_many(model, data, stopped, ["random"], shard_size=6, force=True)
    assert result.reused == 0
    assert {r["method"] for r in rows(stopped)} == {"random"}


def test_data_that_changed_is_noticed(model: str, data: str, stopped: Path) -> None:
    write(Path(data), [*TEXTS[:8], "Another film.", *TEXTS[9:]])
    with pytest.raises(DataError, match="rows 6 to 11 are not those that were explained before"):
        explain_many(model, data, stopped, ["gradient"], shard_size=6)


def test_a_finished_file_is_not_made_again(
    model: str, data: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "why.parquet"
    explain_many(model, data, out, ["random"])
    monkeypatch.setattr("saywhy.studies.bulk.do_shard", Fails(after=0))
    result = explain_many(model, data, out, ["random"])
    assert (result.rows, result.reused, result.explanations) == (20, 20, 20)
    with pytest.raises(OptionError, match="made with other settings"):
        explain_many(model, data, out, ["random"], seed=1)
    write(Path(data), TEXTS[:-1])
    with pytest.raises(DataError, match="made of other rows"):
        explain_many(model, data, out, ["random"])
    with pytest.raises(KeyboardInterrupt):
        explain_many(model, data, out, ["random"], force=True)
    assert len(rows(out)) == 20, "the old file is there until there is a new one"
    (tmp_path / "mine.parquet").write_text("not a table")
    with pytest.raises(OptionError, match="is not a file of explanations"):
        explain_many(model, data, tmp_path / "mine.parquet", ["random"])


def test_a_shard_with_the_wrong_rows_is_not_merged(model: str, data: str, stopped: Path) -> None:
    folder = stopped.with_name("why.parquet.parts")
    second = pq.read_table(folder / "shard-00001.parquet")
    pq.write_table(second.slice(0, 5), folder / "shard-00001.parquet")
    with pytest.raises(DataError, match="does not hold the rows it should"):
        explain_many(model, data, stopped, ["gradient"], shard_size=6)
    assert not stopped.exists()


BAD: list[Any] = ["A film.", "", None, "film " * 100, "Dull"]


def test_a_bad_row_stops_the_run_and_is_named(model: str, tmp_path: Path) -> None:
    out = tmp_path / "why.parquet"
    with pytest.raises(DataError, match=r"big.parquet:2 .*the text is empty"):
        explain_many(model, write(tmp_path / "big.parquet", BAD), out, ["random"])
    data = write(tmp_path / "long.parquet", ["A film.", "Dull", "Fine.", "film " * 100])
    with pytest.raises(InputError, match=r"row 3: .*long.parquet:4 has 102 pieces.*on_error='skip'"):
        explain_many(model, data, out, ["random"], shard_size=2)
    result = explain_many(model, data, out, ["random"], shard_size=2, on_error="skip")
    assert (result.reused, result.failed) == (2, 1), "what is done is kept when the bad row is to be skipped"
    assert explain_many(model, data, out, ["random"], truncation="head", force=True).failed == 0


def test_bad_rows_are_skipped_with_a_message(model: str, tmp_path: Path) -> None:
    out = tmp_path / "why.parquet"
    data = write(tmp_path / "big.parquet", BAD)
    result = explain_many(model, data, out, ["random", "gradient"], on_error="skip", shard_size=2)
    assert (result.rows, result.explanations, result.failed) == (5, 4, 6)
    said = {r["row"]: r["error_message"] for r in rows(out)}
    assert [row for row, message in said.items() if message is None] == [0, 4]
    assert "is empty" in said[1]
    assert "null" in said[2]
    assert "102 pieces" in said[3]
    assert [why.header.texts for why in read_explanations(out, ["random"])] == [("A film.",), ("Dull",)]
    assert explain_many(model, data, out, ["random", "gradient"], on_error="skip", shard_size=2).failed == 6


def test_one_bad_answer_does_not_spoil_its_shard(
    model: str, data: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from saywhy.explainers import explain

    def moody(model: Any, inputs: Any, *args: Any, **options: Any) -> Any:
        if any("number 3 " in e.texts[0] for e in inputs):
            raise InputError("the scores are not finite")
        return explain(model, inputs, *args, **options)

    monkeypatch.setattr("saywhy.explainers.explain", moody)
    out = tmp_path / "why.parquet"
    with pytest.raises(InputError, match="not finite"):
        explain_many(model, data, out, ["gradient"])
    assert explain_many(model, data, out, ["gradient"], on_error="skip", force=True).failed == 1
    assert [r["row"] for r in rows(out) if r["error_message"]] == [3]


def test_mistakes_are_seen_before_any_work(model: str, data: str, tmp_path: Path) -> None:
    out = tmp_path / "no" / "why.parquet"
    (tmp_path / "box.py").write_text("def ask(texts):\n    return [[0.5, 0.5]] * len(texts)\n")
    box = f"{tmp_path}/box.py:ask"
    with pytest.raises(OptionError, match="unknown on_error 'ignore'"):
        explain_many(model, data, out, on_error="ignore")
    with pytest.raises(OptionError, match="at least 1"):
        explain_many(model, data, out, shard_size=0)
    with pytest.raises(InputError, match="no label 'nobody'"):
        explain_many(model, data, out, target="nobody")
    with pytest.raises(OptionError, match="has no option 'nothing'"):
        explain_many(model, data, out, ["gradient"], nothing=1)
    with pytest.raises(CapabilityError, match="needs gradients"):
        explain_many(box, data, out, ["gradient"], labels=["a", "b"])
    with pytest.raises(OptionError, match="every worker loads the model itself"):
        explain_many(zoo.classifier(), data, out)  # type: ignore[arg-type]
    assert not out.parent.exists()
    empty = write(tmp_path / "empty.parquet", ["x"])
    pq.write_table(pq.read_table(empty).slice(0, 0), empty)
    with pytest.raises(DataError, match="no rows to explain"):
        explain_many(model, empty, out)
    result = explain_many(box, data, out, ["leave-one-out"], labels=["a", "b"], force=True)
    assert result.explanations == 20


def test_a_named_dataset_and_a_limit(model: str, tmp_path: Path) -> None:
    out = tmp_path / "why.parquet"
    options = {"size": "demo", "n": {"train": 4, "dev": 4, "test": 9}}
    common: dict[str, Any] = {"truncation": "head", "data_options": options}
    assert explain_many(model, "planted-reviews", out, ["random"], **common).rows == 9
    result = explain_many(model, "planted-reviews", out, ["random"], split="dev", limit=3, force=True, **common)
    assert result.rows == 3


def test_two_runs_do_not_write_one_file(model: str, data: str, tmp_path: Path) -> None:
    from filelock import FileLock

    with (
        FileLock(f"{tmp_path}/why.parquet.lock"),
        pytest.raises(OptionError, match="another run is writing"),
    ):
        explain_many(model, data, tmp_path / "why.parquet", ["random"])


def test_places_that_cannot_be_reached(model: str, data: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody(*_: Any, **__: Any) -> Any:
        raise ConnectionError("nobody at that address")

    (tmp_path / "file").write_text("")
    with pytest.raises(OptionError, match=r"cannot write .*file/why.parquet"):
        explain_many(model, data, tmp_path / "file" / "why.parquet", ["random"])
    monkeypatch.setattr("saywhy.studies.bulk.open_engine", nobody)
    with pytest.raises(OptionError, match="the engine cannot be reached: nobody at that address"):
        explain_many(model, data, tmp_path / "why.parquet", ["random"], engine="ray", address="nowhere:1")


def test_no_more_is_read_than_workers_need(
    model: str, data: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from saywhy.data import Dataset

    seen: list[int] = []
    stream = Dataset.stream

    def counted(self: Dataset, split: str) -> Iterator[Example]:
        for i, example in enumerate(stream(self, split)):
            seen.append(i)
            yield example

    ahead: list[int] = []
    monkeypatch.setattr(Dataset, "stream", counted)
    explain_many(
        model,
        data,
        tmp_path / "why.parquet",
        ["random"],
        shard_size=2,
        progress=lambda rows, _: ahead.append(len(seen) - rows),
    )
    assert len(ahead) == 10
    assert max(ahead) <= 2


def test_the_command(
    model: str, data: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    command = ["explain", model, "--data", "big.parquet", "--out", "why.parquet", "-m", "random"]
    main_exits(command, 0)
    assert "wrote why.parquet: 20 explanations of 20 rows" in capsys.readouterr().out
    main_exits([*command, "--json"], 0)
    assert json.loads(capsys.readouterr().out)["reused"] == 20
    main_exits([*command, "--dry-run", "--json", "--workers", "2"], 0)
    guess = json.loads(capsys.readouterr().out)
    assert guess["rows"] == 20
    assert guess["seconds"] == pytest.approx(guess["seconds_a_row"] * 10)
    for more, said in {
        ("--seed", "1"): "seed was 0, is 1",
        ("--html", "x.html"): "--html does not go with --data",
    }.items():
        main_exits([*command, *more], 2)
        assert said in capsys.readouterr().err
    main_exits(command[:4], 2)
    assert "--data needs --out" in capsys.readouterr().err
    main_exits(["explain", model, "A film.", "--workers", "2"], 2)
    assert "--workers goes with --data" in capsys.readouterr().err
    main_exits(["explain", model], 2)
    assert "give a text to explain" in capsys.readouterr().err


def main_exits(arguments: list[str], wanted: int) -> None:
    try:
        main(arguments)
        code = 0
    except SystemExit as end:
        code = int(end.code or 0)
    assert code == wanted


def start(model: str, data: str, out: Path, *more: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "saywhy", "explain", model, "--data", data, "--out", str(out), "-m", "gradient"]
    return subprocess.Popen([*command, "--shard-size", "2", *more], stdout=subprocess.PIPE, text=True)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["local", "ray"])
def test_killed_and_resumed_no_row_is_lost_and_none_twice(model: str, data: str, tmp_path: Path, engine: str) -> None:
    if engine == "ray":
        pytest.importorskip("ray")
    at_once = explain_many(model, data, tmp_path / "at-once.parquet", ["gradient"], shard_size=2)
    out = tmp_path / "why.parquet"
    many = ("--engine", engine, "--workers", "2")
    run = start(model, data, out, *many)
    parts = Path(f"{out}.parts")
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline and len(list(parts.glob("shard-*.parquet"))) < 2:
        time.sleep(0.01)
    run.send_signal(signal.SIGKILL)
    run.wait()
    assert not out.exists()
    done = len(list(parts.glob("shard-*.parquet")))
    assert 2 <= done < 10
    again = start(model, data, out, *many)
    said, _ = again.communicate(timeout=300)
    assert again.returncode == 0
    assert "rows were done before" in said
    assert rows(out) == rows(at_once.path)


@pytest.mark.slow
def test_a_killed_worker_is_replaced(model: str, data: str, tmp_path: Path) -> None:
    at_once = explain_many(model, data, tmp_path / "at-once.parquet", ["gradient"], shard_size=2)
    killed: list[int] = []

    def kill(rows: int, reused: int) -> None:
        import multiprocessing

        workers = multiprocessing.active_children()
        if not killed and workers:
            killed.append(workers[0].pid or 0)
            os.kill(killed[0], signal.SIGKILL)

    out = tmp_path / "why.parquet"
    explain_many(model, data, out, ["gradient"], shard_size=2, workers=2, progress=kill)
    assert killed
    assert rows(out) == rows(at_once.path)
