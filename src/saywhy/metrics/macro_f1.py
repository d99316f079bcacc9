"""Macro F1 of the model's predictions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from saywhy.metrics.accuracy import Performance
from saywhy.metrics.base import register
from saywhy.metrics.parts import Contributions, Parts
from saywhy.ops.overlap import macro_f1_from_confusion

__all__ = ["MacroF1"]


@register
@dataclass(frozen=True, kw_only=True)
class MacroF1(Performance):
    """Mean of the classes' F1, over the classes that occur among labels or predictions (as in scikit-learn).

    Examples have no values of their own; the interval resamples examples and computes the F1 of each resample.

    Example:
        >>> MacroF1().family
        'performance'
    """

    name: ClassVar[str] = "macro-f1"

    def contributions(self, parts: Parts) -> Contributions:
        """Compare predictions with labels, class by class."""
        gold, predicted = parts.columns["gold"], parts.columns["predicted"]
        # Only classes that occur take part, so many classes do not make the rows wide.
        present, codes = np.unique(np.concatenate([gold, predicted]), return_inverse=True)
        k = len(present)
        cells = codes[: len(gold)] * k + codes[len(gold) :]
        rows = np.zeros((len(gold), k * k))
        rows[np.arange(len(gold)), cells] = 1.0

        def statistic(means: NDArray[np.float64]) -> NDArray[np.float64]:
            return macro_f1_from_confusion(means.reshape(len(means), k, k))

        return Contributions(rows, statistic, notes=self._notes(parts))
