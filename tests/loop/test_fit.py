from __future__ import annotations

import itertools
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from saywhy.errors import LoadError, OptionError, SayWhyWarning
from saywhy.loop import LoopObjective, LoopSettings, close_run, estimate, fit
from tests.loop.toys import Game, Regression, collate, points, same, weights


class StopError(Exception):
    pass


class Interrupted(list[Any]):
    """Data whose n-th access fails: a crash at a chosen place."""

    def __init__(self, items: list[Any], after: int) -> None:
        super().__init__(items)
        self.left = after

    def __getitem__(self, index: Any) -> Any:
        self.left -= 1
        if self.left < 0:
            raise StopError
        return super().__getitem__(index)


def train(objective: LoopObjective, data: list[Any] | None = None, **options: Any) -> Any:
    settings = {"epochs": 3, "batch_size": 8, **options.pop("settings", {})}
    return fit(objective, data or points(), collate=collate, settings=LoopSettings(**settings), **options)


def scorer(objective: LoopObjective) -> Any:
    x, y = collate(points(30, seed=9))
    return lambda: -float((objective.players["network"](x).squeeze(-1) - y).square().mean().detach())


def test_it_learns() -> None:
    objective = Regression(dropout=0.0)
    score = scorer(objective)
    before = score()
    result = train(objective, settings={"epochs": 30})
    assert score() > 0.1 * before
    assert (result.steps, result.stopped, result.best_score) == (210, "finished", None)
    assert not objective.players["network"].training


@pytest.mark.parametrize("make", [Regression, Game])
@pytest.mark.parametrize("after", [20, 60, 100, 149])
def test_resume_is_exact(tmp_path: Path, make: type[LoopObjective], after: int) -> None:
    whole = make()
    train(whole, out=tmp_path / "whole", settings={"checkpoint_every": 3, "log_every": 1})
    with pytest.raises(StopError):
        train(
            make(),
            Interrupted(points(), after),
            out=tmp_path / "cut",
            settings={"checkpoint_every": 3, "log_every": 1},
        )
    resumed = make()
    result = train(resumed, out=tmp_path / "cut", settings={"checkpoint_every": 3, "log_every": 1})
    assert 0 < result.resumed_at < 21 or after == 20
    assert same(weights(whole), weights(resumed))
    assert (tmp_path / "whole/log.jsonl").read_text() == (tmp_path / "cut/log.jsonl").read_text()


def test_cpu_time_is_that_of_all_steps_and_of_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = itertools.count()
    monkeypatch.setattr("time.process_time", lambda: float(next(ticks)))  # each step takes one second

    def score() -> float:
        next(ticks)  # time that no step has spent
        return 0.0

    settings = {"checkpoint_every": 3}
    assert train(Regression(), out=tmp_path / "whole", settings=settings, validate=score).cpu_seconds == 21
    with pytest.raises(StopError):
        train(Regression(), Interrupted(points(), 100), out=tmp_path / "cut", settings=settings, validate=score)
    resumed = train(Regression(), out=tmp_path / "cut", settings=settings, validate=score)
    assert resumed.resumed_at > 0
    assert resumed.cpu_seconds == 21


def test_memory_is_the_most_after_any_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held = itertools.chain([5, 9, 7], itertools.repeat(6))
    monkeypatch.setattr(sys.modules["saywhy.loop.fit"], "resident_bytes", lambda: next(held))
    settings = {"checkpoint_every": 3}
    with pytest.raises(StopError):
        train(Regression(), Interrupted(points(), 100), out=tmp_path, settings=settings)
    resumed = train(Regression(), out=tmp_path, settings=settings)
    assert resumed.resumed_at > 3
    assert resumed.peak_bytes == 9


def test_resume_keeps_the_best_and_the_patience(tmp_path: Path) -> None:
    scores = [0.1, 0.5, 0.4, 0.3, 0.9]

    def run(name: str, data: list[Any] | None) -> tuple[Any, Regression]:
        objective = Regression()
        counter = iter(scores) if name != "resumed" else iter(scores[2:])
        settings = {"epochs": 5, "patience": 2}
        out = tmp_path / ("cut" if name != "whole" else "whole")
        return train(objective, data, out=out, validate=lambda: next(counter), settings=settings), objective

    result, whole = run("whole", None)
    assert (result.stopped, result.best_score, result.best_step, result.steps) == ("patience", 0.5, 14, 28)
    with pytest.raises(StopError):
        run("cut", Interrupted(points(), 120))
    again, resumed = run("resumed", None)
    assert again.resumed_at == 14
    assert (again.best_step, again.stopped, again.history) == (14, "patience", result.history)
    assert same(weights(whole), weights(resumed))


