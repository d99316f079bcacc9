"""What is trained for: players, and the phases of one step."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor, nn

from saywhy.loop.optimisers import OptimiserSettings
from saywhy.ops.randomness import numpy_generator, torch_generator

__all__ = ["LoopObjective", "Loss", "Phase", "Step"]

Loss: TypeAlias = "Tensor | tuple[Tensor, Mapping[str, float | Tensor]]"


@dataclass(frozen=True)
class Step:
    """Where a run is; the source of all randomness of an objective.

    ``index`` counts optimiser steps from 0, ``part`` the micro-batches of one step and ``rank`` the processes.
    ``clip`` is the largest norm of a phase's gradient: who looks ahead to a step has to know it.
    """

    index: int
    total: int
    epoch: int
    seed: int
    part: int = 0
    rank: int = 0
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    clip: float | None = None

    @property
    def progress(self) -> float:
        """How much of the run is done, from 0 to 1."""
        return self.index / max(1, self.total)

    def generator(self, name: str) -> torch.Generator:
        """A torch generator that is the same whenever this step is run."""
        return torch_generator(self.seed, name, self.index, self.part, self.rank, device=self.device)

    def numpy(self, name: str) -> np.random.Generator:
        """A numpy generator that is the same whenever this step is run."""
        return numpy_generator(self.seed, name, self.index, self.part, self.rank)


@dataclass(frozen=True)
class Phase:
    """One update: the players it moves, and the loss they move by.

    ``loss`` is called once the other players are frozen. It returns the loss, or the loss and numbers to log. ``name``
    tells phases of the same players apart in the log and in the randomness.
    """

    players: tuple[str, ...]
    loss: Callable[[], Loss]
    name: str = ""

    @property
    def title(self) -> str:
        """Its name, or the names of its players."""
        return self.name or "+".join(self.players)


class LoopObjective:
    """Base of everything the loop can train.

    A subclass sets ``players`` and says in `phases` what one step does with a batch. Between two phases it may compute
    whatever it likes: the next phase is asked for only after the one before it has been applied. Ten critic steps to
    one are eleven phases.

    Losses are means over the examples of the batch they are given; the loop weighs them when a batch is cut into
    micro-batches or spread over processes, so that neither changes the gradient.

    Example:
        >>> class Fit(LoopObjective):
        ...     def __init__(self):
        ...         self.players = {"line": nn.Linear(1, 1)}
        ...     def phases(self, batch, step):
        ...         x, y = batch
        ...         yield Phase(("line",), lambda: (self.players["line"](x) - y).square().mean())
    """

    players: dict[str, nn.Module]
    distributed: bool = True

    def phases(self, batch: Any, step: Step) -> Iterator[Phase]:
        """The updates of one step, in order; every micro-batch of a step must yield the same sequence of players."""
        raise NotImplementedError

    @property
    def period(self) -> int:
        """Steps after which the work of a step repeats itself, where steps differ: an estimate times so many."""
        return 1

    @property
    def changes_at(self) -> tuple[float, ...]:
        """Shares of the run at which the work of a step changes: an estimate times steps behind each of them."""
        return ()

    @property
    def judged_from(self) -> float:
        """Share of the run before which no epoch can be the best: what was trained until then was something else."""
        return 0.0

    def optimisers(self) -> Mapping[str, OptimiserSettings]:
        """Settings by player; players left out get the defaults."""
        return {}

    def train_mode(self, training: bool) -> None:
        """Switch the players to training or evaluation; override to keep one of them (a teacher) in evaluation."""
        for player in self.players.values():
            player.train(training)

    def state(self) -> dict[str, Any]:
        """What else a checkpoint must hold, as JSON types: moving averages, multipliers."""
        return {}

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Take back what `state` gave."""
