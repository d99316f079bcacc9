"""Tiny objectives for the tests of the loop."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn

from saywhy.loop import LoopObjective, OptimiserSettings, Phase, Step, global_seed


def points(n: int = 50, seed: int = 0) -> list[tuple[Tensor, Tensor]]:
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(n, 4, generator=generator)
    y = x @ torch.tensor([1.0, -2.0, 0.5, 0.0]) + 0.3
    return list(zip(x, y, strict=True))


def collate(items: list[Any]) -> tuple[Tensor, Tensor]:
    return torch.stack([x for x, _ in items]), torch.stack([y for _, y in items])


class Regression(LoopObjective):
    """A small network with dropout, so that resuming must restore the randomness too."""

    def __init__(self, dropout: float = 0.3, **rules: Any) -> None:
        with global_seed(1, "toy"):
            network = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Dropout(dropout), nn.Linear(8, 1))
        self.players: dict[str, nn.Module] = {"network": network}
        self.rules = OptimiserSettings(**{"learning_rate": 0.05, **rules})

    def optimisers(self) -> dict[str, OptimiserSettings]:
        return {"network": self.rules}

    def phases(self, batch: tuple[Tensor, Tensor], step: Step) -> Iterator[Phase]:
        x, y = batch
        noisy = x + 0.01 * torch.randn(x.shape, generator=step.generator("noise"))
        yield Phase(("network",), lambda: (self.players["network"](noisy).squeeze(-1) - y).square().mean())


class Quiet(Regression):
    """The same without noise, so that runs that draw differently can be compared."""

    def __init__(self) -> None:
        super().__init__(dropout=0.0)

    def phases(self, batch: tuple[Tensor, Tensor], step: Step) -> Iterator[Phase]:
        x, y = batch
        yield Phase(("network",), lambda: (self.players["network"](x).squeeze(-1) - y).square().mean())


class Game(LoopObjective):
    """Two players that move in turn: the critic twice, then the actor."""

    def __init__(self) -> None:
        with global_seed(2, "toy"):
            self.players = {"actor": nn.Linear(4, 4), "critic": nn.Linear(4, 1)}
        self.seen: list[tuple[str, bool, bool]] = []

    def loss(self, name: str, sign: float, batch: tuple[Tensor, Tensor]) -> Any:
        actor, critic = self.players["actor"], self.players["critic"]
        self.seen.append((name, actor.weight.requires_grad, critic.weight.requires_grad))
        value = (critic(actor(batch[0])).squeeze(-1) - batch[1]).square().mean()
        return sign * value, {f"value/{name}": value.detach()}

    def phases(self, batch: tuple[Tensor, Tensor], step: Step) -> Iterator[Phase]:
        for _ in range(2):
            yield Phase(("critic",), lambda: self.loss("critic", 1.0, batch))
        yield Phase(("actor",), lambda: self.loss("actor", -0.01, batch))


def weights(objective: LoopObjective) -> dict[str, Tensor]:
    return {
        f"{name}.{key}": value.detach().clone()
        for name, player in objective.players.items()
        for key, value in player.state_dict().items()
    }


def same(a: dict[str, Tensor], b: dict[str, Tensor]) -> bool:
    return a.keys() == b.keys() and all(torch.equal(a[key], b[key]) for key in a)
