"""What metrics of sentences share: the sentences, and those people wrote."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from saywhy.errors import DataError, InputError
from saywhy.metrics.base import Metric
from saywhy.metrics.trial import SENTENCES, Trial
from saywhy.types import Example, FreeText, Header

__all__ = ["SentenceMetric", "human_sentences", "labels_of", "sentences_of"]


@dataclass(frozen=True, kw_only=True)
class SentenceMetric(Metric):
    """Base of the metrics that read explanations in plain language (`FreeText`)."""

    family: ClassVar[str] = "sentences"
    spaces: ClassVar[tuple[str, ...]] = (SENTENCES,)
    paper: ClassVar[str] = "MPII"


def sentences_of(trial: Trial) -> list[str]:
    """The sentences of a trial's explanations, in order."""
    found = []
    for i, why in enumerate(trial.explanations):
        if not isinstance(why, FreeText):
            where = f"{trial.method or 'the method'}, {trial.bench.examples[i].where()} (number {i})"
            raise InputError(f"{where}: a sentence is needed, not {why.kind}")
        found.append(why.sentence)
    return found


def labels_of(trial: Trial) -> list[str]:
    """The labels that a trial's explanations are of: those predicted, or of people's explanations those people gave."""
    for i, why in enumerate(trial.explanations):
        if not why.header.labels:
            where = f"{trial.method or 'the method'}, {trial.bench.examples[i].where()} (number {i})"
            raise DataError(f"{where}: the explanation comes without a label")
    return [why.prediction.label for why in trial.explanations]


def human_sentences(examples: Sequence[Example], which: int = -1, method: str = "human") -> list[FreeText]:
    """One of the explanations people wrote for each example, as if a method had made it.

    With `evaluate` this gives the row of the data itself: of three explanations the last against the first two. The
    label is the gold one, as if it had been predicted with certainty.

    Args:
        examples: with explanations.
        which: number of the explanation; the last by default.
        method: what it is called.

    Example:
        >>> wet = Example(("It rains.",), "yes", explanations=("Rain is wet .", "One gets wet ."))
        >>> human_sentences([wet])[0].sentence
        'One gets wet .'
    """
    made = []
    for example in examples:
        if not -len(example.explanations) <= which < len(example.explanations):
            raise DataError(f"{example.where()} has {len(example.explanations)} explanations, none of number {which}")
        label = _label(example)
        labels, sure = ((), ()) if label is None else ((label,), (1.0,))
        header = Header(method, str(label), labels, sure, example.texts, choices=example.choices, space=SENTENCES)
        made.append(FreeText(header, sentence=example.explanations[which]))
    return made


def _label(example: Example) -> str | None:
    if example.choices and isinstance(example.label, int):
        return example.choices[example.label]
    return None if example.label is None else str(example.label)