@pytest.mark.parametrize("in_memory", [True, False])
def test_the_best_weights_come_back(tmp_path: Path, in_memory: bool) -> None:
    seen = []
    objective = Regression()

    def validate() -> float:
        assert not objective.players["network"].training
        assert not torch.is_grad_enabled()
        seen.append(weights(objective))
        return [0.2, 0.8, 0.5][len(seen) - 1]

    result = train(objective, out=None if in_memory else tmp_path, validate=validate)
    assert result.best_step == 14
    assert same(weights(objective), seen[1])
    assert not same(weights(objective), seen[2])


def test_no_epoch_is_the_best_before_the_run_is_judged() -> None:
    class Late(Regression):
        judged_from = 0.5  # of three epochs: the first ends before

    scores = iter([0.9, 0.2, 0.1])
    result = train(Late(), validate=lambda: next(scores))
    assert (result.best_step, result.best_score) == (14, 0.2)
    assert [entry["score"] for entry in result.history] == [0.9, 0.2, 0.1]


def test_a_finished_run_is_not_done_again(tmp_path: Path) -> None:
    first = Regression()
    train(first, out=tmp_path, validate=scorer(first))

    def never() -> float:
        raise AssertionError

    second = Regression()
    result = train(second, Interrupted(points(), 0), out=tmp_path, validate=never)
    assert (result.steps, result.resumed_at) == (21, 21)
    assert same(weights(first), weights(second))


def test_a_run_killed_while_it_cleaned_up_is_finished(tmp_path: Path) -> None:
    result = train(Regression(), out=tmp_path, settings={"checkpoint_every": 3})
    close_run(tmp_path, result)
    # What a kill in the middle of the removal leaves: a record with its result, and a checkpoint without its state.
    torn = tmp_path / "checkpoints" / "step-00000003"
    torn.mkdir(parents=True)
    (torn / "network.safetensors").write_bytes(b"half")
    again = train(Regression(), out=tmp_path, settings={"checkpoint_every": 3})
    assert again.reused
    assert again.steps == result.steps
    assert not torn.exists()


def test_resume_false_starts_again(tmp_path: Path) -> None:
    train(Regression(), out=tmp_path)
    objective = Regression()
    result = train(objective, out=tmp_path, resume=False, settings={"seed": 1})
    assert result.resumed_at == 0
    assert json.loads((tmp_path / "run.json").read_text())["config"]["loop"]["seed"] == 1


def test_another_configuration_is_refused_by_name(tmp_path: Path) -> None:
    train(Regression(), out=tmp_path, config={"data": "a"})
    with pytest.raises(OptionError, match=r"data was 'a' and is 'b'.*loop\.seed was 0 and is 3.*optimisers\.network"):
        train(Regression(learning_rate=0.1), out=tmp_path, config={"data": "b"}, settings={"seed": 3})


def test_cosmetic_settings_may_change(tmp_path: Path) -> None:
    train(Regression(), out=tmp_path)
    assert train(Regression(), out=tmp_path, settings={"log_every": 3, "checkpoint_every": 2}).resumed_at == 21


def test_another_number_of_threads_is_a_warning(tmp_path: Path) -> None:
    train(Regression(), out=tmp_path)
    record = json.loads((tmp_path / "run.json").read_text())
    record["environment"]["threads"] = 99
    (tmp_path / "run.json").write_text(json.dumps(record))
    with pytest.warns(SayWhyWarning, match=r"threads was 99 and is \d+"):
        train(Regression(), out=tmp_path)


