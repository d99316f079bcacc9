"""Environments of peers: made once, from pinned packages, behind the back of nobody."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from saywhy.benchmarks import environments
from saywhy.benchmarks.environments import PEERS, InstallError, environment, installed
from saywhy.errors import UnknownNameError


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[list[str]]:
    """A cache of its own, and a stand-in for what is run: it makes the folder, and writes the commands down."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    seen: list[list[str]] = []

    def run(command: list[str], **options: Any) -> subprocess.CompletedProcess[str]:
        seen.append(command)
        if "venv" in command:
            environments._site_packages(Path(command[-1])).mkdir(parents=True)
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(environments.subprocess, "run", run)
    monkeypatch.setattr(environments.sys, "platform", "linux")
    return seen


def test_made_once_and_then_found(commands: list[list[str]], tmp_path: Path) -> None:
    said: list[str] = []
    assert installed("lime") is None
    python = environment("lime", said.append)
    assert tmp_path in python.parents
    assert len(said) == 1
    assert "installing lime" in said[0]
    assert sum("lime==0.2.0.1" in command for command in commands) == 1
    assert "--no-deps" not in commands[1]
    before = len(commands)
    assert environment("lime", said.append) == python == installed("lime")
    assert (len(commands), len(said)) == (before, 1)


def test_what_is_installed_here_is_pinned_and_visible_and_the_peers_own_pins_win(commands: list[list[str]]) -> None:
    environment("captum")
    pins = Path(commands[1][commands[1].index("-c") + 1]).read_text().splitlines()
    assert any(pin.startswith("torch==") for pin in pins)
    assert not any(pin.startswith(("captum==", "saywhy==")) for pin in pins)
    (link,) = Path(commands[0][-1]).rglob("saywhy-base.pth")
    assert any(repr(path) in link.read_text() for path in sys.path if path.endswith("site-packages"))


def test_ferrets_old_pins_are_left_out(commands: list[list[str]]) -> None:
    environment("ferret")
    (alone,) = [command for command in commands if "--no-deps" in command]
    assert "ferret-xai==0.4.2" in alone
    assert not any("ferret-xai==0.4.2" in command for command in commands if "--no-deps" not in command)


def test_an_installation_that_fails_says_why_and_is_not_taken_for_one(
    commands: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    working = environments.subprocess.run

    def run(command: list[str], **options: Any) -> subprocess.CompletedProcess[str]:
        if "pip" in command:
            return subprocess.CompletedProcess(command, 1, "", "WARNING: x\nERROR: No matching distribution\nnote: y\n")
        return working(command, **options)

    monkeypatch.setattr(environments.subprocess, "run", run)
    with pytest.raises(InstallError, match=r"^shap does not install here: ERROR: No matching distribution$"):
        environment("shap")
    assert installed("shap") is None


def test_another_pin_is_another_environment(commands: list[list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    first = environment("lime")
    monkeypatch.setitem(PEERS, "lime", environments.Peer("lime", ("lime==0.2.0.0",)))
    assert installed("lime") is None
    assert environment("lime") != first


def test_unknown_peers() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'captum'"):
        environment("captun")
