"""References are computed once for a key."""

from __future__ import annotations

from pathlib import Path

import pytest

from saywhy.benchmarks import environments
from saywhy.benchmarks.references import remembered


def test_computed_once_for_each_key_and_pin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    calls: list[int] = []

    def compute() -> list[float]:
        calls.append(1)
        return [0.1, float(len(calls))]

    assert remembered(["lime", "a"], compute) == remembered(["lime", "a"], compute) == [0.1, 1.0]
    assert remembered(["lime", "b"], compute) == [0.1, 2.0]
    monkeypatch.setitem(environments.PEERS, "lime", environments.Peer("lime", ("lime==9",)))
    assert remembered(["lime", "a"], compute) == [0.1, 3.0]
    assert not [f for f in tmp_path.rglob("*") if f.is_file() and f.suffix != ".json"]
