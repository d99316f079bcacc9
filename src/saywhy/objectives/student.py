"""Students: networks that learn to answer as a teacher does, and to explain as it does."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from saywhy.errors import CapabilityError, OptionError
from saywhy.models import Batch, TextModel
from saywhy.models.attention_module import AttentionModule, attach, attached, explained_forward
from saywhy.models.encoding import content_mask
from saywhy.models.interpretable_attention import InterpretableAttention
from saywhy.models.minilm import pretrained_with_head
from saywhy.models.networks import networks
from saywhy.models.tasks import Task
from saywhy.ops.criteria import smoothed_kl
from saywhy.ops.randomness import global_seed

__all__ = ["COEFFICIENTS", "COPY", "Student", "make_student", "simulation_loss", "unrolled_step"]

COPY = "copy"
COEFFICIENTS = f"network.{InterpretableAttention.attribute}."
"""How the parameters of a student's interpretable attention begin."""


class Student(nn.Module):
    """A network with a module that explains, called as one: the parameters of both can be swapped for others.

    Args:
        network: the network, with a module of this kind attached.
        task: what it does.
        kind: of the module.
    """

    def __init__(self, network: nn.Module, task: Task, kind: type[AttentionModule]) -> None:
        super().__init__()
        self.network, self.task, self.kind = network, task, kind

    def forward(self, batch: Batch, explicit: bool = False) -> tuple[Tensor, Tensor]:
        """Scores of the examples (n x K), and the explanations of their rows (rows x L)."""
        module = attached(self.network, self.kind)
        assert module is not None
        raw, shares = explained_forward(self.network, self.task, batch, module, explicit=explicit)
        return self.task.combine(raw, batch.owner, batch.size), shares


def make_student(
    teacher: TextModel, kind: type[AttentionModule], name: str | None, seed: int, **options: Any
) -> Student:
    """A student that reads the pieces its teacher reads, with a new module of a kind.

    Args:
        teacher: the model to learn from.
        kind: of the module that explains.
        name: a network out of `saywhy list models` that needs no data, or a folder or hub name. ``copy`` is the teacher
            over again. None is the teacher with a new head: a student that has not seen the data if the teacher has
            not.
        seed: of new weights.
        options: of the module.

    Raises:
        CapabilityError: with None, a network that is all of one piece and has no head to make new.
    """
    labels, task = teacher.labels, teacher.task.name
    if name is None or name == COPY:
        network, tokenizer = copy.deepcopy(teacher.module), teacher.tokenizer
        if name is None:
            _new_head(network, seed)
    elif name in networks and "pretrained" not in networks[name].family:
        raise OptionError(f"{name!r} is made for its data; a student must be pretrained, a folder, or None")
    else:
        network, tokenizer = (
            networks[name].value((), task, labels, seed)
            if name in networks
            else pretrained_with_head(Path(name) if Path(name).exists() else name, task, labels, seed)
        )
        if tokenizer.get_vocab() != teacher.tokenizer.get_vocab():
            raise OptionError(f"the student {name!r} cuts texts into other pieces than the model: choose another")
    network = network.to(teacher.device)
    # Its attention goes through the door, and its length is that of the teacher.
    student = TextModel(network, tokenizer, task, labels, max_length=teacher.encoder.max_length)
    attach(network, kind.of(student, **options))
    for parameter in network.parameters():
        parameter.requires_grad_(True)
    return Student(network, teacher.task, kind)


def simulation_loss(
    scores: Tensor, shares: Tensor, labels: Tensor, wanted: Tensor, batch: Batch, explanation_weight: float = 1.0
) -> Tensor:
    """How far a student's answers and explanations are from its teacher's, the mean over a batch.

    Reference: IvRA, equation 7, with the minus that its first term has lost.

    Args:
        scores: the student's, n x K.
        shares: its explanations, rows x L.
        labels: the teacher's answers, (n,).
        wanted: the teacher's explanations, rows x L; rows of zeros count nothing.
        batch: what both have read.
        explanation_weight: of the second term.
    """
    answers = F.cross_entropy(scores, labels)
    if explanation_weight == 0:
        return answers
    inside = content_mask(batch)
    known = (wanted.detach().sum(-1) > 0).to(shares.dtype)
    apart = (smoothed_kl(wanted, shares, inside) * known).sum() / known.sum().clamp_min(1.0)
    return answers + explanation_weight * apart


def unrolled_step(
    student: Student, batch: Batch, loss: Any, rate: float, clip: float | None = None
) -> Mapping[str, Tensor]:
    """The student's parameters behind one step of gradient descent, as a function of what the loss depends on.

    The student itself is not touched. ``loss`` is called with its scores and explanations. A gradient whose norm is
    above ``clip`` is scaled down to it, as the loop does, and that is differentiated too.

    Reference: IvRA, appendix B.2, equation 14; the pilot update of Zhou et al. 2021.
    """
    start = {name: parameter.detach().requires_grad_() for name, parameter in student.named_parameters()}
    value = loss(*torch.func.functional_call(student, start, (batch, True)))
    slopes = torch.autograd.grad(value, list(start.values()), create_graph=True, allow_unused=True)
    scale = rate * _clipping([slope for slope in slopes if slope is not None], clip)
    return {
        name: parameter if slope is None else parameter - scale * slope
        for (name, parameter), slope in zip(start.items(), slopes, strict=True)
    }


def _clipping(slopes: Sequence[Tensor], clip: float | None) -> Tensor | float:
    """What a gradient is multiplied by so that its norm is at most ``clip``, as by `clip_grad_norm_`; in the graph."""
    if clip is None or not slopes:
        return 1.0
    norm = torch.stack([slope.norm() for slope in slopes]).norm()
    return clip / (norm + 1e-6) if float(norm.detach()) + 1e-6 > clip else 1.0


def _new_head(network: nn.Module, seed: int) -> None:
    base = {id(module) for module in getattr(network, "base_model", network).modules()}
    spread = float(getattr(network.config, "initializer_range", 0.02))
    head = [module for module in network.modules() if isinstance(module, nn.Linear) and id(module) not in base]
    if not head:
        raise CapabilityError(
            f"{type(network).__name__} has no head that a student could have anew, so that the student would be the "
            "teacher: say what it starts from (student=...): a pretrained network's name, a folder, or 'copy'"
        )
    with global_seed(seed, "student"):
        for module in head:
            nn.init.normal_(module.weight, std=spread)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
