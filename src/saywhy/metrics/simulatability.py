"""Simulatability: does a student that is shown explanations learn to answer as the model does?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from saywhy.errors import DataError, OptionError
from saywhy.loop import LoopObjective, LoopSettings, OptimiserSettings, Phase, Step, fit
from saywhy.metrics.base import Metric, register
from saywhy.metrics.parts import Contributions, Parts
from saywhy.metrics.selection import distribution_of, require_explanations
from saywhy.metrics.trial import Trial
from saywhy.models import Encoded, Row, TextModel
from saywhy.models.interpretable_attention import InterpretableAttention
from saywhy.objectives.student import COEFFICIENTS, Student, make_student, simulation_loss
from saywhy.ops.batching import length_batches
from saywhy.ops.randomness import numpy_generator

__all__ = ["Simulatability"]

Lesson = tuple[Encoded, int, tuple[NDArray[np.float64], ...]]
"""An example, what the teacher answers, and for each row how its explanation is spread over the pieces."""


@register
@dataclass(frozen=True, kw_only=True)
class Simulatability(Metric):
    """Share of new texts on which a student answers as the model does, after learning from its explanations.

    A student is trained on some of the examples: on the model's answers, and on the divergence of its own interpretable
    attention from the explanations. On the others it is given the text alone. Beside the methods, measure ``random``:
    it says how much a student learns from the answers.

    Reference: IvRA, equation 6 and appendix B.1; Pruthi et al., TACL 2022; Fernandes et al., NeurIPS 2022.

    Departures: scores count without their sign and sum to 1; a word's share is spread over its pieces.

    Edge cases: an explanation whose scores are all 0 teaches nothing but the answer. A student that starts as a
    ``copy`` of the model and learns nothing has 1.

    Attributes:
        train: share of the examples that the student learns from.
        student: what it starts from: a pretrained network's name, a folder, ``copy``, or None: the model with a new
            head, which knows the data if the model does.
        epochs: times through its examples; 0 trains nothing.
        learning_rate: of the student.
        size: examples of a step.
        explanation_weight: of explanations in its loss; 0 shows it none.

    Example:
        >>> Simulatability(student="minilm").train
        0.5
    """

    train: float = 0.5
    student: str | None = None
    epochs: int = 3
    learning_rate: float = 1e-4
    size: int = 16
    explanation_weight: float = 1.0

    name: ClassVar[str] = "simulatability"
    family: ClassVar[str] = "simulatability"
    inside: ClassVar[bool] = True
    paper: ClassVar[str] = "IvRA, equation 6"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.train < 1:
            raise OptionError(f"{self.name}: train must lie between 0 and 1, not at {self.train}")
        if self.epochs < 0 or self.size < 1 or self.learning_rate <= 0 or self.explanation_weight < 0:
            raise OptionError(
                f"{self.name}: epochs and explanation_weight must not be negative, size and learning_rate not 0"
            )

    def unusable(self, n: int) -> DataError:
        """The error for too few examples."""
        return DataError(f"{self.name} needs examples to learn from and others to be asked about; there are {n}")

    def measure(self, trial: Trial) -> Parts:
        """Keep the examples and their explanations until all are there."""
        require_explanations(self.name, trial)
        n = len(trial.explanations)
        examples, shares = np.empty(n, dtype=object), np.empty(n, dtype=object)
        for i, example in enumerate(trial.bench.examples):
            examples[i], shares[i] = example, distribution_of(trial, i)
        bench = trial.bench
        facts = {"model": bench.model, "truncation": bench.truncation, "batch_size": bench.batch_size}
        return Parts(np.arange(n), {"examples": examples, "shares": shares}, n, facts=facts)

    def finish(self, parts: Parts, seed: int) -> Parts:
        """Train a student on some examples, and ask it about the others."""
        model: TextModel = parts.facts["model"]
        size = parts.facts["batch_size"]
        items = model.prepare(list(parts.columns["examples"]), parts.facts["truncation"], size)
        answers = model.task.predicted(model.scores(items, size)).numpy()
        order = numpy_generator(seed, self.name).permutation(len(items))
        learnt = order[: round(self.train * len(items))]
        asked = np.sort(order[len(learnt) :])
        if not len(learnt) or not len(asked):
            return Parts(np.zeros(0, dtype=np.intp), {"agrees": np.zeros(0)}, parts.seen)
        student = make_student(model, InterpretableAttention, self.student, seed)
        if self.epochs:
            shares = parts.columns["shares"]
            lessons = [
                (items[i], int(answers[i]), tuple(_over_pieces(row, shares[i]) for row in items[i].rows))
                for i in learnt
            ]
            settings = LoopSettings(epochs=self.epochs, batch_size=self.size, seed=seed)
            objective = _Lessons(student, model, self.learning_rate, self.explanation_weight)
            fit(objective, lessons, collate=objective.collate, settings=settings, progress=False)
        agrees = _agreement(student, model, [items[i] for i in asked], answers[asked], size)
        return Parts(asked.astype(np.intp), {"agrees": agrees}, parts.seen)

    def contributions(self, parts: Parts) -> Contributions:
        """The share of examples on which both agree."""
        note = f"a student learnt from {parts.seen - len(parts)} examples and was asked about {len(parts)}"
        return Contributions.mean(parts.columns["agrees"], notes=(note,))


class _Lessons(LoopObjective):
    """What a student learns by."""

    def __init__(self, student: Student, model: TextModel, rate: float, weight: float) -> None:
        self.players = {"student": student}
        self.student, self.model, self.rate, self.weight = student, model, rate, weight

    def optimisers(self) -> dict[str, OptimiserSettings]:
        # The coefficients of its attention would not move at a rate that suits a network.
        return {"student": OptimiserSettings(learning_rate=self.rate, rates={COEFFICIENTS: max(1e-2, self.rate)})}

    def collate(self, lessons: list[Lesson]) -> Any:
        batch = self.model.task.collate([item for item, _, _ in lessons]).to(self.model.device)
        wanted = np.zeros(tuple(batch.inputs["input_ids"].shape), dtype=np.float32)
        for i, row in enumerate(row for _, _, rows in lessons for row in rows):
            wanted[i, : len(row)] = row
        labels = torch.tensor([answer for _, answer, _ in lessons], device=self.model.device)
        return batch, labels, torch.from_numpy(wanted).to(self.model.device)

    def phases(self, batch: Any, step: Step) -> Iterator[Phase]:
        rows, labels, wanted = batch

        def loss() -> Tensor:
            scores, shares = self.student(rows)
            return simulation_loss(scores, shares, labels, wanted, rows, self.weight)

        yield Phase(("student",), loss)


def _over_pieces(row: Row, words: NDArray[np.float64]) -> NDArray[np.float64]:
    pieces = row.pieces
    counts = np.bincount(pieces.word, weights=pieces.share, minlength=len(words))
    made = np.zeros(pieces.pieces)
    np.add.at(made, pieces.piece, pieces.share * words[pieces.word] / np.maximum(counts[pieces.word], 1e-9))
    total = made.sum()
    return made / total if total > 0 else made


def _agreement(
    student: Student, model: TextModel, items: Sequence[Encoded], answers: NDArray[Any], size: int
) -> NDArray[np.float64]:
    """1 where the student answers as the model does; of span QA where it finds the same span."""
    task, agrees = model.task, np.zeros(len(items))
    student.eval()
    with torch.no_grad():
        for some in length_batches([max(map(len, item.rows)) for item in items], size):
            part = [items[i] for i in some]
            if task.anchors:
                found = task.anchored(student.network, part)
                same = [a.rows[0].span == b.rows[0].span for a, b in zip(found, part, strict=True)]
            else:
                scores = task.scores(student.network, task.collate(part).to(model.device))
                same = (task.predicted(scores).cpu().numpy() == answers[some]).tolist()
            agrees[some] = same
    return agrees
