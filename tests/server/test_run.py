"""The command and its end."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

import saywhy
from saywhy.cli import main
from saywhy.errors import OptionError
from saywhy.server import Settings, running
from saywhy.server.served import load_models
from tests import zoo

FUNCTION = """
import time

def slow(texts):
    time.sleep(0.4)
    return [[0.9, 0.1] if "good" in text else [0.2, 0.8] for text in texts]

slow.labels = ["yes", "no"]
"""


@contextmanager
def process(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The command in a process of its own, and its address."""
    command = [sys.executable, "-m", "saywhy", "serve", *arguments, "--port", "0", "--threads", "1"]
    started = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert started.stdout is not None
        found = re.search(r"http://\S+/", started.stdout.readline())
        assert found is not None, "it ended before it began"
        yield started, found[0]
    finally:
        started.kill()
        started.wait()


@pytest.mark.slow
def test_sigterm_answers_what_was_asked_and_a_restart_knows_it(tmp_path: Path) -> None:
    zoo.classifier().save(tmp_path / "film")
    (tmp_path / "box.py").write_text(FUNCTION)
    arguments = (str(tmp_path / "film"), f"box={tmp_path / 'box.py'}:slow", "--cache", str(tmp_path / "cache"))
    film = {"model": "film", "input": {"texts": [zoo.TEXTS[0]]}, "method": "leave-one-out"}
    good = {"model": "box", "input": {"texts": ["a good film " * 10]}}
    long: dict[str, Any] = {**good, "method": "lime", "options": {"samples": 5000, "tolerance": None}}
    with process(*arguments) as (server, url), httpx.Client(base_url=url, timeout=60) as client:
        first = client.post("/api/explain", json=film).json()
        assert not first["cached"]
        job = client.post("/api/explain", json=long).json()["job"]
        with ThreadPoolExecutor(2) as pool:
            stream = pool.submit(httpx.get, f"{url}api/jobs/{job['id']}/events", timeout=60)
            body = {**good, "method": "leave-one-out", "verdict": True}
            asked = pool.submit(httpx.post, f"{url}api/explain", json=body, timeout=60)
            time.sleep(0.7)
            assert not asked.done()
            server.send_signal(signal.SIGTERM)
            assert asked.result().status_code == 200
            assert "event: cancelled" in stream.result().text
        assert server.wait(30) == 0
    with process(*arguments) as (server, url):
        again = httpx.post(f"{url}api/explain", json=film, timeout=60).json()
        assert again["cached"]
        assert again["explanation"] == first["explanation"]
        server.send_signal(signal.SIGINT)
        assert server.wait(30) == 0


def test_names_of_models(tmp_path: Path) -> None:
    (tmp_path / "box.py").write_text(FUNCTION)
    source = f"{tmp_path / 'box.py'}:slow"
    assert list(load_models([source, f"mine={source}", source])) == ["box.py:slow", "mine", "box.py:slow-2"]
    with pytest.raises(OptionError, match="at least one"):
        load_models([])


def test_a_port_that_is_taken() -> None:
    box = saywhy.load(lambda texts: [[0.5, 0.5]] * len(texts), labels=["a", "b"])
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(OptionError, match="--port 0"), running({"box": box}, Settings(port=port)):
            pass


def test_results_outlive_a_server_but_not_those_of_black_boxes(tmp_path: Path) -> None:
    box = saywhy.load(lambda texts: [[0.5, 0.5]] * len(texts), labels=["a", "b"])
    models = {"film": zoo.classifier(), "box": box}
    cached = []
    for _ in range(2):
        with running(models, Settings(port=0, cache=tmp_path)) as url:
            for name in models:
                body = {"model": name, "input": {"texts": [zoo.TEXTS[0]]}, "method": "leave-one-out"}
                cached.append(httpx.post(f"{url}api/explain", json=body, timeout=60).json()["cached"])
    assert cached == [False, False, True, False]


def test_without_the_extra_the_command_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "fastapi", None)
    with pytest.raises(SystemExit) as end:
        main(["serve", "runs/none"])
    assert end.value.code == 2
    assert 'pip install "saywhy[serve]"' in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--reports", "nowhere"], "no folder nowhere"),
        (["--threads", "0"], "threads"),
        (["--max-words", "0"], "max-words"),
        (["--token", "abc"], "at least 8"),
        (["--port", "99999"], "port"),
    ],
)
def test_mistakes_on_the_command_line(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["serve", "runs/none", *arguments])
    assert end.value.code == 2
    assert message in capsys.readouterr().err


def test_elsewhere_a_token_is_made_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "box.py").write_text(FUNCTION)
    seen: list[Settings] = []
    monkeypatch.setattr("saywhy.server.serve", lambda models, settings, ready: seen.append(settings))
    for more in ([], ["--host", "0.0.0.0"], ["--host", "0.0.0.0", "--token", "my-own-token"]):
        with pytest.raises(SystemExit) as end:
            main(["serve", f"{tmp_path / 'box.py'}:slow", "--no-cache", *more])
        assert end.value.code == 0
    assert seen[0].token is None
    assert len(seen[1].token or "") > 20
    assert seen[2].token == "my-own-token"
    assert seen[0].cache is None
