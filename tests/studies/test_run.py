from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

import saywhy
from saywhy.errors import OptionError
from saywhy.loop import read_run
from saywhy.studies import StudyError, StudyResult, run_study
from saywhy.studies import engines as engines_module
from saywhy.studies.cells import Cell, Store
from saywhy.studies.estimate import estimate_plan
from saywhy.studies.run import plan_study
from saywhy.studies.work import do_cell
from tests.studies.small import DATA, study

SMALL = {"seeds": [0], "evaluate__truth__methods": ["random", "gradient"]}


class Told:
    """Remembers what a study tells of its cells."""

    def __init__(self) -> None:
        self.events: list[tuple[str, str]] = []

    def __call__(self, cell: Cell, what: str, done: int, total: int) -> None:
        self.events.append((what, cell.title))
        assert 0 <= done <= total

    def of(self, what: str) -> list[str]:
        return [title for kind, title in self.events if kind == what]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> StudyResult:
    return run_study(study(**SMALL), out=tmp_path_factory.mktemp("study"))


def test_every_cell_has_its_file_and_the_table_its_rows(finished: StudyResult) -> None:
    store = Store(finished.folder)
    assert all(store.done(cell.name) for cell in finished.plan.cells)
    assert not list(store.cells.glob("*.part"))
    assert not list(store.cells.glob("*.lock"))
    rows = {(row.method, row.metric): row for row in finished.table.rows}
    assert set(rows) == {("", "accuracy")} | {
        (method, metric) for method in ("random", "gradient") for metric in ("truth", "sufficiency")
    }
    assert rows["", "accuracy"].n == 6
    assert rows["gradient", "truth"].low <= rows["gradient", "truth"].value <= rows["gradient", "truth"].high
    assert rows["gradient", "truth"].difference is not None
    assert rows["random", "truth"].difference is None


def test_finished_cells_are_never_run_again(finished: StudyResult, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: Any) -> str:
        raise AssertionError("a finished cell was run again")

    monkeypatch.setattr(engines_module, "do_cell", never)
    told = Told()
    again = run_study(study(**SMALL), out=finished.folder, progress=told)
    assert again.table == finished.table
    assert {what for what, _ in told.events} == {"reused"}


def test_a_new_method_runs_only_its_own_cells(finished: StudyResult, tmp_path: Path) -> None:
    import shutil

    shutil.copytree(finished.folder, tmp_path / "copy")
    told = Told()
    changed = study(**{**SMALL, "evaluate__truth__methods": ["random", "gradient", "input-x-gradient"]})
    more = run_study(changed, out=tmp_path / "copy", progress=told)
    assert told.of("done") == ["evaluate plain · planted-reviews · input-x-gradient · seed 0"]
    assert [r for r in more.table.rows if r.method != "input-x-gradient"] == list(finished.table.rows)


def test_models_are_compared(tmp_path: Path) -> None:
    untrained = {**study()["train"]["plain"], "options": {**study()["train"]["plain"]["options"], "epochs": 0}}
    compared = {
        "model": "plain",
        "data": {**DATA, "split": "test"},
        "methods": ["gradient"],
        "metrics": ["model-jaccard"],
        "against": ["plain", "untrained"],
    }
    result = run_study(study(train__untrained=untrained, evaluate={"same": compared}), out=tmp_path)
    (row,) = result.table.rows
    assert 0 < row.value < 1
    bins = [r["results"][0]["result"]["bins"] for r in result.results.values() if "results" in r]
    assert bins[0]["plain (seed 1)"] == bins[1]["plain (seed 0)"]
    assert set(bins[0]) == {"plain (seed 1)", "untrained (seed 0)", "untrained (seed 1)"}


def test_a_model_may_need_another_as_an_option(tmp_path: Path) -> None:
    plain = study()["train"]["plain"]
    fresh = {**plain, "objective": "fresh", "options": {**plain["options"], "support": "plain", "method": "gradient"}}
    measured = {"model": "fresh", "data": {**DATA, "split": "test"}, "metrics": ["accuracy"]}
    given = study(seeds=[0], train__fresh=fresh, evaluate={"done": measured})
    estimate = estimate_plan(plan_study(given)[0], tmp_path)
    assert estimate.seconds > 0
    assert len(run_study(given, out=tmp_path).table.rows) == 1
    assert estimate_plan(plan_study(given)[0], tmp_path).seconds == 0


def test_force_runs_what_is_named_again(finished: StudyResult, tmp_path: Path) -> None:
    import shutil

    shutil.copytree(finished.folder, tmp_path / "copy")
    told = Told()
    run_study(study(**SMALL), out=tmp_path / "copy", only=["gradient"], force=True, progress=told)
    assert told.of("done") == ["evaluate plain · planted-reviews · gradient · seed 0"]
    told = Told()
    run_study(study(**SMALL), out=tmp_path / "copy", progress=told)
    assert told.of("done") == []


def test_a_cell_that_fails_fails_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def sometimes(given: dict[str, Any], root: str) -> str:
        cell = Cell.from_dict(given)
        if cell.facts.get("method") == "gradient":
            raise RuntimeError("out of luck")
        return do_cell(given, root)

    monkeypatch.setattr(engines_module, "do_cell", sometimes)
    told = Told()
    with pytest.raises(StudyError, match=r"1 of 4 cells failed; the others are kept:\n.*gradient.*: out of luck"):
        run_study(study(**SMALL), out=tmp_path, progress=told)
    assert len(told.of("done")) == 3
    assert told.of("failed") == ["evaluate plain · planted-reviews · gradient · seed 0"]
    monkeypatch.undo()
    told = Told()
    run_study(study(**SMALL), out=tmp_path, progress=told)
    assert len(told.of("done")) == 1


