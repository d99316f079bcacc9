"""Worker processes: where they come from, what they have loaded, and how many threads they use."""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

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
    import torch
    from threadpoolctl import threadpool_info

    threads = {library["num_threads"] for library in threadpool_info()}
    facts = [
        os.getpid() != given["parent"],
        "saywhy.studies.preload" in sys.modules,
        torch.get_num_threads(),
        max(threads),
    ]
    Path(root, given["name"]).write_text(repr(facts), encoding="utf-8")
    return str(given["name"])


@pytest.mark.skipif("forkserver" not in multiprocessing.get_all_start_methods(), reason="no fork on this system")
def test_workers_have_everything_loaded_and_keep_to_their_threads(tmp_path: Path) -> None:
    errands = [Errand("one"), Errand("two")]
    with open_engine("local", str(tmp_path), workers=2, threads=1, work=look_around) as engine:
        for errand in errands:
            engine.submit(errand)
        outcomes = engine.wait()
        while len(outcomes) < len(errands):
            outcomes += engine.wait()
    assert [error for _, error in outcomes] == [None, None]
    for errand in errands:
        assert (tmp_path / errand.name).read_text(encoding="utf-8") == repr([True, True, 1, 1])
