"""Accuracy of a rationalizer's predictor on given rationales, and what such metrics share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from saywhy.errors import DataError
from saywhy.metrics.base import Metric, check_option, register
from saywhy.metrics.parts import Contributions, Parts
from saywhy.metrics.trial import Trial, Workbench
from saywhy.types import Example

__all__ = ["RationaleAccuracy", "RationaleJudgement", "RationalizerMetric"]


@dataclass(frozen=True, kw_only=True)
class RationalizerMetric(Metric):
    """Base of the metrics of a rationalizer's predictor."""

    family: ClassVar[str] = "rationalizers"
    of: ClassVar[str] = "model"
    inside: ClassVar[bool] = True
    paper: ClassVar[str] = "VER"

    def check_model(self, bench: Workbench) -> None:
        """Raise an error if the model is no rationalizer."""
        from saywhy.models.rationales import rationalizer_of

        super().check_model(bench)
        model: Any = bench.model
        if hasattr(model, "network"):  # a study's plan has no model yet
            rationalizer_of(model)


@dataclass(frozen=True, kw_only=True)
class RationaleJudgement(RationalizerMetric):
    """Base of those that ask the predictor about ``gold`` rationales, or about those ``selected``.

    Examples without a label, or for ``gold`` without a rationale, are left out. Of several annotators the union counts.

    Attributes:
        reads: ``gold`` or ``selected``.
    """

    reads: str = "gold"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_option(self.name, "reads", self.reads, ("gold", "selected"))

    def usable(self, example: Example, space: str = "words") -> bool:
        """Whether it has a label and what is to be read."""
        return example.label is not None and (self.reads == "selected" or any(example.rationales))

    def unusable(self, n: int) -> DataError:
        """The error for data without labels or rationales."""
        needed = "a label" if self.reads == "selected" else "a label and a gold rationale"
        return DataError(f"{self.name} needs examples with {needed}, and none of the {n} has that")

    def measure(self, trial: Trial) -> Parts:
        """Whether the label is right, and its cross-entropy."""
        from saywhy.models.rationale_probes import judge_rationales

        bench = trial.bench
        self.check(bench)
        model: Any = bench.model
        index = np.flatnonzero([self.usable(example) for example in bench.examples])
        encoded = model.encode([bench.examples[i] for i in index], bench.truncation)
        judged = judge_rationales(model, encoded, gold=self.reads == "gold", batch_size=bench.batch_size)
        return Parts(index, {"right": judged.right, "loss": judged.losses}, len(bench.examples))


@register
@dataclass(frozen=True, kw_only=True)
class RationaleAccuracy(RationaleJudgement):
    """Share of the examples whose label a rationalizer's predictor finds when it reads the gold rationale only.

    A predictor that knows nothing but what its own selector selects is worse there than its selector makes it look.

    Reference: VER, Figure 3 and appendix A.3.

    Example:
        >>> RationaleAccuracy().reads
        'gold'
    """

    name: ClassVar[str] = "rationale-accuracy"

    def contributions(self, parts: Parts) -> Contributions:
        """The share that is right."""
        return Contributions.mean(parts.columns["right"])
