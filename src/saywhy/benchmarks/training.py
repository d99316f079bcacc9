"""Training beside a plain loop: the same objective on the same kind of model, every batch padded to one length.

Both loops start from the same weights, have the same optimiser and schedule, see every example once an epoch and take
turns step by step, so that a busy machine slows both alike. They differ in which examples make up a batch and in how
it is padded, so their losses are not the same numbers; the table says how far apart the epochs' means are.

Example:
    >>> from saywhy.benchmarks.training import TrainingPlan, compare_training
    >>> compare_training(TrainingPlan(data="composed", epochs=2)).speedup                # doctest: +SKIP
    3.4
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import nn

from saywhy.data import load_dataset
from saywhy.errors import OptionError
from saywhy.loop import BatchOrder, LoopSettings, OptimiserSettings, Step
from saywhy.loop.optimisers import make_optimiser, set_rate
from saywhy.loop.stepper import Stepper
from saywhy.models import Batch, Encoded, TextModel
from saywhy.models.networks import networks
from saywhy.objectives import objectives
from saywhy.objectives.base import Objective
from saywhy.ops.randomness import derive_seed

__all__ = [
    "PlainLoop",
    "Side",
    "TrainingComparison",
    "TrainingPlan",
    "compare_training",
    "our_loop",
    "pad_batch",
    "prepare",
]


@dataclass(frozen=True)
class TrainingPlan:
    """What is trained, on what, and how far the plain loop pads."""

    data: str = "planted-reviews"
    objective: str = "rnp"
    network: str = ""
    limit: int | None = 2000
    epochs: int = 2
    batch_size: int = 64
    learning_rate: float = 0.002
    pad: int = 256
    seed: int = 0
    options: Mapping[str, Any] = field(default_factory=dict)
    data_options: Mapping[str, Any] = field(default_factory=dict)
    model_options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class TrainingComparison:
    """Words a CPU second of both loops, and the mean loss of each epoch."""

    plan: TrainingPlan
    examples: int
    steps: int
    tokens: int
    ours: float
    theirs: float
    our_losses: tuple[float, ...]
    their_losses: tuple[float, ...]

    @property
    def speedup(self) -> float:
        """Our tokens a second relative to those of the plain loop."""
        return self.ours / self.theirs

    @property
    def gap(self) -> float:
        """How far apart the mean losses of an epoch are at most, relative to the plain loop's."""
        pairs = zip(self.our_losses, self.their_losses, strict=True)
        return max(abs(a - b) / max(abs(b), 1e-9) for a, b in pairs)

    def to_dict(self) -> dict[str, Any]:
        """As JSON writes it."""
        return {**asdict(self), "speedup": self.speedup, "gap": self.gap}

    def __str__(self) -> str:
        losses = ", ".join(f"{a:.3f} {b:.3f}" for a, b in zip(self.our_losses, self.their_losses, strict=True))
        return (
            f"{self.plan.objective} on {self.examples} examples of {self.plan.data}, {self.steps} steps of "
            f"{self.plan.batch_size}, {self.tokens} tokens\n"
            f"saywhy      {self.ours:9.0f} tokens a CPU second\n"
            f"plain loop  {self.theirs:9.0f} tokens a CPU second (padded to {self.plan.pad})\n"
            f"ratio       {self.speedup:9.2f}\n"
            f"loss by epoch, saywhy and plain: {losses} (at most {self.gap:.1%} apart)"
        )


def compare_training(plan: TrainingPlan, say: Callable[[str], None] = lambda line: None) -> TrainingComparison:
    """Train the same start twice, by our loop and by a plain one, step by step in turn.

    Tokens are those of the texts; padding counts for nobody. Encoding, validation and checkpoints are in neither time.

    Raises:
        OptionError: a text is longer than the plain loop pads to.
    """
    objective, items = prepare(plan)
    lengths = [max(len(row) for row in item.rows) for item in items]
    if max(lengths) > plan.pad:
        raise OptionError(f"a text has {max(lengths)} tokens: pad to no less, or give the model max_length={plan.pad}")
    settings = LoopSettings(epochs=plan.epochs, batch_size=plan.batch_size, seed=plan.seed)
    orders = (
        BatchOrder(len(items), plan.batch_size, seed=plan.seed, lengths=lengths),
        BatchOrder(len(items), plan.batch_size, seed=plan.seed),
    )
    total = plan.epochs * len(orders[0])
    sides = (
        Side(our_loop(copy.deepcopy(objective), items, settings, total)),
        Side(PlainLoop(copy.deepcopy(objective), items, total, plan.seed, plan.pad)),
    )
    done = 0
    for epoch in range(plan.epochs):
        for batches in zip(*(order.epoch(epoch) for order in orders), strict=True):
            for side, batch in zip(sides, batches, strict=True):
                side.step(batch, done, epoch, sum(lengths[int(i)] for i in batch))
            done += 1
        say(f"epoch {epoch + 1} of {plan.epochs}")
    ours, theirs = sides
    return TrainingComparison(
        plan, len(items), done, ours.tokens, ours.speed, theirs.speed, ours.epoch_losses(), theirs.epoch_losses()
    )


