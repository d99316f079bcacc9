"""A whole comparison at a very small size, with the one peer that is installed for the tests anyway."""

from __future__ import annotations

import importlib
import json
import os
import sys
from pathlib import Path

import pytest

from saywhy.benchmarks import comparison
from saywhy.benchmarks.comparison import Plan, compare, estimate
from saywhy.benchmarks.environments import InstallError
from saywhy.benchmarks.own import Desk
from saywhy.benchmarks.workers import WorkerError
from saywhy.cli import main
from saywhy.errors import OptionError, UnknownNameError
from tests import zoo
from tests.benchmarks.test_texts import write_lines

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("bench")
    zoo.classifier().save(root / "model")
    write_lines(root / "lines.csv")
    return root


class InProcess:
    """A worker without a process: what goes in and comes out is JSON all the same."""

    def __init__(self, name: str, python: object, module: str, model: str) -> None:
        self.name = name
        self._handlers = importlib.import_module(module).open_desk(model)

    def ask(self, job: str, **options: object) -> dict[str, object]:
        try:
            return json.loads(json.dumps(self._handlers[job](**json.loads(json.dumps(options)))))
        except Exception as error:
            raise WorkerError(f"{self.name}, {job}: {error}") from error

    def __enter__(self) -> InProcess:
        return self

    def __exit__(self, *_: object) -> None:
        pass


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Captum is run by this interpreter; nothing else installs."""

    def environment(name: str, say: object) -> str:
        if name != "captum":
            raise InstallError(f"{name} does not install here: no wheel")
        return sys.executable

    monkeypatch.setattr(comparison, "environment", environment)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT / "src"), str(ROOT)]))


@pytest.fixture
def at_once(here: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparison, "Worker", InProcess)


def plan(folder: Path, **options: object) -> Plan:
    given: dict[str, object] = {"tokens": (12,), "texts": 2, "sampled_texts": 1, "samples": (10, 20), "reference": 40}
    return Plan(str(folder / "model"), str(folder / "lines.csv"), **{**given, **options})  # type: ignore[arg-type]


@pytest.mark.usefixtures("at_once")
def test_saywhy_captum_and_the_floor_side_by_side_and_a_missing_peer_is_told(folder: Path) -> None:
    said: list[str] = []
    table = compare(
        plan(folder, work=("gradient", "integrated-gradients", "leave-one-out", "faithfulness")), said.append
    )
    by_name = {(row.what, row.how): row for row in table.rows}
    assert {row.what for row in table.rows} == {
        "gradient", "input-x-gradient", "integrated-gradients", "leave-one-out", "faithfulness",
    }  # fmt: skip
    for row in table.rows:
        assert row.ours is not None
        assert row.floor is not None
        assert row.ours > 0
        assert row.floor > 0
        assert row.texts == 2
        if row.peer == "captum":
            assert row.theirs is not None
            assert row.reason == ""
        else:
            assert row.theirs is None
            assert "no wheel" in row.reason
    assert len(by_name) == len(table.rows) == 9
    assert table.notes == ("ferret does not install here: no wheel",)
    assert json.loads(json.dumps(table.to_dict()))["fingerprint"] == table.fingerprint != ""
    assert any("leave-one-out with captum, 12 tokens" in line for line in said)


@pytest.mark.slow
@pytest.mark.usefixtures("here")
def test_in_processes_of_their_own(folder: Path) -> None:
    rows = compare(plan(folder, work=("gradient",))).rows
    assert [row.what for row in rows] == ["gradient", "input-x-gradient"]
    assert all(row.speedup and row.over_floor for row in rows)


@pytest.mark.usefixtures("at_once")
def test_a_peer_that_fails_at_work_is_told_and_the_rest_goes_on(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("captum.attr.FeatureAblation", None)
    rows = compare(plan(folder, work=("leave-one-out", "gradient"))).rows
    failed = [row for row in rows if row.what == "leave-one-out"]
    assert all(row.theirs is None and "captum, leave-one-out: 'NoneType'" in row.reason for row in failed)
    assert all(row.ours and row.floor for row in failed)
    assert all(row.theirs for row in rows if row.what != "leave-one-out")


@pytest.mark.usefixtures("at_once")
def test_the_estimate_counts_the_references(folder: Path) -> None:
    small = estimate(plan(folder, work=("lime",)))
    large = estimate(plan(folder, work=("lime",), reference=4000))
    assert large["rows"][12] > 20 * small["rows"][12]
    assert small["seconds"] > 0


def test_the_floor_makes_the_same_calls_and_nothing_else(folder: Path) -> None:
    desk = Desk(str(folder / "model"))
    items = desk.texts(str(folder / "lines.csv"), 12, 2, 0)["items"]
    made = desk.run("leave-one-out", [0])
    assert desk.floor("leave-one-out", [0])["rows"] == len(items[0]["words"]) + 1 == made["costs"][0]["forwards"]
    points = desk.run("integrated-gradients", [1])["costs"][0]["gradients"]
    assert desk.floor("integrated-gradients", [1])["rows"] == points
    asked = {"metrics": ["sufficiency", "comprehensiveness"], "bins": [0.2, 0.5]}
    both = desk.floor("faithfulness", [0, 1], **asked)
    assert 2 * 3 <= both["rows"] <= 2 * 5
    assert len(desk.run("faithfulness", [0, 1], **asked)["scores"]) == 2


def test_one_text_only(tmp_path: Path) -> None:
    zoo.pair_classifier().save(tmp_path / "pair")
    with pytest.raises(OptionError, match="one text"):
        Desk(str(tmp_path / "pair"))


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"peers": ("captun",)}, UnknownNameError, "captum"),
        ({"work": ("limes",)}, UnknownNameError, "lime"),
        ({"texts": 0}, OptionError, "at least one text"),
        ({"tokens": (4,)}, OptionError, "at least 8 tokens"),
        ({"samples": (10,)}, OptionError, "two or more"),
        ({"samples": (10, 50)}, OptionError, "below that of the reference"),
    ],
)
def test_plans_that_cannot_be(folder: Path, options: dict[str, object], error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        plan(folder, **options)


@pytest.mark.usefixtures("at_once")
def test_on_the_command_line(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    common = ["bench", "peers", str(folder / "model"), "--data", str(folder / "lines.csv"), "--tokens", "12"]
    common += ["--texts", "1", "--peers", "captum", "--work", "gradient"]
    for arguments in (common, [*common, "--json", "--out", str(tmp_path / "t.md")], [*common, "--dry-run", "--json"]):
        with pytest.raises(SystemExit) as end:
            main(arguments)
        assert not end.value.code
    out, err = capsys.readouterr()
    assert "input-x-gradient" in out
    assert '"seconds"' in out
    assert "gradient with captum, 12 tokens" in err
    assert (tmp_path / "t.md").read_text().startswith("| what")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "name a model"),
        (["x", "--tokens", "many"], "whole numbers"),
        (["x", "--peers", "captun"], "did you mean 'captum'"),
    ],
)
def test_mistakes_on_the_command_line(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["bench", "peers", *arguments])
    assert end.value.code == 2
    assert said in capsys.readouterr().err
