"""Cells: the pieces of work of a study, each a file named by the hash of everything that decides its result."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from saywhy import __version__

__all__ = ["Cell", "Store", "environment", "write_json"]


def environment(threads: int) -> dict[str, Any]:
    """What besides its configuration decides the bits of a result."""
    return {
        "threads": threads,
        "saywhy": __version__,
        **{name: importlib.metadata.version(name) for name in ("torch", "transformers")},
    }


@dataclass(frozen=True)
class Cell:
    """One piece of work: train a model or a tagger, or measure methods on a model and a dataset.

    Attributes:
        kind: ``train``, ``tag`` (a tagger is trained) or ``evaluate``.
        config: all that it is told; plain JSON.
        environment: threads and versions.
        needs: names of the cells whose results it reads.
        facts: what it is called in tables; no part of its identity.
    """

    kind: str
    config: Mapping[str, Any]
    environment: Mapping[str, Any]
    needs: tuple[str, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict, compare=False)

    @cached_property
    def name(self) -> str:
        """Hash of the configuration."""
        whole = {"kind": self.kind, "config": self.config, "environment": self.environment}
        text = json.dumps(whole, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        return hashlib.blake2b(text.encode(), digest_size=10).hexdigest()

    @property
    def title(self) -> str:
        """One line for people."""
        parts = [self.facts.get(k) for k in ("model", "data", "method")]
        step = str(self.facts.get("step", ""))
        if self.kind == "train" and str(parts[0]).split(" (")[0] != step:
            parts.insert(0, step)  # models named by their objective alone may stand in several steps
        shown = " · ".join(str(part) for part in parts if part)
        return f"{self.kind} {shown} · seed {self.facts.get('seed', 0)}"

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {
            "name": self.name,
            "kind": self.kind,
            "config": dict(self.config),
            "environment": dict(self.environment),
            "needs": list(self.needs),
            "facts": dict(self.facts),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Cell:
        """Read back what `to_dict` wrote."""
        return cls(data["kind"], data["config"], data["environment"], tuple(data["needs"]), data["facts"])


class Store:
    """The folder of a study's results. A cell is there whole or not at all.

    ``cells/NAME/result.json`` is the result of a finished cell, ``cells/NAME.part`` what an unfinished one has so far:
    a training run goes on from there.
    """

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self.root = Path(root)
        self.cells = self.root / "cells"

    def folder(self, name: str) -> Path:
        """Folder of a finished cell."""
        return self.cells / name

    def part(self, name: str) -> Path:
        """Folder of a cell that is being worked on."""
        return self.cells / f"{name}.part"

    def lock(self, name: str) -> Path:
        """File that is locked while somebody works on a cell."""
        return self.cells / f"{name}.lock"

    def done(self, name: str) -> bool:
        """Whether a cell is finished."""
        return (self.folder(name) / "result.json").is_file()

    def read(self, name: str) -> dict[str, Any]:
        """The result of a finished cell."""
        return dict(json.loads((self.folder(name) / "result.json").read_text(encoding="utf-8")))

    def finish(self, cell: Cell, result: Mapping[str, Any]) -> None:
        """Make what was worked on the result of a cell, in one step."""
        part = self.part(cell.name)
        part.mkdir(parents=True, exist_ok=True)
        write_json(part / "cell.json", cell.to_dict())
        write_json(part / "result.json", result)
        os.replace(part, self.folder(cell.name))

    def forget(self, name: str) -> None:
        """Remove what there is of a cell."""
        for folder in (self.folder(name), self.part(name)):
            if folder.exists():
                # Renamed first: a removal that is interrupted must not leave half a result behind.
                gone = folder.with_name(f"{folder.name}.gone")
                shutil.rmtree(gone, ignore_errors=True)
                os.replace(folder, gone)
                shutil.rmtree(gone)


def write_json(path: Path, value: Any) -> None:
    """Write a file that is there whole or not at all, also after a power cut."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # Two studies may be at work in one folder.
    new = path.with_name(f".{path.name}.{os.getpid()}.new")
    with new.open("w", encoding="utf-8") as file:
        json.dump(value, file, ensure_ascii=False, indent=1)
        file.flush()
        os.fsync(file.fileno())
    os.replace(new, path)
