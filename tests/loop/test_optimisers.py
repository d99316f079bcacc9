from __future__ import annotations

import pytest
import torch
from torch import nn

from saywhy.errors import OptionError
from saywhy.loop import OptimiserSettings
from saywhy.loop.optimisers import make_optimiser, set_rate


def test_linear_schedule_rises_and_falls_to_the_end() -> None:
    rule = OptimiserSettings(warmup=0.1)
    factors = [rule.factor(step, 100) for step in range(100)]
    assert factors[:10] == pytest.approx([0.1 * (i + 1) for i in range(10)])
    assert factors[10] == 1.0
    assert factors[99] == pytest.approx(1 / 90)
    assert rule.factor(100, 100) == rule.factor(120, 100) == 0.0


def test_step_schedule_falls_after_every_tenth() -> None:
    rule = OptimiserSettings(schedule="step", warmup=0.0, decay=0.5)
    assert [rule.factor(step, 20) for step in (0, 1, 2, 3, 4, 19)] == [1.0, 1.0, 0.5, 0.5, 0.25, 0.5**9]
    assert rule.factor(25, 20) == 0.5**9
    assert OptimiserSettings(schedule="step", warmup=0.0, decay=1.0).factor(15, 20) == 1.0


def test_constant_schedule_keeps_the_rate() -> None:
    rule = OptimiserSettings(schedule="constant", warmup=0.0)
    assert {rule.factor(step, 10) for step in range(20)} == {1.0}


def test_groups_by_rate_and_decay() -> None:
    player = nn.ModuleDict({"encoder": nn.Linear(2, 2), "head": nn.Linear(2, 2), "frozen": nn.Linear(2, 2)})
    player["frozen"].requires_grad_(False)
    rule = OptimiserSettings(learning_rate=1e-2, weight_decay=0.1, rates={"encoder.": 1e-3})
    optimiser = make_optimiser(player, rule)
    assert optimiser is not None
    found = {id(p): (g["base_rate"], g["weight_decay"]) for g in optimiser.param_groups for p in g["params"]}
    assert found == {
        id(player["encoder"].weight): (1e-3, 0.1),
        id(player["encoder"].bias): (1e-3, 0.0),
        id(player["head"].weight): (1e-2, 0.1),
        id(player["head"].bias): (1e-2, 0.0),
    }
    set_rate(optimiser, 0.5)
    assert sorted({g["lr"] for g in optimiser.param_groups}) == [5e-4, 5e-3]


def test_modules_may_be_spared_from_decay() -> None:
    player = nn.ModuleDict({"head": nn.Linear(2, 2), "coefficients": nn.Linear(2, 2)})
    player["coefficients"].never_decayed = True  # type: ignore[assignment]
    optimiser = make_optimiser(player, OptimiserSettings(weight_decay=0.1, rates={"coefficients.": 1.0}))
    assert optimiser is not None
    decays = {id(p): g["weight_decay"] for g in optimiser.param_groups for p in g["params"]}
    assert decays[id(player["head"].weight)] == 0.1
    assert decays[id(player["coefficients"].weight)] == 0.0


def test_a_frozen_player_has_no_optimiser() -> None:
    assert make_optimiser(nn.Linear(2, 2).requires_grad_(False), OptimiserSettings()) is None


@pytest.mark.parametrize(
    "wrong", [{"name": "lion"}, {"schedule": "cosine"}, {"warmup": 1.0}, {"learning_rate": -1.0}, {"decay": 0.0}]
)
def test_wrong_settings(wrong: dict[str, object]) -> None:
    with pytest.raises(OptionError):
        OptimiserSettings(**wrong)


@pytest.mark.parametrize(("name", "kind"), [("adamw", torch.optim.AdamW), ("sgd", torch.optim.SGD)])
def test_kinds(name: str, kind: type) -> None:
    assert type(make_optimiser(nn.Linear(2, 2), OptimiserSettings(name=name))) is kind


@pytest.mark.parametrize("name", ["adam", "adamw"])
def test_a_step_is_that_of_the_formula(name: str) -> None:
    """Kingma & Ba, algorithm 1; decay inside the gradient (adam) or beside it (adamw)."""
    start, slopes, decay = [2.0, -1.0], ([0.5, -3.0], [1.0, 0.25]), 0.1
    player = nn.Linear(2, 1, bias=False)
    with torch.no_grad():
        player.weight[:] = torch.tensor([start])
    optimiser = make_optimiser(player, OptimiserSettings(name=name, learning_rate=0.01, weight_decay=decay))
    assert optimiser is not None
    for slope in slopes:
        player.weight.grad = torch.tensor([slope])
        optimiser.step()
    for i, value in enumerate(start):
        first = second = 0.0
        for t, slope in enumerate(slopes, start=1):
            if name == "adamw":
                value *= 1 - 0.01 * decay
            g = slope[i] + (decay * value if name == "adam" else 0.0)
            first, second = 0.9 * first + 0.1 * g, 0.999 * second + 0.001 * g * g
            value -= 0.01 * (first / (1 - 0.9**t)) / ((second / (1 - 0.999**t)) ** 0.5 + 1e-8)
        assert player.weight[0, i].item() == pytest.approx(value, rel=1e-5)
