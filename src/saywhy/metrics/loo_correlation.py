"""Correlation with leave-one-out: do the scores order the words as leaving each of them out does?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.stats import kendalltau

from saywhy.errors import DataError
from saywhy.metrics.base import register
from saywhy.metrics.erasing import Erasing
from saywhy.metrics.parts import Contributions, Parts
from saywhy.metrics.selection import free_of, require_explanations, scores_of
from saywhy.metrics.trial import Trial

__all__ = ["LooCorrelation"]


@register
@dataclass(frozen=True, kw_only=True)
class LooCorrelation(Erasing):
    """Kendall's tau-b between the scores and what the predicted class loses when a word is left out.

    A high value says that a method agrees with leave-one-out, not that it is right: leaving out one word does not show
    what several do together. It costs a model call for each word, once for all methods.

    Reference: Jain and Wallace, Attention is not Explanation, NAACL 2019, section 4.1.

    Departures: they compare attention with the absolute change of the output distribution; scores of methods have a
    sign, so here it is the loss of the predicted class's probability. Tau-b counts ties out of both orders.

    Edge cases: scores, or losses, that are all equal have no order and get 0; inputs with fewer than two words that may
    be erased are left out. A rationale without scores orders its words by being selected.

    Example:
        >>> LooCorrelation().range
        (-1.0, 1.0)
    """

    name: ClassVar[str] = "loo-correlation"
    family: ClassVar[str] = "agreement"
    paper: ClassVar[str] = "Jain and Wallace, NAACL 2019"

    @property
    def range(self) -> tuple[float, float]:
        """That of a correlation."""
        return (-1.0, 1.0)

    def unusable(self, n: int) -> DataError:
        """The error for texts that have no order."""
        return DataError(
            f"{self.name} needs texts of at least two words, and none of the {n} has two that may be erased"
        )

    def prepare(self, trial: Trial) -> None:
        """Announce the masks that leave out one feature each."""
        require_explanations(self.name, trial)
        self._check_features(trial)
        erasures = trial.bench.erasures
        for i in range(len(trial.explanations)):
            places = np.flatnonzero(free_of(trial, i)).tolist()
            for place in places if len(places) > 1 else ():
                erasures.request(i, _without(erasures.full(i), place))

    def measure(self, trial: Trial) -> Parts:
        """Leave out each feature, ask the model, and compare the orders."""
        self.prepare(trial)
        erasures = trial.bench.erasures
        index, values = [], []
        for i in range(len(trial.explanations)):
            places = np.flatnonzero(free_of(trial, i)).tolist()
            if len(places) < 2:
                continue
            full = erasures.full(i)
            losses = [-erasures.probability(i, _without(full, place)) for place in places]
            tau = float(kendalltau(scores_of(trial, i)[places], losses, variant="b").statistic)
            index.append(i)
            values.append(tau if np.isfinite(tau) else 0.0)
        columns = {"values": np.asarray(values, dtype=np.float64)}
        return Parts(np.asarray(index, dtype=np.intp), columns, len(trial.explanations))

    def contributions(self, parts: Parts) -> Contributions:
        """The mean over the inputs that have an order."""
        missing = parts.seen - len(parts)
        notes = (f"{missing} of {parts.seen} examples have fewer than two words and are left out",) * (missing > 0)
        return Contributions.mean(parts.columns["values"], notes=notes)


def _without(mask: NDArray[np.bool_], place: int) -> NDArray[np.bool_]:
    left = mask.copy()
    left[place] = False
    return left
