"""Accuracy of the model's predictions."""

from __future__ import annotations

import string
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from saywhy.data.files import format_of
from saywhy.errors import DataError
from saywhy.metrics.base import Metric, register
from saywhy.metrics.parts import Contributions, Parts
from saywhy.metrics.trial import Trial, Workbench
from saywhy.types import Example, Prediction

if TYPE_CHECKING:
    from saywhy.models.guidance import Frames

__all__ = ["Accuracy", "Performance"]


@dataclass(frozen=True, kw_only=True)
class Performance(Metric):
    """Base of the metrics of the model itself; examples without a label are left out.

    Attributes:
        guide: what the model says if it may only align what plays the same role (AREC, section 4.2.3): the folder of a
            tagger of semantic roles, or a JSON or JSONL file of frames by text, as `saywhy.data.frames.read_frames`
            reads it.
    """

    guide: str | None = None

    family: ClassVar[str] = "performance"
    of: ClassVar[str] = "model"

    def usable(self, example: Example, space: str = "words") -> bool:
        """Whether it has a label."""
        return example.label is not None

    def unusable(self, n: int) -> DataError:
        """The error for data without labels."""
        return DataError(f"{self.name} needs labelled examples, and none of the {n} has a label")

    def check_model(self, bench: Workbench) -> None:
        """Raise an error if a file of frames has mistakes, or lacks texts of the examples."""
        super().check_model(bench)
        if self.guide is not None and _is_file(self.guide):
            _frames(self.guide)([text for example in bench.examples for text in example.texts])

    def measure(self, trial: Trial) -> Parts:
        """Labels and predictions, as class indices."""
        self.check(trial.bench)
        gold, predicted = trial.bench.gold_and_predicted(None if self.guide is None else _guided(trial, self.guide))
        index = np.flatnonzero([label is not None for label in trial.bench.gold])
        return Parts(index, {"gold": gold, "predicted": predicted}, len(trial.bench.examples))

    def _notes(self, parts: Parts) -> tuple[str, ...]:
        missing = parts.seen - len(parts)
        return (f"{missing} of {parts.seen} examples have no label and are left out",) * (missing > 0)


@lru_cache(maxsize=1)
def _tagger(folder: str) -> Any:
    from saywhy.models.role_tagger import RoleTagger

    return RoleTagger.load(folder)


@lru_cache(maxsize=1)
def _given(file: str, written: int) -> Frames:
    from saywhy.models.guidance import given_frames

    return given_frames(file)


def _is_file(guide: str) -> bool:
    """Whether it is a file of frames, there or not; else it is the folder of a tagger."""
    path = Path(guide)
    return path.is_file() or (format_of(path) is not None and not path.is_dir())


def _frames(guide: str) -> Frames:
    if _is_file(guide):
        path = Path(guide)
        return _given(guide, path.stat().st_mtime_ns if path.exists() else 0)
    frames: Frames = _tagger(guide).frames
    return frames


def _guided(trial: Trial, guide: str) -> list[Prediction]:
    from saywhy.models.guidance import GuidedModel

    bench = trial.bench
    model: Any = bench.model
    guided = GuidedModel(model, _frames(guide))
    return guided.predict(list(bench.examples), batch_size=bench.batch_size, truncation=bench.truncation)


@register
@dataclass(frozen=True, kw_only=True)
class Accuracy(Performance):
    """Share of the examples whose label is predicted; in span QA, whose answer is found.

    Reference: of answers the exact match of Rajpurkar et al., SQuAD, EMNLP 2016, section 6.1: one of the gold answers,
    whatever case, punctuation, articles and spacing.

    Example:
        >>> Accuracy().of
        'model'
    """

    name: ClassVar[str] = "accuracy"

    def usable(self, example: Example, space: str = "words") -> bool:
        """Whether it has a label or an answer."""
        return super().usable(example, space) or bool(example.answers)

    def measure(self, trial: Trial) -> Parts:
        """Labels and predictions, as class indices; an answer that is found has the index 0."""
        bench = trial.bench
        if bench.task != "span-qa":
            return super().measure(trial)
        self.check(bench)
        index = np.flatnonzero([bool(example.answers) for example in bench.examples])
        found = [_matches(bench.predictions[i].label, bench.examples[i]) for i in index]
        gold = np.zeros(len(index), dtype=np.intp)
        return Parts(index, {"gold": gold, "predicted": 1 - np.asarray(found, dtype=np.intp)}, len(bench.examples))

    def contributions(self, parts: Parts) -> Contributions:
        """Compare predictions with labels."""
        return Contributions.mean(parts.columns["gold"] == parts.columns["predicted"], notes=self._notes(parts))


def _matches(said: str, example: Example) -> bool:
    return _bare(said) in {_bare(example.fields[a.field][a.start : a.end]) for a in example.answers}


def _bare(answer: str) -> str:
    kept = "".join(c for c in answer.lower() if c not in string.punctuation)
    return " ".join(word for word in kept.split() if word not in ("a", "an", "the"))
