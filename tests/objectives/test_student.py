from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from saywhy.loop import OptimiserSettings
from saywhy.models.attention_module import attach, attached, explained_forward
from saywhy.models.interpretable_attention import InterpretableAttention
from saywhy.models.smat_attention import SmatAttention
from saywhy.objectives.ivra import Ivra
from saywhy.objectives.smat import Smat
from saywhy.objectives.student import Student, make_student, unrolled_step
from tests import zoo

from .test_ivra import EXAMPLES, STEP, made, quick


class Toy(Student):
    """Two parameters: one answers, one explains."""

    def __init__(self) -> None:
        nn.Module.__init__(self)
        self.a, self.b = nn.Parameter(torch.tensor(0.3).double()), nn.Parameter(torch.tensor(-0.2).double())

    def forward(self, batch: Any, explicit: bool = False) -> tuple[Tensor, Tensor]:
        return torch.tanh(self.a * batch), torch.sigmoid(self.a * self.b + batch)


def test_the_unrolled_step_has_the_gradient_of_finite_differences() -> None:
    student, batch = Toy(), torch.tensor([0.5, -1.0, 2.0]).double()

    def outer(teacher: Tensor) -> Tensor:
        def apart(scores: Tensor, shares: Tensor) -> Tensor:
            return (scores - 0.5).square().mean() + (
                shares - torch.sigmoid(teacher[0] * batch + teacher[1])
            ).square().mean()

        moved = unrolled_step(student, batch, apart, rate=0.7)
        return apart(*torch.func.functional_call(student, dict(moved), (batch, True)))

    teacher = torch.tensor([0.8, 0.1]).double().requires_grad_()
    assert torch.autograd.gradcheck(outer, (teacher,))
    (whole,) = torch.autograd.grad(outer(teacher), teacher)
    # Not only through the second loss: also through the step.
    held = {n: p.detach() for n, p in unrolled_step(student, batch, lambda s, r: (s.sum() + r.sum()) * 0, 0.7).items()}
    assert held["a"] == student.a
    assert float(whole.abs().min()) > 0
    assert student.a.grad is None
    assert float(student.a.detach()) == pytest.approx(0.3)


@pytest.mark.parametrize("clip", [None, 0.05, 100.0])
def test_the_unrolled_step_is_the_step_the_loop_takes(clip: float | None) -> None:
    student, batch = Toy(), torch.tensor([0.5, -1.0, 2.0]).double()
    teacher = torch.tensor([0.8, 0.1]).double().requires_grad_()

    def apart(scores: Tensor, shares: Tensor, given: Tensor = teacher) -> Tensor:
        return (scores - 0.5).square().mean() + (shares - torch.sigmoid(given[0] * batch + given[1])).square().mean()

    moved = unrolled_step(student, batch, apart, 0.7, clip)
    optimiser = torch.optim.SGD(student.parameters(), 0.7)
    apart(*student(batch)).backward()
    norm = nn.utils.clip_grad_norm_(student.parameters(), math.inf if clip is None else clip)
    assert 0.05 < float(norm) < 100  # one of the bounds acts
    optimiser.step()
    for name, parameter in student.named_parameters():
        torch.testing.assert_close(moved[name], parameter)
    student = Toy()

    def behind(given: Tensor) -> Tensor:
        def loss(scores: Tensor, shares: Tensor) -> Tensor:
            return apart(scores, shares, given)

        return torch.stack(list(unrolled_step(student, batch, loss, 0.7, clip).values()))

    assert torch.autograd.gradcheck(behind, (teacher,))


def test_a_step_without_a_slope_is_no_step() -> None:
    student, batch = Toy(), torch.tensor([0.5]).double()
    teacher = torch.tensor(2.0).double().requires_grad_()
    moved = unrolled_step(student, batch, lambda scores, shares: 0 * teacher * (scores + shares).sum(), 0.7, 0.05)
    assert all(torch.equal(moved[name], parameter) for name, parameter in student.named_parameters())
    (slope,) = torch.autograd.grad(moved["a"], teacher)
    assert float(slope) == 0


