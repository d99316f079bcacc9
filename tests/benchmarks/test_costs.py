"""What methods and objectives cost beside a prediction and a plain step."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from saywhy.benchmarks import costs
from saywhy.benchmarks.costs import method_costs, objective_costs
from saywhy.benchmarks.training import TrainingPlan
from saywhy.cli.app import app
from saywhy.errors import OptionError
from saywhy.types import Example
from tests import zoo
from tests.objectives.rationalizers import reviews


@pytest.fixture
def file(tmp_path: Path) -> str:
    target = tmp_path / "reviews.jsonl"
    target.write_text("".join(json.dumps({"text": e.texts[0], "label": e.label}) + "\n" for e in reviews(24)))
    return str(target)


def test_the_fastest_round_counts_and_the_first_is_for_warming_up(monkeypatch: pytest.MonkeyPatch) -> None:
    # Two readings for each of (predict, gradient), in the warm round and in three that count.
    spent = [9.0, 9.0, 1.0, 4.0, 0.5, 6.0, 2.0, 3.0]
    readings = itertools.chain.from_iterable((10.0 * i, 10.0 * i + s) for i, s in enumerate(spent))
    monkeypatch.setattr(costs.time, "process_time", lambda: next(readings))
    model = zoo.shared("bert")
    table = method_costs(model, reviews(2), [("gradient", {})], rounds=3)
    assert [(row.name, row.seconds, row.ratio) for row in table.rows] == [
        ("predict", 0.25, 1.0),
        ("gradient", 1.5, 6.0),
    ]


def test_options_reach_the_method_and_its_name() -> None:
    table = method_costs(
        zoo.shared("bert"), reviews(2), [("lime", {"samples": 8}), ("lime", {"samples": 200})], rounds=1
    )
    assert [row.name for row in table.rows] == ["predict", "lime (samples=8)", "lime (samples=200)"]
    assert table.rows[2].seconds > table.rows[1].seconds > 0
    too_long = [Example(("good " * 2000,))]
    assert method_costs(zoo.shared("bert"), too_long, [("gradient", {})], rounds=1).rows[1].seconds > 0
    with pytest.raises(OptionError, match="at least one example"):
        method_costs(zoo.shared("bert"), [], [])


def test_objectives_see_the_same_batches(file: str) -> None:
    plan = TrainingPlan(data=file, objective="plain", network="text-transformer", limit=None, epochs=2, batch_size=6)
    table = objective_costs(plan, [("ivra", {"criteria": "comp"})])
    assert [row.name for row in table.rows] == ["plain", "ivra (criteria=comp)"]
    assert table.rows[0].ratio == 1
    assert table.rows[1].ratio > 1
    with pytest.raises(OptionError, match="the first step is not counted"):
        objective_costs(TrainingPlan(data=file, objective="plain", network="gru", epochs=1, batch_size=64), [])


def test_from_the_command_line(file: str, tmp_path: Path) -> None:
    zoo.shared("bert").save(tmp_path / "model")
    run = CliRunner().invoke
    told = run(
        app,
        f"bench methods {tmp_path / 'model'} -m gradient -m lime:samples=8 --data {file} --split train --texts 3 "
        "--rounds 1 --json",
    )
    assert told.exit_code == 0, told.output
    rows = json.loads(told.stdout)["rows"]
    assert [row["name"] for row in rows] == ["predict", "gradient", "lime (samples=8)"]
    told = run(
        app,
        f"bench objectives plain 'ivra:criteria=[comp, suff]' --data {file} --model text-transformer --limit 18 "
        "--batch-size 6",
    )
    assert told.exit_code == 0, told.output
    assert "ivra (criteria=" in told.stdout
    assert "1.00" in told.stdout
