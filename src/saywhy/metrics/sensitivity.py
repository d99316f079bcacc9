"""Sensitivity: how much does an explanation change when a word it finds unimportant goes?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from saywhy.errors import DataError, OptionError
from saywhy.metrics.base import Metric, register
from saywhy.metrics.erasing import check_share
from saywhy.metrics.parts import Contributions, Parts
from saywhy.metrics.selection import (
    explanation_scores,
    free_of,
    ranking_of,
    require_explanations,
    scores_of,
    words_of,
)
from saywhy.metrics.trial import Trial
from saywhy.ops.randomness import numpy_generator
from saywhy.types import Example, Rationale, WordScores

__all__ = ["Sensitivity"]


@register
@dataclass(frozen=True, kw_only=True)
class Sensitivity(Metric):
    """The largest change of the scores when one word outside the top share is deleted from the text; low is good.

    For each example ``draws`` words outside its ``top`` share are drawn without repetition. Each of them is deleted
    from the text, what is left is explained anew, for the same class, and the scores of the words that both texts share
    are scaled to length 1 and compared by their Euclidean distance. The largest distance counts.

    Reference: Yeh et al., On the (In)fidelity and Sensitivity of Explanations, NeurIPS 2019, definition 3
    (max-sensitivity).

    Departures: there the input moves inside a small ball, which texts, and models of which only the outputs are seen,
    do not have; here the smallest change of a text is the loss of a word that the explanation itself calls unimportant.
    Scores are compared by direction, because their size has another unit in each method.

    Edge cases: scores that are all 0 stay so, and are at distance 0 from each other and 1 from any others; examples
    without a word outside the top share (texts of one word) are left out, as are those in which deleting a word changes
    how the others are cut into words.

    Attributes:
        draws: words tried for each example; each costs an explanation.
        top: share of the words that is left alone.

    Example:
        >>> Sensitivity(draws=2).range
        (0.0, 2.0)
    """

    draws: int = 3
    top: float = 0.2

    name: ClassVar[str] = "sensitivity"
    family: ClassVar[str] = "robustness"
    repeats: ClassVar[bool] = True
    paper: ClassVar[str] = "Yeh et al., NeurIPS 2019"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_share(self.name, self.top)
        if self.draws < 1:
            raise OptionError(f"{self.name}: draws must be at least 1, not {self.draws}")

    @property
    def higher_is_better(self) -> bool:
        """An explanation should not change."""
        return False

    @property
    def range(self) -> tuple[float, float]:
        """Distances of vectors of length 1."""
        return (0.0, 2.0)

    def unusable(self, n: int) -> DataError:
        """The error for texts of which nothing can be deleted."""
        return DataError(f"{self.name} needs texts with a word outside the top share, and none of the {n} has one")

    def measure(self, trial: Trial) -> Parts:
        """Delete words, explain again, and compare."""
        require_explanations(self.name, trial)
        if trial.explain is None:
            raise OptionError(f"{self.name} explains changed texts: name the method instead of giving explanations")
        asked = [(i, word) for i in range(len(trial.explanations)) for word in self._drawn(trial, i)]
        changed = [_deleted(trial, i, word) for i, word in asked]
        targets = [_class_of(trial, i) for i, _ in asked]
        made = trial.explain(changed, targets) if asked else []
        largest: dict[int, float] = {}
        for (i, word), why in zip(asked, made, strict=True):
            assert isinstance(why, WordScores | Rationale)
            new = explanation_scores(why, f"{trial.method}, {trial.bench.examples[i].where()} without a word")
            old = np.delete(scores_of(trial, i), word)
            words = [w for k, w in enumerate(words_of(trial, i)) if k != word]
            # A text that was cut at its end has room for another word now.
            shared = min(len(words), len(why.words))
            if [w.text for w in why.words[:shared]] == [w.text for w in words[:shared]]:
                free = np.delete(free_of(trial, i), word)[:shared]
                largest[i] = max(largest.get(i, 0.0), _distance(old[:shared][free], new[:shared][free]))
        index = np.asarray(sorted(largest), dtype=np.intp)
        columns = {"values": np.asarray([largest[int(i)] for i in index], dtype=np.float64)}
        return Parts(index, columns, len(trial.explanations))

    def contributions(self, parts: Parts) -> Contributions:
        """The mean of the largest changes."""
        missing = parts.seen - len(parts)
        notes = (f"{missing} of {parts.seen} examples have no word that could be deleted, and are left out",)
        return Contributions.mean(parts.columns["values"], notes=notes * (missing > 0))

    def _drawn(self, trial: Trial, i: int) -> list[int]:
        """Places of the words to delete; a function of the seed and the text, not of the order of the examples."""
        rest = np.flatnonzero(free_of(trial, i) & ~ranking_of(trial, i).top(self.top, "ceil"))
        words = words_of(trial, i)
        # A field without any word left is no text.
        sizes = np.bincount([word.field for word in words])
        rest = rest[[sizes[words[k].field] > 1 for k in rest]] if len(rest) else rest
        rng = numpy_generator(trial.bench.seed, self.name, *trial.bench.examples[i].fields)
        return sorted(rng.choice(rest, size=min(self.draws, len(rest)), replace=False).tolist()) if len(rest) else []


def _deleted(trial: Trial, i: int, word: int) -> Example:
    from saywhy.models.erasures import erase_text

    words = words_of(trial, i)
    return erase_text(trial.bench.examples[i], words, np.arange(len(words)) != word)


def _class_of(trial: Trial, i: int) -> int | None:
    header = trial.explanations[i].header
    return header.labels.index(header.target) if header.target in header.labels else None


def _distance(old: NDArray[np.float64], new: NDArray[np.float64]) -> float:
    return float(np.linalg.norm(_unit(old) - _unit(new)))


def _unit(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    size = float(np.linalg.norm(scores))
    return scores / size if size > 0 else scores
