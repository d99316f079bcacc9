"""Environments of their own for the peers, so that saywhy needs none of them and they cannot change its packages.

An environment is a folder in the user's cache. It sees the packages of the running interpreter behind its own, so that
torch and transformers are there once and are the same for everybody, and pip may change none of their versions.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from saywhy.data.home import cache_root
from saywhy.errors import SayWhyError, UnknownNameError

__all__ = ["PEERS", "InstallError", "Peer", "environment", "installed"]

_READY = "ready.json"


class InstallError(SayWhyError):
    """A peer that cannot be installed here."""


@dataclass(frozen=True)
class Peer:
    """A package to compare with.

    ``requirements`` are installed with what they depend on, ``alone`` without: those whose own pins are too old for
    the torch and transformers that saywhy runs on, though their code works with them.
    """

    name: str
    requirements: tuple[str, ...] = ()
    alone: tuple[str, ...] = ()

    @property
    def module(self) -> str:
        """The worker that runs inside of the peer's environment."""
        return f"saywhy.benchmarks.peers.{self.name}"


PEERS: dict[str, Peer] = {
    peer.name: peer
    for peer in (
        Peer("captum", ("captum==0.9.0",)),
        Peer("lime", ("lime==0.2.0.1",)),
        Peer("shap", ("shap==0.51.0",)),
        Peer(
            "ferret",
            (
                "lime==0.2.0.1", "shap==0.51.0", "captum==0.9.0", "datasets", "seaborn==0.13.2", "spacy==3.8.18",
                "opencv-python-headless==5.0.0.93", "pytreebank==0.2.7", "overrides==7.7.0", "jsonnet==0.22.0",
            ),
            ("ferret-xai==0.4.2", "thermostat-datasets==1.1.0"),
        ),
    )
}  # fmt: skip
"""The packages known by name, with the versions that are compared."""


def installed(name: str) -> Path | None:
    """The interpreter of a peer's environment if it is there and complete."""
    folder = _folder(_peer(name))
    return _python(folder) if (folder / _READY).is_file() else None


def environment(name: str, say: Callable[[str], None] = lambda line: None) -> Path:
    """The interpreter of a peer's environment, made on first use.

    Args:
        name: of the peer.
        say: told what is being done, where something is.

    Raises:
        InstallError: pip's own words in one line.
    """
    peer = _peer(name)
    found = installed(name)
    if found is not None:
        return found
    folder = _folder(peer)
    say(f"installing {name} into {folder} (once)")
    shutil.rmtree(folder, ignore_errors=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    _run([sys.executable, "-m", "venv", str(folder)], name)
    python = _python(folder)
    # `addsitedir` rather than a bare path: the packages' own .pth files count too, such as that of an editable saywhy.
    lines = [f"import site; site.addsitedir({path!r})" for path in _site_folders()]
    (_site_packages(folder) / "saywhy-base.pth").write_text("\n".join(lines) + "\n", encoding="utf-8")
    pins = folder / "constraints.txt"
    pins.write_text("\n".join(_pins(peer)) + "\n", encoding="utf-8")
    pip = [str(python), "-m", "pip", "--disable-pip-version-check", "--no-input", "install", "-q", "-c", str(pins)]
    if peer.requirements:
        _run([*pip, *peer.requirements], name)
    if peer.alone:
        _run([*pip, "--no-deps", *peer.alone], name)
    _run([str(python), "-c", f"import {name}"], name)
    (folder / _READY).write_text(json.dumps([*peer.requirements, *peer.alone]) + "\n", encoding="utf-8")
    return python


def _peer(name: str) -> Peer:
    if name not in PEERS:
        raise UnknownNameError("peer", name, PEERS)
    return PEERS[name]


def _folder(peer: Peer) -> Path:
    # Another interpreter or other pins are another environment.
    facts = json.dumps([peer.requirements, peer.alone, sys.version, _site_folders()])
    return cache_root() / "peers" / f"{peer.name}-{hashlib.sha256(facts.encode()).hexdigest()[:12]}"


def _python(folder: Path) -> Path:
    return folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")


def _site_packages(folder: Path) -> Path:
    if sys.platform == "win32":
        return folder / "Lib" / "site-packages"
    return folder / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"


def _site_folders() -> list[str]:
    return [p for p in sys.path if Path(p).name in ("site-packages", "dist-packages") and Path(p).is_dir()]


def _pins(peer: Peer) -> list[str]:
    """All that is installed here stays as it is, save what the peer itself pins."""
    own = {_normal(r.split("==")[0]) for r in (*peer.requirements, *peer.alone) if "==" in r}
    found = {_normal(d.metadata["Name"]): d.version for d in metadata.distributions() if d.metadata["Name"]}
    return [f"{name}=={version}" for name, version in sorted(found.items()) if name not in {*own, "saywhy", "pip"}]


def _normal(name: str) -> str:
    return name.lower().replace("_", "-").replace(".", "-")


def _run(command: list[str], peer: str) -> None:
    try:
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise InstallError(f"{peer} does not install here: {error}") from error
    if ended.returncode:
        lines = [line.strip() for line in (ended.stderr or ended.stdout).splitlines() if line.strip()]
        errors = [line for line in lines if line.lower().startswith("error")] or lines or ["no reason given"]
        raise InstallError(f"{peer} does not install here: {errors[-1]}")
