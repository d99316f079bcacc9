"""Contiguity: does what the explanation selects hang together?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from saywhy.metrics.base import register
from saywhy.metrics.erasing import Selecting
from saywhy.metrics.parts import Contributions, Parts
from saywhy.metrics.selection import free_of, words_of
from saywhy.metrics.trial import Trial
from saywhy.ops.contiguity import broken_windows, transitions
from saywhy.types import Alignments

__all__ = ["Contiguity"]


@register
@dataclass(frozen=True, kw_only=True)
class Contiguity(Selecting):
    """Breaks in a selection, per mille of the places where there could be one; low is good.

    For alignments a break is a window of two by two word pairs of which exactly three are selected, as rectangles have
    none; for words it is a selected word beside one that is not, as whole phrases have few. The two are different
    scales.

    Reference: alignments: AREC, equation 7 (L2), per mille as in its tables. Words: the coherence term of VER and its
    baselines, the sum of |m_t - m_(t-1)| (Chang et al., Invariant Rationalization, ICML 2020), over the neighbours
    inside each text.

    Departures: AREC does not say what its values are divided by; here it is the number of windows.

    Edge cases: nothing and everything selected have 0, as has an input without any window or neighbours.

    Example:
        >>> Contiguity().range
        (0.0, 1000.0)
    """

    name: ClassVar[str] = "contiguity"
    family: ClassVar[str] = "readability"
    paper: ClassVar[str] = "AREC, equation 7; VER"

    @property
    def higher_is_better(self) -> bool:
        """An explanation should be in one piece."""
        return False

    @property
    def range(self) -> tuple[float, float]:
        """Per mille."""
        return (0.0, 1000.0)

    @property
    def erases(self) -> bool:
        """Only where the model decides the size."""
        return self.until is not None

    def measure(self, trial: Trial) -> Parts:
        """Count breaks."""
        values = []
        for i, mask in enumerate(self._selections(trial)):
            explanation = trial.explanations[i]
            if isinstance(explanation, Alignments):
                shape = (len(explanation.premise), len(explanation.hypothesis))
                breaks, places = broken_windows(mask.reshape(shape))
            else:
                free, fields = free_of(trial, i), np.asarray([word.field for word in words_of(trial, i)])
                breaks, places = transitions(mask[free], fields[free])
            values.append(1000 * breaks / max(1, places))
        return Parts(np.arange(len(values)), {"values": np.asarray(values)}, len(values))

    def contributions(self, parts: Parts) -> Contributions:
        """The mean over examples."""
        return Contributions.mean(parts.columns["values"])
