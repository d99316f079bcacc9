"""Plain supervised training: the model, its labels, cross-entropy."""

from __future__ import annotations

from collections.abc import Iterator

from saywhy.loop import Phase, Step
from saywhy.objectives.base import Objective, TrainingBatch, objectives

__all__ = ["Plain"]


@objectives.register("plain", family="supervised", tasks=Objective.tasks)
class Plain(Objective):
    """Cross-entropy of the gold labels, and nothing else: the model that every other objective is measured against.

    Example:
        >>> saywhy.train("plain", data="planted-reviews", model="text-transformer")           # doctest: +SKIP
    """

    def phases(self, batch: TrainingBatch, step: Step) -> Iterator[Phase]:
        """One phase: the network's supervised loss."""
        rows, items = batch
        task, network = self.model.task, self.players["model"]
        yield Phase(("model",), lambda: task.loss(network, rows, [item.example for item in items]))
