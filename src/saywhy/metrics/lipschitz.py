"""Lipschitz estimate of a rationalizer's predictor."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from saywhy.metrics.base import register
from saywhy.metrics.parts import Contributions, Parts
from saywhy.metrics.rationale_accuracy import RationalizerMetric
from saywhy.metrics.trial import Trial
from saywhy.ops.bootstrap import quantile_rows

__all__ = ["Lipschitz"]


@register
@dataclass(frozen=True, kw_only=True)
class Lipschitz(RationalizerMetric):
    """How fast a rationalizer's predictor can change its mind: the steepest slope of a label's probability.

    Reference: VER, Figure 4 and appendix A.4: of each text the gradient with respect to the selected words' embeddings,
    mean over these, its norm; the largest of all texts. ``quantile=0.5`` gives the median text's instead, which does
    not hang on one text.

    Attributes:
        label: whose probability; None for the last label's.
        quantile: of the texts' slopes; 1 for the largest.
        absolute: average absolute values over the words, as the released code does.
    """

    label: str | None = None
    quantile: float = 1.0
    absolute: bool = False

    name: ClassVar[str] = "lipschitz"

    @property
    def higher_is_better(self) -> bool:
        """Smooth is good."""
        return False

    @property
    def range(self) -> tuple[float, float]:
        """From 0 on."""
        return (0.0, math.inf)

    def measure(self, trial: Trial) -> Parts:
        """The slope at each text."""
        from saywhy.models.rationale_probes import estimate_slopes

        bench = trial.bench
        self.check(bench)
        model: Any = bench.model
        label = len(model.labels) - 1 if self.label is None else self.label
        encoded = model.encode(list(bench.examples), bench.truncation)
        slopes = estimate_slopes(
            model, encoded, label=label, absolute=self.absolute, batch_size=bench.batch_size
        )  # fmt: skip
        return Parts(np.arange(len(slopes)), {"slope": slopes}, len(bench.examples))

    def contributions(self, parts: Parts) -> Contributions:
        """The quantile of the slopes."""
        return Contributions(*quantile_rows(parts.columns["slope"], self.quantile))