def test_what_needs_a_failed_cell_is_not_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(given: dict[str, Any], root: str) -> str:
        assert given["kind"] == "train"
        raise RuntimeError("out of luck")

    monkeypatch.setattr(engines_module, "do_cell", never)
    with pytest.raises(StudyError, match="4 of 4 cells failed"):
        run_study(study(**SMALL), out=tmp_path)


def test_engines_that_do_not_exist(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="unknown engine 'cloud'; use one of local, ray"):
        run_study(study(**SMALL), out=tmp_path, engine="cloud")
    with pytest.raises(OptionError, match="an address goes with the engine ray"):
        run_study(study(**SMALL), out=tmp_path, address="auto")
    with pytest.raises(OptionError, match="workers must be at least 1"):
        run_study(study(**SMALL), out=tmp_path, workers=0)


def test_a_result_is_there_whole_or_not_at_all(tmp_path: Path) -> None:
    store = Store(tmp_path)
    cell = Cell("evaluate", {"a": 1}, {"threads": 1})
    store.part(cell.name).mkdir(parents=True)
    (store.part(cell.name) / "half").write_text("x")
    assert not store.done(cell.name)
    store.finish(cell, {"x": 1})
    assert store.done(cell.name)
    assert store.read(cell.name) == {"x": 1}
    assert not store.part(cell.name).exists()
    store.forget(cell.name)
    assert not store.done(cell.name)
    assert Cell.from_dict(cell.to_dict()).name == cell.name


def test_a_training_that_another_version_began_starts_again(tmp_path: Path) -> None:
    plan, _ = plan_study(study(**SMALL))
    (cell,) = (cell for cell in plan.cells if cell.kind == "train")
    begun = Store(tmp_path).part(cell.name) / "model"
    saywhy.train("plain", "planted-reviews", "gru", out=begun, data_options=DATA["options"], max_steps=1, quiet=True)
    told = Told()
    run_study(study(**SMALL), out=tmp_path, only=["train"], progress=told)
    assert told.of("done") == [cell.title]
    run = read_run(Store(tmp_path).folder(cell.name) / "model")
    assert run is not None
    assert run["config"]["model"]["name"] != "gru"


SCRIPT = """
import sys
from saywhy.studies import run_study
if __name__ == "__main__":
    run_study(sys.argv[1], out=sys.argv[2], engine=sys.argv[3], workers=int(sys.argv[4]))
"""


def start(folder: Path, out: Path, engine: str = "local", workers: int = 1) -> subprocess.Popen[bytes]:
    script = folder / "run.py"
    script.write_text(SCRIPT)
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    arguments = [sys.executable, str(script), str(folder / "study.yaml"), str(out), engine, str(workers)]
    return subprocess.Popen(arguments, env=environment, start_new_session=True)


def wait_for(out: Path, count: int, process: subprocess.Popen[bytes]) -> None:
    """Until so many cells are there."""
    for _ in range(2400):
        if len(list((out / "cells").glob("*/result.json"))) >= count or process.poll() is not None:
            return
        time.sleep(0.05)


def workers_of(process: subprocess.Popen[bytes]) -> list[int]:
    """The processes that work for a study: children of the server that it started."""

    def children(of: int) -> list[int]:
        found = subprocess.run(["pgrep", "-P", str(of)], capture_output=True, text=True, check=False)
        return [int(child) for child in found.stdout.split()]

    return [worker for server in children(process.pid) for worker in children(server)]


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, StudyResult]:
    """A study file, and what it gives when nobody disturbs it."""
    folder = tmp_path_factory.mktemp("reference")
    (folder / "study.yaml").write_text(yaml.safe_dump(study()), encoding="utf-8")
    return folder, run_study(folder / "study.yaml", out=folder / "out")


@pytest.mark.slow
def test_two_kills_change_nothing(reference: tuple[Path, StudyResult], tmp_path: Path) -> None:
    folder, expected = reference
    for count in (1, 4):
        process = start(folder, tmp_path)
        wait_for(tmp_path, count, process)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    assert start(folder, tmp_path).wait() == 0
    told = Told()
    assert run_study(folder / "study.yaml", out=tmp_path, progress=told).table == expected.table
    assert not told.of("done")


@pytest.mark.slow
def test_two_workers_one_of_them_killed_give_the_same_table(
    reference: tuple[Path, StudyResult], tmp_path: Path
) -> None:
    folder, expected = reference
    process = start(folder, tmp_path, workers=2)
    wait_for(tmp_path, 2, process)
    workers = workers_of(process)
    assert workers
    os.kill(workers[-1], signal.SIGKILL)
    assert process.wait() == 0
    assert run_study(folder / "study.yaml", out=tmp_path).table == expected.table


@pytest.mark.slow
def test_ray_gives_the_same_table(reference: tuple[Path, StudyResult], tmp_path: Path) -> None:
    pytest.importorskip("ray")
    folder, expected = reference
    assert start(folder, tmp_path, "ray", 2).wait() == 0
    assert run_study(folder / "study.yaml", out=tmp_path).table == expected.table


def test_cells_that_share_data_read_it_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import saywhy.data

    read: list[str] = []
    load_dataset = saywhy.data.load_dataset

    def counted(name: str, **options: Any) -> Any:
        read.append(name)
        return load_dataset(name, **options)

    monkeypatch.setattr(saywhy.data, "load_dataset", counted)
    run_study(study(seeds=[0, 1]), out=tmp_path / "first")
    assert len(read) == 1
    # The next study reads anew: files may have changed.
    run_study(study(seeds=[3]), out=tmp_path / "second")
    assert len(read) == 2
