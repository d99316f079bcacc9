from __future__ import annotations

import copy
import json
from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner

from saywhy.benchmarks.training import PlainLoop, TrainingPlan, compare_training, pad_batch
from saywhy.cli.app import app
from saywhy.errors import OptionError
from saywhy.loop import Step
from tests.objectives.rationalizers import make, reviews

SMALL = {"encoder_options": {"hidden_size": 8, "embedding_size": 8}}


def test_padding_changes_no_score_and_no_penalty() -> None:
    objective = make("rnp")
    rows, _ = objective.collate(objective.items(reviews(6), "head"))
    longer = pad_batch(rows, 40, objective.model.task.pad_id)
    assert longer.inputs["input_ids"].shape == (6, 40)
    objective.train_mode(False)
    short, long = (objective.rationalizer.choose(r.inputs) for r in (rows, longer))
    width = short.real.shape[1]
    assert torch.equal(long.real[:, :width], short.real)
    assert not long.real[:, width:].any()
    mask = objective.rationalizer.select(short)
    wide = torch.nn.functional.pad(mask, (0, long.real.shape[1] - width))
    assert torch.allclose(objective.read(rows, mask), objective.read(longer, wide), atol=1e-6)
    assert objective.penalty(mask, short) == pytest.approx(float(objective.penalty(wide, long)), abs=1e-6)


@pytest.fixture
def file(tmp_path: Path) -> str:
    target = tmp_path / "reviews.jsonl"
    target.write_text("".join(json.dumps({"text": e.texts[0], "label": e.label}) + "\n" for e in reviews(48)))
    return str(target)


def test_the_plain_loop_learns_as_ours_does(file: str) -> None:
    plan = TrainingPlan(data=file, epochs=6, batch_size=8, pad=64, learning_rate=0.01, model_options=SMALL)
    found = compare_training(plan)
    assert (found.examples, found.steps) == (42, 36)  # an eighth is held out
    assert len(found.our_losses) == len(found.their_losses) == 6
    assert found.our_losses[-1] < found.our_losses[0]
    assert found.their_losses[-1] < found.their_losses[0]
    assert found.gap < 0.3
    assert found.speedup > 1
    assert json.loads(json.dumps(found.to_dict()))["speedup"] == found.speedup


def test_every_phase_moves_its_own_players_only() -> None:
    objective = make("a2i")
    items = objective.items(reviews(6), "head")
    loop = PlainLoop(copy.deepcopy(objective), items, 10, 0, 40)
    before = {n: copy.deepcopy(p.state_dict()) for n, p in loop.objective.players.items()}
    phases = [p.players for p in objective.phases(objective.collate(items), Step(0, 10, 0, seed=0))]
    assert len(phases) == 2
    loop(torch.arange(6).numpy(), 5, 0)
    for name, player in loop.objective.players.items():
        now = player.state_dict()
        assert any(not torch.equal(now[k], v) for k, v in before[name].items())


def test_texts_that_are_longer_than_the_padding_are_an_error(file: str) -> None:
    with pytest.raises(OptionError, match="pad to no less"):
        compare_training(TrainingPlan(data=file, pad=3, model_options=SMALL))


def test_the_command_prints_the_ratio(file: str) -> None:
    arguments = [
        "bench",
        "training",
        "ver",
        "--data",
        file,
        "--pad",
        "40",
        "--limit",
        "16",
        "--epochs",
        "1",
        "--batch-size",
        "8",
        "--json",
    ]
    arguments += ["--model-option", "encoder_options={hidden_size: 8, embedding_size: 8}"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["plan"]["objective"] == "ver"
    assert found["speedup"] > 0
