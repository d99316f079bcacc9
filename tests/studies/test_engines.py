"""Worker processes: where they come from, what they have loaded, and how many threads they use."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch

from saywhy.studies.engines import open_engine


@dataclass(frozen=True)
class Errand:
    """A piece of work that is nothing but its name."""

    name: str

    def to_dict(self) -> dict[str, Any]:
        """What the worker is told."""
        return {"name": self.name, "parent": os.getpid()}


def look_around(given: Mapping[str, Any], root: str) -> str:
    """Write down what this process is like."""
    facts = [
        os.getpid() != given["parent"],
        "saywhy.studies.preload" in sys.modules,
        torch.get_num_threads(),
    ]
    Path(root, given["name"]).write_text(repr(facts), encoding="utf-8")
    return str(given["name"])


def sleep_long(given: Mapping[str, Any], root: str) -> str:
    """Say who works, and work until somebody ends it."""
    Path(root, given["name"]).write_text(str(os.getpid()), encoding="utf-8")
    time.sleep(600)
    return str(given["name"])


SCRIPT = """
import sys
from saywhy.studies.engines import open_engine
from tests.studies.test_engines import Errand, sleep_long
if __name__ == "__main__":
    with open_engine("local", sys.argv[1], workers=2, work=sleep_long) as engine:
        engine.submit(Errand("one"))
        engine.submit(Errand("two"))
        engine.wait()
"""


def alive(process: int) -> bool:
    """Whether there is such a process that is not merely waiting to be buried."""
    state = Path(f"/proc/{process}/stat")
    return state.exists() and state.read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"


def within(seconds: float, happened: Callable[[], bool]) -> bool:
    """Whether something happens soon."""
    until = time.monotonic() + seconds
    while not happened() and time.monotonic() < until:
        time.sleep(0.05)
    return happened()


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="no /proc on this system")
def test_a_killed_study_leaves_nobody_working(tmp_path: Path) -> None:
    (tmp_path / "run.py").write_text(SCRIPT, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen([sys.executable, tmp_path / "run.py", tmp_path], env=environment)
    told = [tmp_path / "one", tmp_path / "two"]
    try:
        assert within(120, lambda: all(file.exists() and file.read_text(encoding="utf-8") for file in told))
    finally:
        process.kill()
        process.wait()
    workers = [int(file.read_text(encoding="utf-8")) for file in told]
    assert within(20, lambda: not any(map(alive, workers)))


@pytest.mark.skipif("forkserver" not in multiprocessing.get_all_start_methods(), reason="no fork on this system")
def test_workers_have_everything_loaded_and_keep_to_their_threads(tmp_path: Path) -> None:
    errands = [Errand("one"), Errand("two")]
    # Not as many as these tests themselves may use, nor as the server that the workers come from does.
    threads = torch.get_num_threads() + 1
    with open_engine("local", str(tmp_path), workers=2, threads=threads, work=look_around) as engine:
        for errand in errands:
            engine.submit(errand)
        outcomes = engine.wait()
        while len(outcomes) < len(errands):
            outcomes += engine.wait()
    assert [error for _, error in outcomes] == [None, None]
    for errand in errands:
        assert (tmp_path / errand.name).read_text(encoding="utf-8") == repr([True, True, threads])
