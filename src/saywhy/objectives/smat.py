"""SMaT: an explainer of a frozen model, trained by how well a student learns from it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from saywhy.errors import CapabilityError, OptionError
from saywhy.loop import OptimiserSettings, Phase, Step
from saywhy.models import Batch, Encoded, TextModel
from saywhy.models.attention_module import Surroundings, attach, attached, explained_forward
from saywhy.models.smat_attention import SmatAttention
from saywhy.objectives.base import Objective, TrainingBatch, objectives
from saywhy.objectives.student import Student, make_student, simulation_loss, unrolled_step

__all__ = ["Smat"]


@objectives.register(
    "smat", family="self-explaining", tasks=Objective.tasks, paper="Fernandes et al. 2022 (SMaT)", needs=("attention",)
)
class Smat(Objective):
    """Coefficients of a model's heads such that a student that is shown the explanations learns to answer as it does.

    The model itself is frozen and its answers stay as they are; `method="smat"` reads the explanations off.

    Reference: Fernandes, Treviso, Pruthi, Martins, Neubig: Learning to Scaffold, NeurIPS 2022. The student steps on the
    model's answers and ``explanation_weight`` times the divergence of explanations; the coefficients step on the
    student's loss behind such a step, without explanations, which is differentiated through.

    Departures: there that loss is of validation data; here a batch is cut in two, one half for the student's step, the
    other to see what it has learnt. The student has taken its step before one more is unrolled. The gradient of either
    is clipped at the run's ``clip`` (1 by default; 5 there), which is differentiated too.

    Args:
        model: the model, trained already.
        optimiser: its ``learning_rate`` is not read: ``coefficient_rate`` and ``student_rate`` take its place. Both are
            constant and nothing is decayed; a ``schedule``, ``decay``, ``warmup`` or ``weight_decay`` is refused.
        explanation_weight: of explanations in the student's loss (beta).
        student: what the student starts from: a network's name, a folder, or the model itself with a new head.
        student_rate: of its gradient descent.
        coefficient_rate: learning rate of the coefficients.

    Example:
        >>> saywhy.train("smat", data="imdb", model="runs/imdb", student="minilm")             # doctest: +SKIP
    """

    distributed = False

    def __init__(
        self,
        model: TextModel,
        optimiser: OptimiserSettings,
        *,
        explanation_weight: float = 5.0,
        student: str | None = None,
        student_rate: float = 5e-3,
        coefficient_rate: float = 5e-4,
    ) -> None:
        super().__init__(model, optimiser)
        if "attention" not in model.capabilities:
            raise CapabilityError(f"attention cannot be trained: {model.no_attention or 'the network has none'}")
        if explanation_weight < 0 or min(student_rate, coefficient_rate) <= 0:
            raise OptionError("explanation_weight must not be negative, and the rates must be above 0")
        default = OptimiserSettings()
        unread = [n for n in ("schedule", "decay", "warmup", "weight_decay") if vars(optimiser)[n] != vars(default)[n]]
        if unread:
            raise OptionError(f"smat's rates are constant and nothing is decayed: leave out {', '.join(unread)}")
        module = attached(model.module, SmatAttention)
        if module is None:
            module = SmatAttention.of(model)
            attach(model.module, module)
        self.module, self.explanation_weight, self.student_rate = module, explanation_weight, student_rate
        self._rest = Surroundings(model.module, module)
        self._rest.freeze()
        self._student_name = student
        self.begin(0)
        descent = {"weight_decay": 0.0, "schedule": "constant", "warmup": 0.0}
        self.rules = {
            "model": OptimiserSettings(learning_rate=coefficient_rate, **descent),  # type: ignore[arg-type]
            "student": OptimiserSettings(name="sgd", learning_rate=student_rate, **descent),  # type: ignore[arg-type]
        }

    def begin(self, seed: int) -> None:
        """The student is drawn by the run's seed."""
        self.student: Student = make_student(self.model, SmatAttention, self._student_name, seed)
        self.players["student"] = self.student

    def optimisers(self) -> dict[str, OptimiserSettings]:
        """AdamW for the coefficients, plain gradient descent for the student."""
        return self.rules

    def train_mode(self, training: bool) -> None:
        """The teacher answers as it does in use; outside of training what it froze is free again."""
        self.players["model"].eval()
        self._rest.freeze(training)
        self.student.train(training)

    def phases(self, batch: TrainingBatch, step: Step) -> Iterator[Phase]:
        """The student's step on one half of the batch, then the coefficients' on the other."""
        _, items = batch
        with self.model.evaluation() as network, torch.no_grad():
            items = self.model.task.anchored(network, items)
        half = (len(items) + 1) // 2
        learnt, asked = (
            self.model.task.collate(part).to(self.model.device) for part in (items[:half], items[half:] or items)
        )
        yield Phase(("student",), lambda: self.student_loss(learnt))
        yield Phase(("model",), lambda: self.loss(learnt, asked, step.clip))

    def student_loss(self, batch: Batch) -> Tensor:
        """What the student learns by."""
        with torch.no_grad():
            labels, found = self._taught(batch)
        scores, shares = self.student(batch)
        return simulation_loss(scores, shares, labels, found, batch, self.explanation_weight)

    def loss(self, learnt: Batch, asked: Batch, clip: float | None = None) -> Tensor:
        """The student's loss on ``asked`` behind a step on ``learnt``, as a function of the coefficients.

        ``clip`` is the largest norm of the gradient in the student's steps.
        """
        labels, found = self._taught(learnt)

        def apart(scores: Tensor, shares: Tensor) -> Tensor:
            return simulation_loss(scores, shares, labels, found, learnt, self.explanation_weight)

        moved = unrolled_step(self.student, learnt, apart, self.student_rate, clip)
        scores, _ = torch.func.functional_call(self.student, dict(moved), (asked, True))
        with torch.no_grad():
            wanted, _ = self._taught(asked)
        return F.cross_entropy(scores, wanted)

    def score(self, items: Sequence[Encoded], batch_size: int) -> float:
        """The student's loss on held-out examples without explanations, negative."""
        total = 0.0
        for start in range(0, len(items), batch_size):
            anchored = self.model.task.anchored(self.model.module, items[start : start + batch_size])
            batch = self.model.task.collate(anchored).to(self.model.device)
            labels, _ = self._taught(batch)
            total += float(F.cross_entropy(self.student(batch)[0], labels).detach()) * len(anchored)
        return -total / len(items)

    def report(self, items: Sequence[Encoded], batch_size: int, seed: int) -> dict[str, Any]:
        """The trained coefficients as a heat map, layers by heads."""
        return {"maps": self.module.maps()}

    def _taught(self, batch: Batch) -> tuple[Tensor, Tensor]:
        task = self.model.task
        raw, found = explained_forward(self.players["model"], task, batch, self.module)
        return task.predicted(task.combine(raw.detach(), batch.owner, batch.size)), found
