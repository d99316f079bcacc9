"""Accuracy of the model's predictions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from saywhy.errors import DataError
from saywhy.metrics.base import Metric, register
from saywhy.metrics.trial import Trial, Workbench
from saywhy.types import MetricResult

__all__ = ["Accuracy", "Performance"]


@dataclass(frozen=True, kw_only=True)
class Performance(Metric):
    """Base of the metrics of the model itself; examples without a label are left out."""

    family: ClassVar[str] = "performance"
    of: ClassVar[str] = "model"

    def check(self, bench: Workbench) -> None:
        """Raise an error if no example has a label, or one the model does not know."""
        if all(label is None for label in bench.gold):
            raise DataError(f"{self.name} needs labelled examples, and none of the {len(bench.examples)} has a label")

    def _notes(self, trial: Trial, n: int) -> list[str]:
        total = len(trial.bench.examples)
        return [f"{total - n} of {total} examples have no label and are left out"] * (n < total)


@register
@dataclass(frozen=True, kw_only=True)
class Accuracy(Performance):
    """Share of the examples whose label is predicted.

    Example:
        >>> Accuracy().of
        'model'
    """

    name: ClassVar[str] = "accuracy"

    def score(self, trial: Trial) -> MetricResult:
        """Compare predictions with labels."""
        self.check(trial.bench)
        gold, predicted = trial.bench.gold_and_predicted()
        notes = self._notes(trial, len(gold))
        right = (gold == predicted).astype(float)
        return self._result(trial, right, values=right.tolist(), notes=notes)
