"""What the metrics against gold rationales have in common: options, which examples count, and the errors."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from saywhy.errors import DataError, OptionError
from saywhy.metrics.base import Metric, check_option
from saywhy.metrics.gold import ANNOTATORS, Gold, gold_choices
from saywhy.metrics.selection import require_explanations, words_of
from saywhy.metrics.trial import Trial, Workbench
from saywhy.ops.ranking import ROUNDINGS
from saywhy.types import Example

__all__ = ["Plausibility", "RankingAgreement", "SelectionAgreement", "no_gold"]

AVERAGES = ("macro", "micro")


def no_gold(metric: str, bench: Workbench, wanted: str = "a gold rationale") -> DataError:
    """The error for data on which a metric has nothing to compare with."""
    return DataError(
        f"{metric} needs examples with {wanted}, and none of the {len(bench.examples)} has one that it can use; "
        "take data with marked reasons (planted-reviews has exact ones), or metrics of faithfulness"
    )


@dataclass(frozen=True, kw_only=True)
class Plausibility(Metric):
    """Base of the metrics that compare with what people marked.

    Examples without a gold word are left out (not annotated, nothing marked, or no majority for any word); a note says
    how many. Which examples count depends on the gold alone, so two methods' ``values`` are of the same examples.

    Attributes:
        annotators: ``union`` of what they marked, ``majority`` (more than half of them), or ``best``: the annotator
            who agrees most with the explanation, example by example.
    """

    annotators: str = "union"

    family: ClassVar[str] = "plausibility"
    paper: ClassVar[str] = "DeYoung et al., ERASER, ACL 2020"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_option(self.name, "annotators", self.annotators, ANNOTATORS)

    def check(self, bench: Workbench) -> None:
        """Raise an error if nobody marked anything."""
        if not any(any(example.rationales) for example in bench.examples):
            raise no_gold(self.name, bench)

    def _examples(self, trial: Trial) -> Iterator[tuple[int, list[Gold]]]:
        """Numbers of the examples that have gold words, with the selections they may be compared with."""
        require_explanations(self.name, trial)
        for i, example in enumerate(trial.bench.examples):
            choices = gold_choices(words_of(trial, i), example, self.annotators)
            choices = [gold for gold in choices if self._counts(example, gold)]
            if choices:
                yield i, choices

    def _counts(self, example: Example, gold: Gold) -> bool:
        """Whether the metric is defined for this gold selection."""
        return True

    def _left_out(self, trial: Trial, n: int) -> list[str]:
        missing = len(trial.bench.examples) - n
        return [f"{missing} of {len(trial.bench.examples)} examples have no usable gold and are left out"] * (
            missing > 0
        )


@dataclass(frozen=True, kw_only=True)
class SelectionAgreement(Plausibility):
    """Base of the metrics that compare selected words.

    A rationale's own selection is taken; word scores select their ``top`` share.

    Attributes:
        top: share of the words that word scores select.
        rounding: of share times words: ``ceil`` and ``round`` take at least one word, ``floor`` may take none.
        average: ``macro`` or ``micro``.
    """

    top: float = 0.2
    rounding: str = "ceil"
    average: str = "macro"

    averages: ClassVar[tuple[str, ...]] = AVERAGES

    def __post_init__(self) -> None:
        super().__post_init__()
        check_option(self.name, "rounding", self.rounding, ROUNDINGS)
        check_option(self.name, "average", self.average, self.averages)
        if not 0 < self.top <= 1:
            raise OptionError(f"{self.name}: top is a share of the words between 0 and 1, not {self.top}")


@dataclass(frozen=True, kw_only=True)
class RankingAgreement(Plausibility):
    """Base of the metrics that compare the order of the scores with gold, example by example."""

    def _values(self, trial: Trial) -> list[float]:
        values = []
        for i, choices in self._examples(trial):
            values.append(max(self._agreement(trial, i, gold) for gold in choices))
        if not values:
            raise no_gold(self.name, trial.bench)
        return values

    @abstractmethod
    def _agreement(self, trial: Trial, i: int, gold: Gold) -> float:
        """How well the scores of explanation i rank one gold selection."""
