"""Fidelity: how far does the output move when only what the explanation selects is kept?"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from saywhy.metrics.base import register
from saywhy.metrics.erasing import Keeping
from saywhy.metrics.parts import Contributions, Parts
from saywhy.metrics.trial import Trial

__all__ = ["Fidelity"]


@register
@dataclass(frozen=True, kw_only=True)
class Fidelity(Keeping):
    """Euclidean distance between the logits of the whole input and of the selection alone; low is good.

    It is in units of logits, so that values of two models must not be compared: a note gives the distance of nothing
    selected, the same for all methods, and how often the label is kept, which `label-kept` measures. The probabilities
    of a black box are compared by their logarithms, and so are those of span QA.

    Reference: AREC, equation 5 (L0); the selection of scores: section 4.1.2 and footnote 9.

    Edge cases: everything selected has 0; nothing selected has the distance of the empty input.

    Example:
        >>> Fidelity(until=0.5).options["until"]
        0.5
    """

    name: ClassVar[str] = "fidelity"
    family: ClassVar[str] = "erasure"
    paper: ClassVar[str] = "AREC, equation 5"

    @property
    def higher_is_better(self) -> bool:
        """The output should not move."""
        return False

    @property
    def range(self) -> tuple[float, float]:
        """A distance has no upper bound."""
        return (0.0, math.inf)

    def measure(self, trial: Trial) -> Parts:
        """Keep the selection, ask the model, and compare."""
        kept, empty = self._answers(trial)
        columns = {
            "distance": np.asarray([answer.distance for answer in kept]),
            "same": np.asarray([answer.same for answer in kept], dtype=np.float64),
            "empty": np.asarray([answer.distance for answer in empty]),
        }
        return Parts(np.arange(len(kept)), columns, len(kept))

    def contributions(self, parts: Parts) -> Contributions:
        """The mean distance."""
        same, empty = parts.columns["same"].mean(), parts.columns["empty"].mean()
        notes = (f"the selections keep the label of {same:.1%} of the examples; nothing selected has {empty:z.3f}",)
        return Contributions.mean(parts.columns["distance"], notes=notes)
