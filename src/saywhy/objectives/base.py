"""What every objective that trains a text model shares."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import torch

from saywhy.errors import CapabilityError, OptionError
from saywhy.loop import LoopObjective, OptimiserSettings
from saywhy.models import TextModel
from saywhy.models.encoding import Batch, Encoded
from saywhy.registry import Registry
from saywhy.types import Example

__all__ = ["Objective", "TrainingBatch", "accuracy", "objectives"]

TrainingBatch = tuple[Batch, list[Encoded]]


class Objective(LoopObjective):
    """Trains a `TextModel`: turns examples into batches, says what a step does, and scores itself on held-out examples.

    A subclass sets ``players`` and `phases`; options of its own are keyword-only arguments of its constructor, which
    may hand others on to its base as ``**options``.

    Args:
        model: the model; its network is trained in place.
        optimiser: how its players are optimised.
    """

    models: ClassVar[tuple[str, ...]] = ()  # names of options that are models themselves
    tasks: ClassVar[tuple[str, ...]] = ("text", "pair", "choices", "span-qa")
    network: ClassVar[str | None] = None
    """The one network of `saywhy list models` that it trains; None for any. Another model's name, given to
    `saywhy.train`, is then taken as the name of its encoder."""

    def __init__(self, model: TextModel, optimiser: OptimiserSettings) -> None:
        if model.network is None:
            raise CapabilityError("a black box cannot be trained: it shows its outputs only")
        if model.task.name not in self.tasks:
            raise OptionError(
                f"{type(self).__name__} trains models for {', '.join(self.tasks)}, not for {model.task.name}"
            )
        self.model, self.optimiser = model, optimiser
        self.players = {"model": model.module}

    @classmethod
    def option_names(cls) -> list[str]:
        """Its own options: the keyword arguments of its constructor, and of those it hands the rest on to.

        A name that Python keeps for itself, such as lambda, has an underscore behind it there and none here.
        """
        found: list[str] = []
        for kind in cls.__mro__:
            if "__init__" not in vars(kind):
                continue
            parameters = inspect.signature(vars(kind)["__init__"]).parameters.values()
            own = [p.name.rstrip("_") for p in parameters if p.kind is p.KEYWORD_ONLY]
            found += [name for name in own if name not in found]
            if not any(p.kind is p.VAR_KEYWORD for p in parameters):
                break
        return found

    def begin(self, seed: int) -> None:
        """Told the run's seed, before anything is encoded: draw what is new by it. A resumed run is told the same."""

    def optimisers(self) -> dict[str, OptimiserSettings]:
        """The same settings for every player."""
        return dict.fromkeys(self.players, self.optimiser)

    def items(self, examples: Sequence[Example], truncation: str) -> list[Encoded]:
        """Examples as the loop keeps them: encoded once, before the first step."""
        for example in examples:
            self.model.task.gold(example)  # a wrong label is better found now than in the middle of an epoch
        return self.model.encode(examples, truncation)

    def collate(self, items: list[Encoded]) -> TrainingBatch:
        """A batch as `phases` reads it."""
        return self.model.task.collate(items).to(self.model.device), items

    def score(self, items: Sequence[Encoded], batch_size: int) -> float | tuple[float, Mapping[str, float]]:
        """How good the model is on held-out examples, higher is better: the accuracy, unless overridden.

        Other numbers may go with it into the log.
        """
        return accuracy(self.model, items, batch_size)

    def report(self, items: Sequence[Encoded], batch_size: int, seed: int) -> dict[str, Any]:
        """What a user should know about the trained model, as JSON types, for ``run.json``; warns if it went wrong."""
        return {}


def accuracy(model: TextModel, items: Sequence[Encoded], batch_size: int = 32) -> float:
    """Share of examples whose predicted label (for span QA: answer) is the gold one."""
    task = model.task
    if task.name == "span-qa":
        right = 0
        for start in range(0, len(items), batch_size):
            with model.evaluation() as network, torch.no_grad():
                found = task.anchored(network, items[start : start + batch_size])
            right += sum(task.names(item)[0] in _answers(item.example) for item in found)
        return right / len(items)
    predicted = model.scores(items, batch_size).argmax(-1)
    gold = torch.tensor([task.gold(item.example) for item in items])
    return float((predicted == gold).double().mean())


def _answers(example: Example) -> set[str]:
    return {example.fields[span.field][span.start : span.end] for span in example.answers}


objectives: Registry[type[Any]] = Registry("objective", "saywhy.objectives")
