"""Files of cells that several processes may write."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from saywhy.studies.cells import write_json


def test_two_processes_may_write_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two studies that begin at once in one folder: the second writes while the first has not renamed its file yet."""
    path, fsync = tmp_path / "study.json", os.fsync
    pids = iter([1, 2])
    monkeypatch.setattr(os, "getpid", lambda: next(pids))

    def interrupted(file: int) -> None:
        monkeypatch.setattr(os, "fsync", fsync)
        write_json(path, "second")
        fsync(file)

    monkeypatch.setattr(os, "fsync", interrupted)
    write_json(path, "first")
    assert json.loads(path.read_text()) == "first"
    assert [file.name for file in tmp_path.iterdir()] == ["study.json"]
