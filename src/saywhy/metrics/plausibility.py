"""What the metrics against gold rationales have in common: options, which examples count, and the errors."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from saywhy.errors import DataError
from saywhy.metrics.base import Metric, check_option
from saywhy.metrics.erasing import check_share
from saywhy.metrics.gold import ANNOTATORS, Gold, gold_cells, gold_choices
from saywhy.metrics.parts import Contributions, Parts
from saywhy.metrics.selection import (
    free_of,
    require_explanations,
    scores_of,
    selected_features,
    selected_words,
    words_of,
)
from saywhy.metrics.trial import Trial
from saywhy.ops.ranking import ROUNDINGS
from saywhy.types import Alignments, Example

__all__ = ["Plausibility", "RankingAgreement", "SelectionAgreement"]

AVERAGES = ("macro", "micro")


@dataclass(frozen=True, kw_only=True)
class Plausibility(Metric):
    """Base of the metrics that compare with what people marked.

    Examples without a gold word are left out (not annotated, nothing marked, or no majority for any word); a note says
    how many. Which examples count depends on the gold alone, so two methods' ``values`` are of the same examples.
    Words that may not be selected (the query of a document, where the data says so) do not count, gold or not.

    Alignments are compared with the gold alignments of the example: a pair of words is gold if each of them lies in
    its side of one of these. There is one set of them, so ``annotators`` does not apply.

    Attributes:
        annotators: ``union`` of what they marked, ``majority`` (more than half of them), or ``best``: the annotator
            who agrees most with the explanation, example by example.
    """

    annotators: str = "union"

    family: ClassVar[str] = "plausibility"
    spaces: ClassVar[tuple[str, ...]] = ("words", "alignments")
    paper: ClassVar[str] = "DeYoung et al., ERASER, ACL 2020"
    _gold: ClassVar[str] = "a gold rationale"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_option(self.name, "annotators", self.annotators, ANNOTATORS)

    def usable(self, example: Example, space: str = "words") -> bool:
        """Whether somebody marked something."""
        return any(example.rationales) if space == "words" or self._of_words else bool(example.alignments)

    @property
    def _of_words(self) -> bool:
        """Whether alignments are compared with marked words, by the words in them."""
        return False

    def unusable(self, n: int) -> DataError:
        """The error for data on which the metric has nothing to compare with."""
        return DataError(
            f"{self.name} needs examples with {self._gold}, and none of the {n} has one that it can use; "
            "take data with marked reasons (planted-reviews has exact ones), or metrics of faithfulness"
        )

    def _examples(self, trial: Trial) -> Iterator[tuple[int, list[Gold]]]:
        """Numbers of the examples that have gold words, with the selections they may be compared with."""
        require_explanations(self.name, trial)
        for i, example in enumerate(trial.bench.examples):
            explanation = trial.explanations[i]
            if isinstance(explanation, Alignments) and not self._of_words:
                choices = gold_cells(explanation.premise, explanation.hypothesis, example)
            else:
                choices = gold_choices(words_of(trial, i), example, self.annotators, trial.bench.fixed_fields(i))
            choices = [gold for gold in choices if self._counts(example, gold)]
            if choices:
                yield i, choices

    def _counts(self, example: Example, gold: Gold) -> bool:
        """Whether the metric is defined for this gold selection."""
        return True

    def _left_out(self, parts: Parts) -> tuple[str, ...]:
        missing = parts.seen - len(parts)
        return (f"{missing} of {parts.seen} examples have no usable gold and are left out",) * (missing > 0)


@dataclass(frozen=True, kw_only=True)
class SelectionAgreement(Plausibility):
    """Base of the metrics that compare selected words.

    A rationale's own selection is taken; scores select their ``top`` share. Words that the model does not read, because
    a text was cut, are never selected, so that what people marked there is missed.

    Attributes:
        top: share of the words that word scores select.
        rounding: of share times words: ``ceil`` and ``round`` take at least one word, ``floor`` may take none.
        average: ``macro`` or ``micro``.
        words: of alignments, compare the words that are in a selected pair with the words that were marked, instead of
            the pairs with gold pairs (AREC, section 4.2.1, on e-SNLI).
    """

    top: float = 0.2
    rounding: str = "ceil"
    average: str = "macro"
    words: bool = False

    averages: ClassVar[tuple[str, ...]] = AVERAGES

    def __post_init__(self) -> None:
        super().__post_init__()
        check_option(self.name, "rounding", self.rounding, ROUNDINGS)
        check_option(self.name, "average", self.average, self.averages)
        check_share(self.name, self.top)

    @property
    def _of_words(self) -> bool:
        return self.words

    def _selected(self, trial: Trial, i: int) -> NDArray[np.bool_]:
        choose = selected_words if self.words else selected_features
        return choose(trial, i, self.top, self.rounding)

    def measure(self, trial: Trial) -> Parts:
        """Compare what is selected with the gold, example by example."""
        index, rows = [], []
        for i, choices in self._examples(trial):
            index.append(i)
            rows.append(self._count(trial, i, choices))
        counts = np.asarray(rows, dtype=np.float64).reshape(len(rows), 3)
        return Parts(np.asarray(index, dtype=np.intp), {"counts": counts}, len(trial.bench.examples))

    @abstractmethod
    def _count(self, trial: Trial, i: int, choices: list[Gold]) -> tuple[int, int, int]:
        """Hits, selected and gold for the gold selection that agrees most with explanation i."""


@dataclass(frozen=True, kw_only=True)
class RankingAgreement(Plausibility):
    """Base of the metrics that compare the order of the scores with gold, example by example.

    Of a text that was cut only the words that the model reads have an order: what people marked behind them does not
    count.
    """

    def _examples(self, trial: Trial) -> Iterator[tuple[int, list[Gold]]]:
        for i, choices in super()._examples(trial):
            free = free_of(trial, i)
            seen = [replace(gold, mask=gold.mask & free, whole=bool(gold.mask[free].all())) for gold in choices]
            seen = [gold for gold in seen if gold.mask.any() and self._counts(trial.bench.examples[i], gold)]
            if seen:
                yield i, seen

    def measure(self, trial: Trial) -> Parts:
        """Compare the order of the scores with the gold, example by example."""
        index, values = [], []
        for i, choices in self._examples(trial):
            scores, free = scores_of(trial, i), free_of(trial, i)
            index.append(i)
            values.append(max(self._agreement(gold.mask[free], scores[free]) for gold in choices))
        columns = {"values": np.asarray(values, dtype=np.float64)}
        return Parts(np.asarray(index, dtype=np.intp), columns, len(trial.bench.examples))

    def contributions(self, parts: Parts) -> Contributions:
        """The mean over the examples that have gold."""
        return Contributions.mean(parts.columns["values"], notes=self._left_out(parts))

    @abstractmethod
    def _agreement(self, gold: NDArray[np.bool_], scores: NDArray[np.float64]) -> float:
        """How well scores rank one gold selection."""
