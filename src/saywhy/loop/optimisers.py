"""One optimiser for each player, with a learning rate that is a function of the step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn

from saywhy.errors import OptionError

__all__ = ["OptimiserSettings", "make_optimiser", "set_rate"]

STAGES = 10  # of the schedule "step"


@dataclass(frozen=True)
class OptimiserSettings:
    """How one player is optimised.

    ``warmup`` is the share of all steps in which the rate rises from 0; with ``schedule="linear"`` it then falls to 0
    at the last step, with ``"constant"`` it stays, and with ``"step"`` it is multiplied by ``decay`` after every tenth
    of the steps (every two of twenty epochs, as IvRA trains). ``rates`` gives parameters whose names start with a
    prefix their own learning rate, such as ``{"bert.": 1e-5}``. Vectors (biases, norms) are never decayed, nor are the
    parameters of modules that say ``never_decayed``.
    """

    name: str = "adamw"
    learning_rate: float = 1e-3
    weight_decay: float = 0.01
    betas: tuple[float, float] = (0.9, 0.999)
    epsilon: float = 1e-8
    momentum: float = 0.0
    schedule: str = "linear"
    warmup: float = 0.1
    decay: float = 0.5
    rates: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.name not in ("adamw", "adam", "sgd"):
            raise OptionError(f"unknown optimiser {self.name!r}; known: adam, adamw, sgd")
        if self.schedule not in ("constant", "linear", "step"):
            raise OptionError(f"unknown schedule {self.schedule!r}; known: constant, linear, step")
        if not 0 < self.decay <= 1:
            raise OptionError(f"decay is a factor above 0 and at most 1, not {self.decay}")
        if not 0 <= self.warmup < 1:
            raise OptionError(f"warmup is a share of all steps in [0, 1), not {self.warmup}")
        if not all(rate >= 0 for rate in (self.learning_rate, *self.rates.values())):
            raise OptionError(f"learning rates must not be negative, not {self.learning_rate}, {dict(self.rates)}")

    def factor(self, step: int, total: int) -> float:
        """What the learning rate is multiplied by at a step counted from 0.

        Example:
            >>> [round(OptimiserSettings(warmup=0.5).factor(s, 4), 2) for s in range(4)]
            [0.5, 1.0, 1.0, 0.5]
        """
        rising = int(self.warmup * total)
        if step < rising:
            return (step + 1) / rising
        if self.schedule == "constant":
            return 1.0
        if self.schedule == "step":
            return float(self.decay ** min(STAGES * step // total, STAGES - 1))
        # Steps past the planned end (an objective may be run on) keep the rate 0 rather than turn negative.
        return max(0.0, (total - step) / (total - rising))


def make_optimiser(player: nn.Module, settings: OptimiserSettings) -> torch.optim.Optimizer | None:
    """The optimiser of a player's parameters that are not frozen, or None if all are."""
    spared = {
        id(parameter)
        for module in player.modules()
        if getattr(module, "never_decayed", False)
        for parameter in module.parameters()
    }
    groups: dict[tuple[float, bool], list[nn.Parameter]] = {}
    for name, parameter in player.named_parameters():
        if parameter.requires_grad:
            prefixes = [p for p in settings.rates if name.startswith(p)]
            rate = settings.rates[max(prefixes, key=len)] if prefixes else settings.learning_rate
            decayed = parameter.ndim > 1 and id(parameter) not in spared
            groups.setdefault((rate, decayed), []).append(parameter)
    if not groups:
        return None
    listed: list[dict[str, Any]] = [
        {
            "params": parameters,
            "lr": rate,
            "base_rate": rate,
            "weight_decay": settings.weight_decay if decayed else 0.0,
        }
        for (rate, decayed), parameters in groups.items()
    ]
    if settings.name == "sgd":
        return torch.optim.SGD(listed, lr=settings.learning_rate, momentum=settings.momentum)
    kind = torch.optim.AdamW if settings.name == "adamw" else torch.optim.Adam
    # On the CPU torch would go through each tensor many times by itself; fused, a step costs a quarter of that.
    on_cpu = all(parameter.is_cpu for parameters in groups.values() for parameter in parameters)
    fused = True if on_cpu else None
    return kind(listed, lr=settings.learning_rate, betas=settings.betas, eps=settings.epsilon, fused=fused)


def set_rate(optimiser: torch.optim.Optimizer, factor: float) -> None:
    """Set every group's learning rate to its own base rate times ``factor``."""
    for group in optimiser.param_groups:
        group["lr"] = group["base_rate"] * factor
