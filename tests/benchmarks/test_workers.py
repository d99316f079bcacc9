"""Workers answer in their own process, with one thread, and say why they cannot."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from saywhy.benchmarks.workers import Worker, WorkerError

ROOT = Path(__file__).parents[2]


@pytest.fixture
def worker(monkeypatch: pytest.MonkeyPatch) -> Iterator[Worker]:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT / "src"), str(ROOT)]))
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    with Worker("toy", sys.executable, "tests.benchmarks.toy_worker", "some-model") as made:
        yield made


def test_answers_with_its_own_time_and_one_thread(worker: Worker) -> None:
    for number in (3, 4):
        answer = worker.ask("double", number=number)
        assert answer["made"] == 2 * number
        assert 0 < answer["seconds"] < 5
    assert answer["threads"] == "1"
    assert answer["model"] == "some-model"


def test_a_failure_is_an_answer_in_one_line_and_work_goes_on(worker: Worker) -> None:
    with pytest.raises(WorkerError, match=r"^toy, fail: ValueError: not this one$"):
        worker.ask("fail")
    assert worker.ask("double", number=1)["made"] == 2


def test_a_worker_that_dies_leaves_its_last_words(worker: Worker) -> None:
    for _ in range(2):
        with pytest.raises(WorkerError, match="toy ended: last words"):
            worker.ask("die")


def test_a_model_that_does_not_load_and_an_interpreter_without_the_module(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT / "src"), str(ROOT)]))
    for module, model, said in (
        ("tests.benchmarks.toy_worker", "broken", "FileNotFoundError: no model there"),
        ("tests.benchmarks.nothing", "x", r"toy ended: .*No module named"),
    ):
        with Worker("toy", sys.executable, module, model) as made, pytest.raises(WorkerError, match=said):
            made.ask("double", number=1)
