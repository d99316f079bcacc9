"""What a run leaves beside its weights: ``run.json`` says what it was, ``log.jsonl`` what happened."""

from __future__ import annotations

import json
import os
import platform
import warnings
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch

from saywhy.errors import LoadError, OptionError, SayWhyWarning
from saywhy.loop.checkpoint import write_json

__all__ = ["RunLog", "environment", "open_run", "read_run", "write_run"]

_PACKAGES = ("saywhy", "torch", "numpy", "transformers", "tokenizers", "accelerate")


def environment() -> dict[str, Any]:
    """What besides the configuration can change the bits of a result."""
    versions = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:  # run from a source tree, or a part that is not installed
            versions[package] = ""
    return {"threads": torch.get_num_threads(), "machine": platform.machine(), "versions": versions}


def read_run(folder: Path) -> dict[str, Any] | None:
    """The record of the run in a folder, or None if there is none."""
    path = folder / "run.json"
    try:
        record = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise LoadError(f"{path} cannot be read ({error}); choose another folder or remove it") from error
    if not isinstance(record, dict) or record.get("kind") != "run":
        raise LoadError(f"{path} is not the record of a saywhy run; choose another folder")
    return record


def write_run(folder: Path, record: Mapping[str, Any]) -> None:
    """Write ``run.json``, whole or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / "run.json", record)


def open_run(folder: Path, config: Mapping[str, Any], *, resume: bool) -> dict[str, Any] | None:
    """The earlier record to go on from, or None for a new run.

    Another configuration is an error that names the fields. Another number of threads or another version is a warning:
    the run goes on, but its bits may differ from those of an uninterrupted one.
    """
    record = read_run(folder) if resume else None
    if record is None:
        return None
    differing = _differences(record.get("config", {}), json.loads(json.dumps(config)))
    if differing:
        raise OptionError(
            f"{folder} holds a run with another configuration: {'; '.join(differing)}. "
            "Give the same options to go on, another folder to keep both, or resume=False (--restart) to start again"
        )
    here, there = environment(), record.get("environment", {})
    changed = _differences(there, here)
    if changed:
        warnings.warn(
            f"the run in {folder} goes on under other conditions ({'; '.join(changed)}): "
            "its weights may differ in the last bits from those of a run that was not interrupted",
            SayWhyWarning,
            stacklevel=3,
        )
    return record


def _differences(old: Mapping[str, Any], new: Mapping[str, Any], prefix: str = "") -> list[str]:
    found = []
    for key in sorted({*old, *new}):
        before, after = old.get(key), new.get(key)
        if isinstance(before, dict) and isinstance(after, dict):
            found += _differences(before, after, f"{prefix}{key}.")
        elif before != after:
            found.append(f"{prefix}{key} was {before!r} and is {after!r}")
    return found


class RunLog:
    """``log.jsonl``: one line for every logged step and every validation.

    Lines written after the checkpoint a run goes on from are dropped, so the log reads as if nothing had happened.
    """

    def __init__(self, folder: Path | None, *, after: int) -> None:
        self._file = None
        if folder is None:
            return
        path = folder / "log.jsonl"
        kept = [line for line in _whole_lines(path) if json.loads(line)["step"] <= after]
        temporary = path.with_name(".log.jsonl.tmp")
        temporary.write_text("".join(kept), encoding="utf-8")
        temporary.replace(path)
        self._file = path.open("a", encoding="utf-8")

    def write(self, step: int, **values: Any) -> None:
        """Add a line."""
        if self._file is not None:
            self._file.write(json.dumps({"step": step, **values}) + "\n")

    def flush(self) -> None:
        """Make sure that what was logged so far survives a crash as well as the checkpoint beside it."""
        if self._file is not None:
            self._file.flush()
            os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()


def _whole_lines(path: Path) -> list[str]:
    # The last line of a killed run may be torn; nothing after it can be whole.
    lines = []
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            for line in file:
                json.loads(line)
                lines.append(line)
    except (FileNotFoundError, ValueError):
        pass
    return [line if line.endswith("\n") else line + "\n" for line in lines]