@pytest.mark.parametrize("name", ["ivra", "smat"])
def test_the_unrolled_step_knows_where_the_loop_clips(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def watched(student: Any, batch: Any, loss: Any, rate: float, clip: float | None = None) -> Any:
        seen.append(clip)
        return unrolled_step(student, batch, loss, rate, clip)

    monkeypatch.setattr(f"saywhy.objectives.{name}.unrolled_step", watched)
    options = {"criteria": "sim"} if name == "ivra" else {}
    quick(name, epochs=1, clip=0.25, **options)
    assert set(seen) == {0.25}


def test_the_models_gradient_goes_through_the_students_step_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    model = zoo.classifier()
    objective, batch, _ = made(model, criteria="sim", student_rate=0.1)
    assert objective.student is not None
    objective.student.eval()

    def value() -> Tensor:
        raw, found = explained_forward(model.module, model.task, batch, objective.module)
        labels = model.task.predicted(model.task.combine(raw.detach(), batch.owner, batch.size))
        return objective.simulatability(batch, labels, found)

    (slope,) = torch.autograd.grad(value(), objective.module.head)
    assert float(slope.norm()) > 1e-6

    def held(*given: Any, **options: Any) -> dict[str, Tensor]:
        return {name: parameter.detach() for name, parameter in unrolled_step(*given, **options).items()}

    monkeypatch.setattr("saywhy.objectives.ivra.unrolled_step", held)
    # Beside that step nothing draws the model's explanations to those of a student.
    assert not value().requires_grad


@pytest.mark.parametrize("kind", [InterpretableAttention, SmatAttention])
def test_the_meta_step_moves_the_model_and_leaves_the_student(kind: Any) -> None:
    model = zoo.classifier()
    if kind is InterpretableAttention:
        objective: Any = Ivra(model, OptimiserSettings(), criteria="sim")
    else:
        objective = Smat(model, OptimiserSettings())
    before = {n: p.detach().clone() for n, p in objective.student.named_parameters()}
    phases = list(objective.phases(objective.collate(objective.items(EXAMPLES, "error")), STEP))
    assert [p.players for p in phases] == [("student",), ("model",)]
    result = phases[1].loss()
    (result[0] if isinstance(result, tuple) else result).backward()
    assert all(p.grad is None and torch.equal(p, before[n]) for n, p in objective.student.named_parameters())
    assert float(attached(model.module, kind).head.grad.abs().max()) > 0  # type: ignore[union-attr]
    student = phases[0].loss()
    student.backward()
    assert max(float(p.grad.abs().max()) for p in objective.student.parameters() if p.grad is not None) > 0
    assert not objective.distributed


def test_a_copy_simulates_its_teacher() -> None:
    model = zoo.classifier()
    attach(model.module, InterpretableAttention.of(model))
    student = make_student(model, InterpretableAttention, "copy", 0).eval()
    batch = model.task.collate(model.encode(EXAMPLES))
    with torch.no_grad():
        scores, shares = student(batch)
        raw, found = explained_forward(model.module, model.task, batch, model.module.interpretable_attention)  # type: ignore[arg-type]
    assert torch.equal(scores, raw)
    assert torch.equal(shares, found)
    fresh = make_student(model, InterpretableAttention, None, 0).eval()
    with torch.no_grad():
        assert not torch.equal(fresh(batch)[0], raw)


@pytest.mark.parametrize("name", ["ivra", "smat"])
def test_the_student_is_drawn_by_the_seed(name: str) -> None:
    drawn = {}
    for seed in (0, 1):
        objective: Any = (
            Ivra(zoo.classifier(), OptimiserSettings(), criteria="sim")
            if name == "ivra"
            else Smat(zoo.classifier(), OptimiserSettings())
        )
        objective.begin(seed)
        assert objective.players["student"] is objective.student
        drawn[seed] = objective.student.network.classifier.weight.detach()
    assert not torch.equal(drawn[0], drawn[1])
