"""How long a run would take, from a few timed steps."""

from __future__ import annotations

import copy
import itertools
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from saywhy.loop.batches import BatchOrder
from saywhy.loop.objective import LoopObjective
from saywhy.loop.settings import LoopSettings
from saywhy.loop.stepper import Stepper

__all__ = ["Estimate", "estimate"]


@dataclass(frozen=True)
class Estimate:
    """A guess at the cost of a run on this machine; validation is not in it."""

    steps: int
    seconds_per_step: float
    seconds: float

    def __str__(self) -> str:
        minutes, seconds = divmod(round(self.seconds), 60)
        return f"about {minutes} min {seconds} s ({self.steps} steps of {self.seconds_per_step:.3f} s)"


def estimate(
    objective: LoopObjective,
    data: Sequence[Any],
    *,
    collate: Callable[[list[Any]], Any],
    settings: LoopSettings,
    lengths: Sequence[int] | None = None,
) -> Estimate:
    """Time two steps, after one to warm up, and scale them by the padded lengths of all batches.

    Where steps differ in their work, all kinds of them are timed: those of a ``period``, and those between the shares
    of the run at which the work changes (``changes_at``).

    The objective is left as it was.
    """
    from accelerate import Accelerator

    order = BatchOrder(len(data), settings.batch_size, seed=settings.seed, lengths=lengths)
    steps = settings.epochs * len(order)
    if settings.max_steps is not None:
        steps = min(steps, settings.max_steps)
    if not steps:
        return Estimate(steps=0, seconds_per_step=0.0, seconds=0.0)
    batches = order.epoch(0)
    sizes = np.asarray([len(b) * (max(lengths[i] for i in b) if lengths is not None else 1) for b in batches], float)
    # Some batches of middling size stand for the rest.
    middling = np.argsort(np.abs(sizes - np.median(sizes)), kind="stable")
    before = {
        name: {key: value.detach().clone() for key, value in player.state_dict().items()}
        for name, player in objective.players.items()
    }
    remembered = copy.deepcopy(objective.state())
    stepper = Stepper(objective, data, collate, settings, Accelerator(), steps)
    objective.train_mode(True)
    # The steps at which the work changes, and the last one's end.
    starts = sorted({0, *(min(steps, math.ceil(share * steps)) for share in objective.changes_at), steps})
    whole = 0.0
    try:
        with torch.random.fork_rng():
            for start, end in itertools.pairwise(starts):
                seconds, size = 0.0, 0.0
                for turn in range(1 + max(2, objective.period)):
                    which = int(middling[turn % len(middling)])
                    began = time.perf_counter()
                    stepper.run(batches[which], min(start + max(0, turn - 1), end - 1), 0)
                    if turn > 0:
                        seconds += time.perf_counter() - began
                        size += sizes[which]
                whole += seconds / size * float(sizes.mean()) * (end - start)
    finally:
        for name, player in objective.players.items():
            player.load_state_dict(before[name])
        objective.load_state(remembered)
        objective.train_mode(False)
    return Estimate(steps=steps, seconds_per_step=whole / steps, seconds=whole)
