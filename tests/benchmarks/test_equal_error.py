"""Samplers whose cost and error are known are compared as they should be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from saywhy.benchmarks.bench import Bench, Settings
from saywhy.benchmarks.equal_error import ERASURES, at_equal_error
from saywhy.benchmarks.workers import WorkerError

TRUTH = np.linspace(-1, 1, 200)
SETTINGS = Settings(texts=3, samples=(100, 200, 400, 800), reference=10**7, seed=0)


class Sampler:
    """A tool that is off by noise over the root of its samples, and spends ``cost`` a sample."""

    def __init__(self, name: str, cost: float, noise: float, broken: bool = False) -> None:
        self.name, self.cost, self.noise, self.broken = name, cost, noise, broken
        self.seeds: set[tuple[int, int]] = set()
        self.ridges: set[float | None] = set()

    def ask(self, job: str, **options: Any) -> Any:
        if self.broken:
            raise WorkerError(f"{self.name}, {job}: no memory")
        samples, seed = options["samples"], options["seed"]
        self.seeds.add((samples, seed))
        self.ridges.add(round(options["alpha"] / samples, 12) if "alpha" in options else None)
        if job == "floor":
            return {"seconds": self.cost * samples / 1.1}
        text = options["texts"][0] if "texts" in options else options["text"]
        rng = np.random.default_rng([seed, samples, text])
        scores = (TRUTH + self.noise * rng.normal(size=len(TRUTH)) / samples**0.5).tolist()
        return {"seconds": self.cost * samples, "scores": [scores] if job == "run" else scores}


def bench(own: Sampler, peer: Sampler | None, reason: str = "") -> Bench:
    items = tuple({"text": f"text {i}"} for i in range(5))
    return Bench(own, peer, "lime", 32, items, "abc", reason, lambda line: None)  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path


def test_half_the_error_at_the_same_price_is_four_times_as_fast(cache: Path) -> None:
    own, peer = Sampler("saywhy", 0.01, 1.0), Sampler("lime", 0.01, 2.0)
    rows = list(at_equal_error(bench(own, peer), SETTINGS, "lime"))
    assert [row.how.split(",")[0] for row in rows] == list(ERASURES)
    for row in rows:
        assert row.speedup == pytest.approx(4.0, rel=0.15)
        assert row.over_floor == pytest.approx(1.1)
        assert row.texts == 3
        assert row.facts["lime"]["samples"] == SETTINGS.samples
    assert own.ridges == peer.ridges == {round(1 / SETTINGS.reference, 12)}
    # A reference has a seed of its own, and the peer's is remembered.
    assert {seed for samples, seed in own.seeds if samples == SETTINGS.reference}.isdisjoint(
        {seed for samples, seed in own.seeds if samples != SETTINGS.reference}
    )
    again = Sampler("lime", 0.01, 2.0)
    list(at_equal_error(bench(own, again), SETTINGS, "lime"))
    assert (SETTINGS.reference, 1000) in peer.seeds
    assert (SETTINGS.reference, 1000) not in again.seeds


def test_references_of_the_same_values_are_compared() -> None:
    rows = list(at_equal_error(bench(Sampler("saywhy", 1, 1), Sampler("lime", 1, 1)), SETTINGS, "kernel-shap"))
    assert all("references 0.000 apart" in row.how or "references 0.001 apart" in row.how for row in rows)


@pytest.mark.parametrize(
    ("peer", "reason", "said"),
    [(None, "no wheel", "no wheel"), (Sampler("lime", 1, 1, broken=True), "", "lime, lime: no memory")],
)
def test_without_the_peer_ours_is_measured_all_the_same(peer: Sampler | None, reason: str, said: str) -> None:
    for row in at_equal_error(bench(Sampler("saywhy", 0.01, 1.0), peer, reason), SETTINGS, "lime"):
        assert row.reason == said
        assert row.ours == pytest.approx(4.0)
        assert row.theirs is None
        assert row.floor == pytest.approx(4.0 / 1.1)


def test_where_ours_fails_there_is_a_row_that_says_so() -> None:
    rows = list(at_equal_error(bench(Sampler("saywhy", 1, 1, broken=True), Sampler("lime", 1, 1)), SETTINGS, "lime"))
    assert [(row.ours, row.reason) for row in rows] == [(None, "saywhy, run: no memory")] * 2
