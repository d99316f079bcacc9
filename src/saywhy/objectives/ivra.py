"""IvRA: a model whose attention is trained to be simulatable, faithful and consistent."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from saywhy.errors import CapabilityError, OptionError
from saywhy.loop import OptimiserSettings, Phase, Step
from saywhy.loop.objective import Loss
from saywhy.models import Batch, Encoded, TextModel
from saywhy.models.attention_door import weigh_pieces
from saywhy.models.attention_module import Surroundings, attach, attached, explained_forward
from saywhy.models.encoding import content_mask
from saywhy.models.hidden_states import keep_hidden_states
from saywhy.models.interpretable_attention import LEVELS, InterpretableAttention, chosen_levels
from saywhy.objectives.base import Objective, TrainingBatch, objectives
from saywhy.objectives.student import COEFFICIENTS, Student, make_student, simulation_loss, unrolled_step
from saywhy.ops.criteria import (
    cluster_loss,
    comprehensiveness_loss,
    consistency_loss,
    correlation_loss,
    straight_through_top,
    sufficiency_loss,
)
from saywhy.ops.divergences import kl_divergence

__all__ = ["CRITERIA", "Ivra", "chosen_criteria"]

CRITERIA = ("sim", "comp", "suff", "cons")
CONSISTENT = ("kl", "cluster", "correlation")
SHARES = (0.01, 0.05, 0.1, 0.2, 0.5)
_JUDGED_ON = 256  # held-out examples on which the losses are compared from epoch to epoch
_JUDGED_AT = (0.1,)
_STUDENT_RATE = 1e-4
_STUDENT_COEFFICIENT_RATE = 1e-2


@objectives.register(
    "ivra", family="self-explaining", tasks=Objective.tasks, paper="Xie et al. 2024 (IvRA)", needs=("attention",)
)
class Ivra(Objective):
    """Cross-entropy, and what explanations are asked for: any of simulatable, comprehensive, sufficient, consistent.

    The model gets interpretable attention if it has none, and is trained with it. `method="ivra"` reads it off.

    Reference: Xie, Vosoughi, Hassanpour: IvRA, EMNLP 2024, section 2.2 and appendix B. ``sim``: a student of the same
    kind moves one step towards the model's answers and explanations; then the model moves so that one more such step,
    which is differentiated through, would leave the student closer. ``comp`` and ``suff``: the loss of the predicted
    label without the top words, and on them alone, against that on the whole text. ``cons``: the divergence of two
    explanations over the distance of the texts' hidden states. Labels are the model's own predictions.

    Departures: words are erased by weights on attention, as in UNIREX, with a straight-through gradient, so that
    coefficients learn from the choice of words too. For an erased word it is what putting it back would change, layer
    by layer, and not the slope, which is thousands of times as large where a head looks at one word only. One share of
    words is drawn for each step (``shares="all"`` takes the mean over all). The coefficients have a learning rate of
    their own: at one that suits a pretrained network they would not move; they are not decayed. The student learns on
    the model's own training batches, where the paper gives it a part of the test texts. Its own steps are AdamW's: by
    the paper's gradient descent it was at chance to the end, and had nothing to be helped with. One more step, of
    gradient descent, is unrolled, and the model moves for the student's answers behind it. Equation 15 has the
    divergence of explanations there too; but it reaches the model's explanations directly, and drew them to what a
    student says that knows nothing. Gradients of both are clipped at the run's ``clip``. The best epoch is the one with
    the least loss on held-out examples.

    Args:
        model: the model.
        optimiser: how it is optimised.
        criteria: any of ``sim``, ``comp``, ``suff`` and ``cons``, as a list or with commas; None is plain training.
        norm: of the interpretable attention, if the model has none: ``softmax``, ``sparsemax`` or ``entmax15``.
        levels: its trained coefficients, any of ``feature``, ``head`` and ``layer``, as a list or with commas.
        reading: of its formula: ``joint``, ``coefficients`` or ``layers``.
        coefficient_rate: highest learning rate of the coefficients.
        frozen: train the coefficients only; the model's answers stay as they are.
        shares: shares of the words that count as its top; ``all`` or ``one`` of IvRA's five, or numbers to draw from,
            as a list or with commas.
        comp_margin: loss that removing the top words should cost.
        suff_margin: by how much the top words alone should do better.
        suff_loss: ``margin``, ``mae`` or ``kl``.
        cons_loss: ``kl`` or ``cluster`` (texts and pairs only), the paper's, or ``correlation``, ours.
        sim_weight: of simulatability; likewise the next three.
        comp_weight: of comprehensiveness.
        suff_weight: of sufficiency.
        cons_weight: of consistency.
        sim_every: batches from one with simulatability, which costs most, to the next; its weight grows accordingly.
            The student learns in all of them.
        student: what the student starts from: a network's name, a folder, or the model itself with a new head.
        student_rate: of its step that is differentiated through.

    Example:
        >>> saywhy.train("ivra", data="imdb", model="minilm", criteria="comp", norm="sparsemax")  # doctest: +SKIP
    """

    def __init__(
        self,
        model: TextModel,
        optimiser: OptimiserSettings,
        *,
        criteria: str | Sequence[str] | None = ("comp", "suff"),
        norm: str | None = None,
        levels: str | Sequence[str] | None = None,
        reading: str | None = None,
        coefficient_rate: float = 5e-2,
        frozen: bool = False,
        shares: str | float | Sequence[float] = "one",
        comp_margin: float = 1.0,
        suff_margin: float = 0.1,
        suff_loss: str = "margin",
        cons_loss: str = "kl",
        sim_weight: float = 1.0,
        comp_weight: float = 1.0,
        suff_weight: float = 1.0,
        cons_weight: float = 1.0,
        sim_every: int = 1,
        student: str | None = None,
        student_rate: float = 5e-3,
    ) -> None:
        super().__init__(model, optimiser)
        self.criteria = chosen_criteria(criteria)
        _check_numbers(
            coefficient_rate=coefficient_rate, comp_margin=comp_margin, suff_margin=suff_margin, sim_weight=sim_weight,
            comp_weight=comp_weight, suff_weight=suff_weight, cons_weight=cons_weight, student_rate=student_rate,
        )  # fmt: skip
        self.weights = {"sim": sim_weight, "comp": comp_weight, "suff": suff_weight, "cons": cons_weight}
        if min(self.weights.values()) < 0 or comp_margin < 0 or suff_margin < 0:
            raise OptionError("weights and margins must not be negative")
        if student_rate <= 0:
            raise OptionError(f"student_rate must be above 0, not {student_rate}")
        if not isinstance(frozen, bool):
            raise OptionError(f"frozen must be true or false, not {frozen!r}")
        if suff_loss not in ("margin", "mae", "kl"):
            raise OptionError(f"suff_loss must be margin, mae or kl, not {suff_loss!r}")
        if cons_loss not in CONSISTENT:
            raise OptionError(f"cons_loss must be one of {', '.join(CONSISTENT)}, not {cons_loss!r}")
        if "cons" in self.criteria and cons_loss == "cluster" and model.task.name not in ("text", "pair"):
            raise OptionError("cons_loss='cluster' compares classes, and this task has none; use kl or correlation")
        if frozen and not self.criteria:
            raise OptionError("with frozen=true only the coefficients learn, and no criterion asks them for anything")
        if not isinstance(sim_every, int) or isinstance(sim_every, bool) or sim_every < 1:
            raise OptionError(f"sim_every must be at least 1 and a whole number, not {sim_every!r}")
        self.shares, self.all_shares = _shares(shares)
        self.margins, self.suff_loss, self.cons_loss = (comp_margin, suff_margin), suff_loss, cons_loss
        self.sim_every, self.student_rate = sim_every, student_rate
        self.module = _interpretable(model, norm, levels, reading)
        self._rest = Surroundings(model.module, self.module) if frozen else None
        if self._rest is not None:
            self._rest.freeze()
        self.rules = {"model": replace(optimiser, rates={f"{self.module.attribute}.": coefficient_rate})}
        self.student: Student | None = None
        self._student_name = student
        if "sim" in self.criteria:
            # As a student of the metric; its coefficients would not move at a rate that suits a network.
            self.rules["student"] = OptimiserSettings(
                learning_rate=_STUDENT_RATE, schedule="constant", rates={COEFFICIENTS: _STUDENT_COEFFICIENT_RATE}
            )
            # Its step differentiates through another player's update.
            self.distributed = False
            self.begin(0)

    def begin(self, seed: int) -> None:
        """The student is drawn by the run's seed."""
        if "sim" in self.criteria:
            self.student = make_student(
                self.model, InterpretableAttention, self._student_name, seed, **self.module.options
            )
            self.players["student"] = self.student

    def optimisers(self) -> dict[str, OptimiserSettings]:
        """AdamW for the model and for the student, with another rate for their coefficients."""
        return self.rules

    def train_mode(self, training: bool) -> None:
        """Training or evaluation; outside of training what it froze is free again."""
        super().train_mode(training)
        if self._rest is not None:
            self._rest.freeze(training)

    @property
    def period(self) -> int:
        """Steps from one in which the student's is differentiated through to the next."""
        return self.sim_every if self.student is not None else 1

    def phases(self, batch: TrainingBatch, step: Step) -> Iterator[Phase]:
        """The student's step, then the model's."""
        rows, items = self.anchored(batch)
        simulated = self.student is not None and (step.index + 1) % self.sim_every == 0
        if self.student is not None:
            yield Phase(("student",), lambda: self.student_loss(rows))
        if self._rest is not None and self.criteria == ("sim",) and not simulated:
            return  # the task does not reach the coefficients, and nothing else is left to learn from
        shares = self.shares if self.all_shares else (float(step.numpy("share").choice(self.shares)),)
        yield Phase(("model",), lambda: self.loss(rows, items, shares, unrolled=simulated, clip=step.clip))

    def loss(
        self,
        batch: Batch,
        items: Sequence[Encoded],
        shares: Sequence[float],
        *,
        unrolled: bool,
        clip: float | None = None,
    ) -> Loss:
        """The weighted sum of the criteria, and each of them for the log; ``clip`` is that of the student's steps."""
        network, task, wanted = self.players["model"], self.model.task, self.criteria
        with keep_hidden_states(network) if "cons" in wanted else contextlib.nullcontext() as states:
            raw, found = explained_forward(network, task, batch, self.module)
        scores = task.combine(raw, batch.owner, batch.size)
        examples = [item.example for item in items]
        terms = {"classify": task.loss(network, batch, examples) if task.anchors else self._supervised(scores, items)}
        labels = task.predicted(scores.detach())
        if "comp" in wanted or "suff" in wanted:
            made = [self.faithfulness(batch, scores, labels, found, share) for share in shares]
            terms |= {name: torch.stack([one[name] for one in made]).mean() for name in made[0]}
        if "cons" in wanted:
            assert states is not None
            content = content_mask(batch)
            if self.cons_loss == "cluster":
                terms["cons"] = cluster_loss(found, labels[batch.owner], content)
            else:
                measure = consistency_loss if self.cons_loss == "kl" else correlation_loss
                terms["cons"] = measure(found, content, states.value)
        if unrolled:
            terms["sim"] = self.simulatability(batch, labels, found, clip)
        scale = {**self.weights, "classify": 1.0, "sim": self.weights["sim"] * self.sim_every}
        total = torch.stack([scale[name] * term for name, term in terms.items()]).sum()
        return total, {name: term.detach() for name, term in terms.items()}

    def faithfulness(
        self, batch: Batch, scores: Tensor, labels: Tensor, found: Tensor, share: float
    ) -> dict[str, Tensor]:
        """Equations 10 and 11 (or 16, 17) at one share of the words."""
        content = content_mask(batch)
        top = straight_through_top(found, content, share)
        whole = F.cross_entropy(scores, labels, reduction="none")
        terms = {}
        if "comp" in self.criteria:
            without = F.cross_entropy(self._erased(batch, 1 - top * content), labels, reduction="none")
            terms["comp"] = comprehensiveness_loss(whole, without, self.margins[0]).mean()
        if "suff" in self.criteria:
            kept = self._erased(batch, torch.where(content, top, torch.ones_like(top)))
            alone = F.cross_entropy(kept, labels, reduction="none")
            if self.suff_loss == "margin":
                terms["suff"] = sufficiency_loss(whole, alone, self.margins[1]).mean()
            elif self.suff_loss == "mae":
                terms["suff"] = (alone - whole).abs().mean()
            else:
                terms["suff"] = kl_divergence(kept.softmax(-1), scores.softmax(-1)).mean()
        return terms

    def simulatability(self, batch: Batch, labels: Tensor, found: Tensor, clip: float | None = None) -> Tensor:
        """Equation 15: what the student answers behind one more step, as a function of the model's explanations."""
        assert self.student is not None

        def apart(scores: Tensor, shares: Tensor) -> Tensor:
            return simulation_loss(scores, shares, labels, found, batch)

        moved = unrolled_step(self.student, batch, apart, self.student_rate, clip)
        scores, _ = torch.func.functional_call(self.student, dict(moved), (batch, True))
        return F.cross_entropy(scores, labels)

    def student_loss(self, batch: Batch) -> Tensor:
        """Equation 14: how far the student is from the model, whose explanations are fixed here."""
        assert self.student is not None
        with self.model.evaluation(), torch.no_grad():
            raw, found = explained_forward(self.players["model"], self.model.task, batch, self.module)
        labels = self.model.task.predicted(self.model.task.combine(raw, batch.owner, batch.size))
        scores, shares = self.student(batch)
        return simulation_loss(scores, shares, labels, found, batch)

    def anchored(self, batch: TrainingBatch) -> TrainingBatch:
        """The batch with what each example is asked about, where that is the model's own answer (span QA)."""
        rows, items = batch
        if not self.model.task.anchors:
            return batch
        with self.model.evaluation() as network, torch.no_grad():
            items = self.model.task.anchored(network, items)
        return self.model.task.collate(items).to(rows.owner.device), items

    def score(self, items: Sequence[Encoded], batch_size: int) -> float:
        """The loss on held-out examples, negative: without dropout, at a tenth of the words, nothing unrolled."""
        some = items[:: max(1, len(items) // _JUDGED_ON)][:_JUDGED_ON]
        total = 0.0
        for start in range(0, len(some), batch_size):
            part = list(some[start : start + batch_size])
            rows, anchored = self.anchored(self.collate(part))
            result = self.loss(rows, anchored, _JUDGED_AT, unrolled=False)
            value = float((result[0] if isinstance(result, tuple) else result).detach())
            if self.student is not None:
                value += self.weights["sim"] * float(self.student_loss(rows).detach())
            total += value * len(part)
        return -total / len(some)

    def report(self, items: Sequence[Encoded], batch_size: int, seed: int) -> dict[str, Any]:
        """The trained coefficients as heat maps, layers by heads (IvRA, figure 3)."""
        return {"maps": self.module.maps()}

    def _supervised(self, scores: Tensor, items: Sequence[Encoded]) -> Tensor:
        gold = torch.tensor([self.model.task.gold(item.example) for item in items], device=scores.device)
        return F.cross_entropy(scores, gold)

    def _erased(self, batch: Batch, keep: Tensor) -> Tensor:
        network, task = self.players["model"], self.model.task
        with weigh_pieces(network, keep, secant=True):
            return task.combine(task.raw(network, batch), batch.owner, batch.size)


def chosen_criteria(given: str | Sequence[str] | None) -> tuple[str, ...]:
    """Criteria from a list or from names with commas, in the paper's order; None is none of them.

    Example:
        >>> chosen_criteria("cons,sim")
        ('sim', 'cons')
    """
    named = [name.strip() for name in given.split(",")] if isinstance(given, str) else given
    names = [] if named is None else list(named) if isinstance(named, Iterable) else [named]
    unknown = [str(name) for name in names if name != "" and name not in CRITERIA]
    if unknown:
        raise OptionError(f"unknown criteria {', '.join(unknown)}; known: {', '.join(CRITERIA)}")
    return tuple(name for name in CRITERIA if name in names)


def _interpretable(
    model: TextModel, norm: str | None, levels: str | Sequence[str] | None, reading: str | None
) -> InterpretableAttention:
    if "attention" not in model.capabilities:
        raise CapabilityError(f"attention cannot be trained: {model.no_attention or 'the network has none'}")
    there = attached(model.module, InterpretableAttention)
    wanted = None if levels is None else list(chosen_levels(levels))
    given: dict[str, Any] = {"norm": norm, "levels": wanted, "reading": reading}
    given = {name: value for name, value in given.items() if value is not None}
    if there is None:
        made = InterpretableAttention.of(model, **{"levels": LEVELS, **given})
        attach(model.module, made)
        return made
    differ = [name for name, value in given.items() if value != there.options[name]]
    if differ:
        raise OptionError(f"the model's interpretable attention has another {', '.join(differ)}; leave the option out")
    return there


def _check_numbers(**given: Any) -> None:
    wrong = [f"{name}={value!r}" for name, value in given.items() if not _is_number(value)]
    if wrong:
        raise OptionError(f"these options must be numbers: {', '.join(wrong)}")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _shares(given: str | float | Sequence[float]) -> tuple[tuple[float, ...], bool]:
    if isinstance(given, str) and given in ("one", "all"):
        return SHARES, given == "all"
    listed: Any = given.split(",") if isinstance(given, str) else given
    try:
        numbers = tuple(float(x) for x in (listed if isinstance(listed, Iterable) else (listed,)))
    except (TypeError, ValueError):
        numbers = ()
    if not numbers or isinstance(given, bool) or not all(0 < x <= 1 for x in numbers):
        raise OptionError(f"shares must be 'one', 'all' or numbers between 0 and 1, not {given!r}")
    return numbers, False
