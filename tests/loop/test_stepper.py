from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from accelerate import Accelerator
from torch import nn

from saywhy.errors import OptionError, SayWhyError
from saywhy.loop import LoopObjective, LoopSettings, OptimiserSettings, Phase, Step
from saywhy.loop.stepper import Stepper, frozen_except
from tests.loop.toys import Game, Quiet, Regression, collate, points, weights


def stepper(objective: LoopObjective, accelerator: Any = None, **settings: Any) -> Stepper:
    return Stepper(objective, points(), collate, LoopSettings(**settings), accelerator or Accelerator(), 10)


def test_only_the_phases_players_move_and_the_others_are_frozen() -> None:
    game = Game()
    game.players["actor"].bias.requires_grad_(False)
    before = weights(game)
    logged = stepper(game).run(np.arange(8), 0, 0)
    assert game.seen == [("critic", False, True), ("critic", False, True), ("actor", True, False)]
    assert game.players["actor"].weight.requires_grad
    assert game.players["critic"].weight.requires_grad
    assert not game.players["actor"].bias.requires_grad
    after = weights(game)
    changed = {key for key in before if not torch.equal(before[key], after[key])}
    assert changed == {"actor.weight", "critic.weight", "critic.bias"}
    assert set(logged) == {"loss/critic", "loss/actor", "value/critic", "value/actor"}


def test_requires_grad_is_restored_after_an_error() -> None:
    players = {"a": nn.Linear(1, 1), "b": nn.Linear(1, 1)}

    def fail() -> None:
        with frozen_except(players, ["a"]):
            assert not players["b"].weight.requires_grad
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert players["b"].weight.requires_grad


@pytest.mark.parametrize("accumulate", [2, 3, 7])
def test_accumulation_does_not_change_the_step(accumulate: int) -> None:
    results, losses = [], []
    for parts in (1, accumulate):
        objective = Quiet()
        # Plain gradient steps, because Adam's do not show a gradient that is too large.
        objective.rules = OptimiserSettings(name="sgd", learning_rate=1.0, warmup=0.0)
        losses.append(stepper(objective, accumulate=parts, clip=None).run(np.arange(10), 0, 0)["loss"])
        results.append(weights(objective))
    assert losses[0] == pytest.approx(losses[1])
    for key in results[0]:
        torch.testing.assert_close(results[0][key], results[1][key], rtol=1e-4, atol=1e-5)


def test_accumulation_with_several_phases() -> None:
    games = [Game(), Game()]
    for game, parts in zip(games, (1, 3), strict=True):
        stepper(game, accumulate=parts).run(np.arange(10), 0, 0)
    assert len(games[1].seen) == 9
    for key, value in weights(games[0]).items():
        torch.testing.assert_close(weights(games[1])[key], value, rtol=1e-4, atol=1e-6)


def test_clipping_bounds_the_gradient() -> None:
    moved = {}
    for clip in (None, 1e-3):
        objective = Regression(dropout=0.0, name="sgd", learning_rate=1.0, weight_decay=0.0, warmup=0.0)
        before = weights(objective)
        stepper(objective, clip=clip).run(np.arange(8), 0, 0)
        moved[clip] = sum((weights(objective)[k] - before[k]).square().sum() for k in before).sqrt().item()
    assert moved[1e-3] == pytest.approx(1e-3, rel=1e-2)
    assert moved[None] > 0.1


def test_a_step_repeats_whatever_the_global_state() -> None:
    results = []
    for seed in (1, 2):
        torch.manual_seed(seed)
        objective = Regression(dropout=0.5)
        stepper(objective).run(np.arange(8), 5, 0)
        results.append(weights(objective))
    assert all(torch.equal(results[0][k], results[1][k]) for k in results[0])
    other = Regression(dropout=0.5)
    stepper(other).run(np.arange(8), 6, 0)
    assert any(not torch.equal(results[0][k], weights(other)[k]) for k in results[0])


def test_a_loss_that_is_not_finite_says_so() -> None:
    class Broken(Regression):
        def phases(self, batch: Any, step: Step) -> Iterator[Phase]:
            yield Phase(("network",), lambda: self.players["network"](batch[0]).sum() * float("nan"), name="broken")

    with pytest.raises(SayWhyError, match=r"'broken' became nan at step 4.*learning rate"):
        stepper(Broken()).run(np.arange(4), 4, 0)


def test_shared_parameters_and_unknown_players_are_refused() -> None:
    game = Game()
    game.players["copy"] = game.players["actor"]
    with pytest.raises(ValueError, match="share a parameter"):
        stepper(game)
    regression = Regression()
    regression.players = {"other": regression.players["network"]}
    with pytest.raises(ValueError, match="network"):
        stepper(regression)


def test_an_objective_that_cannot_be_distributed_refuses_several_processes() -> None:
    class Alone(Regression):
        distributed = False

    class Two:
        num_processes, mixed_precision = 2, "no"

    with pytest.raises(OptionError, match=r"Alone cannot be trained in 2 processes"):
        stepper(Alone(), accelerator=Two())


def test_micro_batches_must_agree() -> None:
    class Fickle(Game):
        def phases(self, batch: Any, step: Step) -> Iterator[Phase]:
            yield Phase(("critic",) if step.part == 0 else ("actor",), lambda: self.loss("x", 1.0, batch))

    with pytest.raises(ValueError, match="same players"):
        stepper(Fickle(), accumulate=2).run(np.arange(4), 0, 0)
