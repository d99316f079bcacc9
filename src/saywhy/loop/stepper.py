"""One optimiser step: freeze, backward, clip, step, phase by phase."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from saywhy.errors import OptionError, SayWhyError
from saywhy.loop.batches import BatchOrder
from saywhy.loop.objective import LoopObjective, Phase, Step
from saywhy.loop.optimisers import OptimiserSettings, make_optimiser, set_rate
from saywhy.loop.settings import LoopSettings
from saywhy.ops.randomness import derive_seed

__all__ = ["Stepper", "frozen_except"]


@contextmanager
def frozen_except(players: Mapping[str, nn.Module], names: Sequence[str]) -> Iterator[None]:
    """Freeze all players but the named ones inside the block.

    A parameter that a named player shares with another stays free; one that was frozen before stays frozen.
    """
    free = {id(p) for name in names for p in players[name].parameters()}
    others = {id(p): p for player in players.values() for p in player.parameters() if p.requires_grad}
    switched = [p for key, p in others.items() if key not in free]
    for parameter in switched:
        parameter.requires_grad_(False)
    try:
        yield
    finally:
        for parameter in switched:
            parameter.requires_grad_(True)


class Stepper:
    """Applies an objective's phases to one batch after another.

    Gradients are summed over processes by one collective call a phase rather than by wrapping the players in
    `DistributedDataParallel`, whose bookkeeping is lost when players are frozen in turn, called several times a step
    or unrolled.

    Args:
        objective: what is trained.
        data: the examples, by number.
        collate: makes a batch of a list of examples.
        settings: settings of the run.
        accelerator: an `accelerate.Accelerator`.
        total: steps the run is planned to take.
    """

    def __init__(
        self,
        objective: LoopObjective,
        data: Sequence[Any],
        collate: Callable[[list[Any]], Any],
        settings: LoopSettings,
        accelerator: Any,
        total: int,
    ) -> None:
        if accelerator.num_processes > 1 and not objective.distributed:
            raise OptionError(
                f"{type(objective).__name__} cannot be trained in {accelerator.num_processes} processes: "
                "its step differentiates through another player's update; run it in one process"
            )
        if accelerator.mixed_precision == "fp16":
            raise OptionError("fp16 needs loss scaling, which phases do not support; use bf16 or no mixed precision")
        self.objective, self.data, self.collate, self.settings = objective, data, collate, settings
        self.accelerator, self.total = accelerator, total
        given = objective.optimisers()
        unknown = sorted(set(given) - set(objective.players))
        if unknown:
            raise ValueError(f"optimisers for players that are not there: {', '.join(unknown)}")
        self.rules = {name: given.get(name, OptimiserSettings()) for name in objective.players}
        owner: dict[int, str] = {}
        for name, player in objective.players.items():
            player.to(accelerator.device)
            for parameter in player.parameters():
                if parameter.requires_grad and owner.setdefault(id(parameter), name) != name:
                    raise ValueError(
                        f"players {owner[id(parameter)]!r} and {name!r} share a parameter: make them one player"
                    )
        made = {name: make_optimiser(player, self.rules[name]) for name, player in objective.players.items()}
        self.optimisers = {name: optimiser for name, optimiser in made.items() if optimiser is not None}

    def run(self, batch: NDArray[np.int64], index: int, epoch: int) -> dict[str, float]:
        """One step on the examples of those numbers; the losses and whatever the objective logs, as means."""
        rank, world = self.accelerator.process_index, self.accelerator.num_processes
        running = []
        for part, share in enumerate(BatchOrder.shares(batch, self.settings.accumulate)):
            mine, weight = share[rank::world], len(share[rank::world]) / len(batch)
            if not len(mine):
                # Every process must take part in every collective call; weight 0 makes this one count for nothing.
                mine = share[:1]
            items = self._to_device(self.collate([self.data[int(i)] for i in mine]))
            device, clip = self.accelerator.device, self.settings.clip
            where = Step(index, self.total, epoch, self.settings.seed, part, rank, device, clip)
            running.append((self.objective.phases(items, where), weight, part))
        logged: dict[str, float] = {}
        ordinal = 0
        while phases := self._next(running, index, ordinal):
            # Of several phases with one name (ten steps of a critic) the last is logged.
            logged |= self._phase(phases, index, ordinal)
            ordinal += 1
        return self._over_processes(logged)

    def _next(
        self, running: Sequence[tuple[Iterator[Phase], float, int]], index: int, ordinal: int
    ) -> list[tuple[Phase, float, int]]:
        found = []
        for generator, weight, part in running:
            self._seed("between", index, ordinal, part)
            phase = next(generator, None)
            if phase is not None:
                found.append((phase, weight, part))
        if found and (len(found) < len(running) or len({phase.players for phase, _, _ in found}) > 1):
            raise ValueError(
                f"{type(self.objective).__name__}.phases must yield the same players for every micro-batch"
            )
        return found

    def _phase(self, phases: list[tuple[Phase, float, int]], index: int, ordinal: int) -> dict[str, float]:
        first = phases[0][0]
        optimisers = {n: self.optimisers[n] for n in first.players if n in self.optimisers}
        for optimiser in optimisers.values():
            optimiser.zero_grad(set_to_none=True)
        name = "loss" if len(self.objective.players) == 1 else f"loss/{first.title}"
        numbers: dict[str, float] = {}
        with frozen_except(self.objective.players, first.players):
            for phase, weight, part in phases:
                self._seed("loss", index, ordinal, part)
                with self.accelerator.autocast():
                    result = phase.loss()
                loss, extra = result if isinstance(result, tuple) else (result, {})
                value = float(loss.detach())
                if not math.isfinite(value):
                    raise SayWhyError(
                        f"the loss of phase {first.title!r} became {value} at step {index}; "
                        "lower the learning rate or clip the gradient more"
                    )
                self.accelerator.backward(loss * weight)
                for key, number in {name: value, **extra}.items():
                    numbers[key] = numbers.get(key, 0.0) + weight * float(number)
        parameters = [p for o in optimisers.values() for group in o.param_groups for p in group["params"]]
        self._sum_gradients(parameters)
        if self.settings.clip is not None and parameters:
            norm = float(nn.utils.clip_grad_norm_(parameters, self.settings.clip))
            if not math.isfinite(norm):
                raise SayWhyError(
                    f"the gradient of phase {first.title!r} became {norm} at step {index}; lower the learning rate"
                )
        for player, optimiser in optimisers.items():
            set_rate(optimiser, self.rules[player].factor(index, self.total))
            optimiser.step()
            optimiser.zero_grad(set_to_none=True)
        return numbers

    def _seed(self, what: str, index: int, ordinal: int, part: int) -> None:
        rank = self.accelerator.process_index
        torch.manual_seed(derive_seed(self.settings.seed, what, index, ordinal, part, rank))

    def _to_device(self, items: Any) -> Any:
        if self.accelerator.device.type == "cpu":
            return items
        from accelerate.utils import send_to_device

        return send_to_device(items, self.accelerator.device)

    def _sum_gradients(self, parameters: list[Tensor]) -> None:
        if self.accelerator.num_processes == 1 or not parameters:
            return
        # A parameter one process did not reach may have been reached by another; one that nobody reached stays None.
        reached = torch.tensor([float(p.grad is not None) for p in parameters], device=self.accelerator.device)
        anywhere = self.accelerator.reduce(reached, reduction="sum").tolist()
        used = [p for p, count in zip(parameters, anywhere, strict=True) if count > 0]
        gradients = [torch.zeros_like(p) if p.grad is None else p.grad for p in used]
        flat = self.accelerator.reduce(torch.cat([g.reshape(-1) for g in gradients]), reduction="sum")
        for parameter, piece in zip(used, flat.split([p.numel() for p in used]), strict=True):
            parameter.grad = piece.view_as(parameter)

    def _over_processes(self, logged: dict[str, float]) -> dict[str, float]:
        if self.accelerator.num_processes == 1 or not logged:
            return logged
        names = sorted(logged)
        numbers = torch.tensor([logged[n] for n in names], dtype=torch.float64, device=self.accelerator.device)
        return dict(zip(names, self.accelerator.reduce(numbers, reduction="sum").tolist(), strict=True))
