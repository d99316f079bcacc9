"""Checkpoints: a folder of safetensors and one JSON file, whole or not there at all.

A checkpoint is written under a temporary name, synced to disk and renamed; its ``state.json`` lists the size and
digest of every other file. One that was torn nevertheless (a full disk, a copied folder) is told apart from a good one
before anything is loaded, and the one before it is used. Nothing is ever pickled.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from saywhy.errors import LoadError, SayWhyWarning

__all__ = ["CheckpointFolder", "optimiser_from_tensors", "optimiser_tensors", "write_json"]

_FORMAT = "saywhy-checkpoint"
_VERSION = 1


def write_json(path: Path, data: Mapping[str, Any]) -> None:
    """Write a JSON file so that a reader sees the old one or the new one, never half of it."""
    temporary = path.with_name(f".{path.name}.tmp")
    with temporary.open("w", encoding="utf-8") as file:
        json.dump(data, file, indent=1, ensure_ascii=False)
        file.write("\n")
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
    _sync_folder(path.parent)


def optimiser_tensors(optimiser: torch.optim.Optimizer) -> dict[str, Tensor]:
    """The state of an optimiser as named tensors: ``"<number of the parameter>.<name>"``."""
    found: dict[str, Tensor] = {}
    for number, values in optimiser.state_dict()["state"].items():
        for name, value in values.items():
            if value is None:  # SGD before its first momentum
                continue
            # Optimisers keep a few plain numbers; float64 holds every step count exactly.
            tensor = value if isinstance(value, Tensor) else torch.tensor(value, dtype=torch.float64)
            found[f"{number}.{name}"] = tensor
    return found


def optimiser_from_tensors(optimiser: torch.optim.Optimizer, tensors: Mapping[str, Tensor]) -> None:
    """Put back what `optimiser_tensors` gave; learning rates are functions of the step and are not stored."""
    state: dict[int, dict[str, Tensor]] = {}
    for key, tensor in tensors.items():
        number, name = key.split(".", 1)
        # Cloned, because a mapped file may be aligned differently from memory, which can change the last bit of sums.
        state.setdefault(int(number), {})[name] = tensor.clone()
    optimiser.load_state_dict({"state": state, "param_groups": optimiser.state_dict()["param_groups"]})


class CheckpointFolder:
    """The checkpoints of one run.

    ``step-*`` hold everything needed to go on, ``best-*`` only the players' weights at the best validation so far.

    Args:
        root: folder that holds them; made when the first one is written.
        keep: how many ``step-*`` to keep, so that a torn one has a predecessor.
    """

    def __init__(self, root: Path, *, keep: int = 2) -> None:
        self.root, self.keep = root, keep

    def save(
        self,
        kind: str,
        step: int,
        modules: Mapping[str, nn.Module],
        optimisers: Mapping[str, Any],
        state: dict[str, Any],
    ) -> str:
        """Write one checkpoint and return its name; older ones that nothing needs any more are removed."""
        name = f"{kind}-{step:09d}"
        temporary = self.root / f".{name}.tmp"
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir(parents=True)
        files = {}
        tensors = {f"{player}.safetensors": module.state_dict() for player, module in modules.items()}
        tensors |= {f"{player}.optimiser.safetensors": optimiser_tensors(o) for player, o in optimisers.items()}
        for file, content in tensors.items():
            # Cloned, because safetensors refuses tensors that share memory (tied weights).
            save_file({k: v.detach().to("cpu", copy=True).contiguous() for k, v in content.items()}, temporary / file)
            files[file] = _digest(temporary / file, sync=True)
        whole = {"format": _FORMAT, "version": _VERSION, "kind": kind, "step": step, "files": files, "state": state}
        write_json(temporary / "state.json", whole)
        final = self.root / name
        if final.exists():  # left by a run that was killed after writing it and is now redone
            shutil.rmtree(final)
        temporary.rename(final)
        _sync_folder(self.root)
        if kind == "step":
            self._clean()
        return name

    def names(self, kind: str) -> list[str]:
        """Names of the finished checkpoints of one kind, newest first."""
        return sorted((p.name for p in self.root.glob(f"{kind}-*") if p.is_dir()), reverse=True)

    def newest(self) -> tuple[str, dict[str, Any]] | None:
        """Name and state of the newest whole ``step-*``, or None if there is none.

        A torn one is passed over with a warning. If all are torn, or the folder holds something else: `LoadError`.
        """
        names = self.names("step")
        problems = []
        for name in names:
            try:
                whole = self._check(name)
            except LoadError as error:
                problems.append(str(error))
                continue
            if problems:
                warnings.warn(
                    f"{'; '.join(problems)}: going on from {self.root / name}, the one before",
                    SayWhyWarning,
                    stacklevel=2,
                )
            return name, whole["state"]
        if problems:
            raise LoadError(f"{'; '.join(problems)}; no whole checkpoint is left: start again with resume=False")
        return None

    def load(
        self,
        name: str,
        modules: Mapping[str, nn.Module],
        optimisers: Mapping[str, torch.optim.Optimizer] | None = None,
    ) -> None:
        """Put the weights of a checkpoint into the players and, if given, its state into the optimisers."""
        folder = self.root / name
        whole = self._check(name)
        for player, module in modules.items():
            file = f"{player}.safetensors"
            if file not in whole["files"]:
                held = sorted(f.removesuffix(".safetensors") for f in whole["files"] if ".optimiser." not in f)
                raise LoadError(
                    f"{folder} has no player {player!r}; it holds {', '.join(held)}: another objective's run?"
                )
            try:
                module.load_state_dict(load_file(folder / file))
            except RuntimeError as error:
                reason = " ".join(str(error).split())[:300]
                raise LoadError(f"{folder / file} does not fit the player {player!r}: {reason}") from error
        for player, optimiser in (optimisers or {}).items():
            optimiser_from_tensors(optimiser, load_file(folder / f"{player}.optimiser.safetensors"))

    def remove(self) -> None:
        """Remove all checkpoints of the run, whole and torn."""
        for path in [*self.root.glob("step-*"), *self.root.glob("best-*"), *self.root.glob(".*.tmp")]:
            shutil.rmtree(path, ignore_errors=True)
        with contextlib.suppress(OSError):  # not there, or holds somebody else's files
            self.root.rmdir()

    def _check(self, name: str) -> dict[str, Any]:
        folder = self.root / name
        try:
            whole = json.loads((folder / "state.json").read_text("utf-8"))
        except (OSError, ValueError) as error:
            raise LoadError(f"{folder} is torn: its state.json cannot be read ({type(error).__name__})") from error
        if not isinstance(whole, dict) or whole.get("format") != _FORMAT:
            raise LoadError(f"{folder} is not a saywhy checkpoint")
        if whole.get("version") != _VERSION:
            raise LoadError(f"{folder} is a checkpoint of version {whole.get('version')}; this saywhy reads {_VERSION}")
        for file, expected in whole["files"].items():
            if not (folder / file).is_file():
                raise LoadError(f"{folder} is torn: {file} is missing")
            if _digest(folder / file) != expected:
                raise LoadError(f"{folder} is torn: {file} is not what was written")
        return whole

    def _clean(self) -> None:
        steps = self.names("step")
        needed: set[str] = set()
        for name in steps[: self.keep]:
            # An unreadable neighbour needs nothing; `newest` reports it if it ever matters.
            with contextlib.suppress(OSError, ValueError, KeyError):
                needed.add(json.loads((self.root / name / "state.json").read_text("utf-8"))["state"]["best"])
        _remove_folders(self.root / name for name in steps[self.keep :])
        newest_best = self.names("best")[:1]
        _remove_folders(self.root / n for n in self.names("best") if n not in needed and n not in newest_best)


def _remove_folders(folders: Iterable[Path]) -> None:
    for folder in folders:
        # Renamed first: a removal that is killed half-way must not leave what looks like a torn checkpoint.
        doomed = folder.with_name(f".{folder.name}.tmp")
        shutil.rmtree(doomed, ignore_errors=True)
        folder.rename(doomed)
        shutil.rmtree(doomed)


def _digest(path: Path, *, sync: bool = False) -> dict[str, Any]:
    digest = hashlib.blake2b(digest_size=16)
    with path.open("r+b" if sync else "rb") as file:
        if sync:
            os.fsync(file.fileno())
        while block := file.read(1 << 20):
            digest.update(block)
    return {"bytes": path.stat().st_size, "blake2b": digest.hexdigest()}


def _sync_folder(folder: Path) -> None:
    # A rename is only durable once the folder that holds the name is synced too.
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