@dataclass
class Side:
    """One of the loops, with what it has done."""

    loop: Callable[[NDArray[np.int64], int, int], float]
    seconds: float = 0.0
    tokens: int = 0
    losses: dict[int, list[float]] = field(default_factory=dict)

    def step(self, batch: NDArray[np.int64], index: int, epoch: int, tokens: int) -> None:
        """A step on so many tokens."""
        began = time.process_time()
        loss = self.loop(batch, index, epoch)
        if index:  # the first step pays for what is made once
            self.seconds += time.process_time() - began
            self.tokens += tokens
        self.losses.setdefault(epoch, []).append(loss)

    @property
    def speed(self) -> float:
        """Tokens a CPU second."""
        return self.tokens / max(self.seconds, 1e-9)

    def epoch_losses(self) -> tuple[float, ...]:
        """The mean loss of each epoch."""
        return tuple(float(np.mean(found)) for found in self.losses.values())


class PlainLoop:
    """A training loop as one writes it in a page: any examples together, every batch padded to one length.

    Called with the numbers of a batch's examples, the step and the epoch, it makes one step and returns the loss.
    """

    def __init__(self, objective: Objective, items: Sequence[Encoded], total: int, seed: int, pad: int) -> None:
        self.objective, self.items, self.total, self.seed, self.pad = objective, items, total, seed, pad
        self.rules = objective.optimisers()
        made = {name: make_optimiser(player, self.rules[name]) for name, player in objective.players.items()}
        self.optimisers = {name: optimiser for name, optimiser in made.items() if optimiser is not None}
        objective.train_mode(True)

    def __call__(self, numbers: NDArray[np.int64], index: int, epoch: int) -> float:
        """One step; the loss of its last phase."""
        rows, items = self.objective.collate([self.items[int(i)] for i in numbers])
        batch = (pad_batch(rows, self.pad, self.objective.model.task.pad_id), items)
        value = float("nan")
        torch.manual_seed(derive_seed(self.seed, "plain", index))
        for phase in self.objective.phases(batch, Step(index, self.total, epoch, self.seed)):
            optimisers = {name: self.optimisers[name] for name in phase.players if name in self.optimisers}
            for optimiser in self.optimisers.values():
                optimiser.zero_grad(set_to_none=True)
            result = phase.loss()
            loss = result[0] if isinstance(result, tuple) else result
            loss.backward()
            moved = [p for o in optimisers.values() for group in o.param_groups for p in group["params"]]
            nn.utils.clip_grad_norm_(moved, 1.0)
            for name, optimiser in optimisers.items():
                set_rate(optimiser, self.rules[name].factor(index, self.total))
                optimiser.step()
            value = float(loss.detach())
        return value


def pad_batch(batch: Batch, length: int, pad_id: int) -> Batch:
    """A batch with every input padded on the right to one length; word numbers, types and masks with zeros."""
    more = length - batch.inputs["input_ids"].shape[1]
    fill = {"input_ids": pad_id}
    return replace(batch, inputs={k: F.pad(v, (0, more), value=fill.get(k, 0)) for k, v in batch.inputs.items()})


def prepare(plan: TrainingPlan) -> tuple[Objective, list[Encoded]]:
    """The objective with a new model, and the encoded examples."""
    kind = objectives[plan.objective].value
    data = load_dataset(plan.data, limit=plan.limit, seed=plan.seed, **plan.data_options)
    examples = [example for example in data["train"] if example.label is not None]
    name = plan.network or kind.network or "gru"
    network, tokenizer = networks[name].value(examples, data.task, data.labels, plan.seed, **plan.model_options)
    model = TextModel(network, tokenizer, data.task, data.labels)
    objective: Objective = kind(model, OptimiserSettings(learning_rate=plan.learning_rate), **plan.options)
    objective.begin(plan.seed)
    return objective, objective.items(examples, "head")


def our_loop(
    objective: Objective, items: Sequence[Encoded], settings: LoopSettings, total: int
) -> Callable[[NDArray[np.int64], int, int], float]:
    """Our loop as a function of a batch's numbers, the step and the epoch; it returns the loss."""
    from accelerate import Accelerator

    stepper = Stepper(objective, items, objective.collate, settings, Accelerator(), total)
    objective.train_mode(True)

    def step(numbers: NDArray[np.int64], index: int, epoch: int) -> float:
        logged = stepper.run(numbers, index, epoch)
        return next(value for name, value in reversed(logged.items()) if name.startswith("loss"))

    return step