def test_a_record_that_is_not_ours(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text("[]")
    with pytest.raises(LoadError, match="not the record"):
        train(Regression(), out=tmp_path)
    (tmp_path / "run.json").write_text("{")
    with pytest.raises(LoadError, match="cannot be read"):
        train(Regression(), out=tmp_path)


def test_log_lines_and_validation(tmp_path: Path) -> None:
    objective = Regression()
    train(objective, out=tmp_path, validate=scorer(objective), settings={"log_every": 5, "validate_every": 10})
    lines = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert [line["step"] for line in lines if "loss" in line] == [5, 10, 15, 20, 21]
    assert [line["step"] for line in lines if "score" in line] == [10, 20, 21]


def test_max_steps_and_the_callers_random_state() -> None:
    torch.manual_seed(3)
    expected = torch.rand(2)
    torch.manual_seed(3)
    assert train(Regression(), settings={"max_steps": 4}).steps == 4
    assert torch.equal(torch.rand(2), expected)


def test_the_objectives_own_state_survives(tmp_path: Path) -> None:
    class Counting(Regression):
        def __init__(self) -> None:
            super().__init__()
            self.count = 0

        def phases(self, batch: Any, step: Any) -> Iterator[Any]:
            self.count += 1
            return super().phases(batch, step)

        def state(self) -> dict[str, Any]:
            return {"count": self.count}

        def load_state(self, state: Any) -> None:
            self.count = state["count"]

    with pytest.raises(StopError):
        train(Counting(), Interrupted(points(), 80), out=tmp_path, settings={"checkpoint_every": 2})
    objective = Counting()
    train(objective, out=tmp_path, settings={"checkpoint_every": 2})
    assert objective.count == 21


def test_estimate_leaves_the_players_alone() -> None:
    objective = Regression()
    before = weights(objective)
    guess = estimate(
        objective, points(), collate=collate, settings=LoopSettings(epochs=2, batch_size=8), lengths=range(50)
    )
    assert guess.steps == 14
    assert 0 < guess.seconds < 60
    assert guess.seconds == pytest.approx(14 * guess.seconds_per_step)
    assert "14 steps" in str(guess)
    assert same(before, weights(objective))


def test_an_estimate_knows_that_late_steps_cost_more(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: clock[0])

    class Growing(Regression):
        changes_at = (0.5,)
        average = 0.0

        def phases(self, batch: Any, step: Any) -> Any:
            clock[0] += 3.0 if step.progress >= 0.5 else 1.0
            self.average += 1.0
            yield from super().phases(batch, step)

        def state(self) -> dict[str, Any]:
            return {"average": self.average}

        def load_state(self, state: Any) -> None:
            self.average = state["average"]

    objective = Growing()
    guess = estimate(objective, points(48), collate=collate, settings=LoopSettings(epochs=2, batch_size=8))
    assert guess.seconds == pytest.approx(6 * 1.0 + 6 * 3.0)
    assert objective.average == 0.0


def test_unknown_tracker(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="nosuchtracker"):
        train(Regression(), out=tmp_path, log_with="nosuchtracker")


def test_a_tracker_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from accelerate import tracking

    seen: list[tuple[int, dict[str, float]]] = []

    class Notebook(tracking.GeneralTracker):
        name = "notebook"
        requires_logging_directory = False

        def __init__(self, project: str) -> None:
            super().__init__()

        @property
        def tracker(self) -> None:
            return None

        def store_init_configuration(self, values: dict[str, Any]) -> None:
            assert "batch_size" in values["config"]

        def log(self, values: dict[str, float], step: int, **_: Any) -> None:
            seen.append((step, values))

    monkeypatch.setitem(tracking.LOGGER_TYPE_TO_CLASS, "notebook", Notebook)
    objective = Regression()
    train(objective, out=tmp_path, validate=scorer(objective), log_with="notebook")
    assert [step for step, values in seen if "loss" in values] == [10, 20, 21]
    assert [step for step, values in seen if "score" in values] == [7, 14, 21]


def test_progress_bar_when_asked(capsys: pytest.CaptureFixture[str]) -> None:
    train(Regression(), progress=True)
    train(Regression(), progress=False)
    assert "training" in capsys.readouterr().err


def test_no_epochs_leave_the_players_as_they_are(tmp_path: Path) -> None:
    objective = Regression()
    before = weights(objective)
    result = train(objective, out=tmp_path, settings={"epochs": 0})
    assert (result.steps, result.stopped) == (0, "finished")
    assert same(before, weights(objective))
    assert estimate(objective, points(), collate=collate, settings=LoopSettings(epochs=0)).seconds == 0


@pytest.mark.parametrize("wrong", [{"epochs": -1}, {"clip": 0.0}, {"patience": 0}, {"checkpoint_every": 0}])
def test_wrong_settings(wrong: dict[str, Any]) -> None:
    with pytest.raises(OptionError):
        LoopSettings(**wrong)
