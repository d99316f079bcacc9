"""A2R: a soft and a hard reading of the same selection, held together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch.nn.functional as F
from torch import Tensor

from saywhy.errors import OptionError
from saywhy.loop import OptimiserSettings, Phase, Step
from saywhy.models import TextModel
from saywhy.objectives.base import TrainingBatch, objectives
from saywhy.objectives.rationalization import Rationalization
from saywhy.ops.rationales import take_top

__all__ = ["A2R", "jensen_shannon"]


def jensen_shannon(one: Tensor, other: Tensor) -> Tensor:
    """Jensen-Shannon divergence of two tables of logits N x K, mean over rows, from 0 to log 2."""
    p, q = one.softmax(-1), other.softmax(-1)
    middle = ((p + q) / 2).clamp_min(1e-12).log()
    first = (p * (one.log_softmax(-1) - middle)).sum(-1)
    second = (q * (other.log_softmax(-1) - middle)).sum(-1)
    return ((first + second) / 2).mean()


@objectives.register("a2r", family="rationalisation", tasks=Rationalization.tasks, paper="Yu et al. 2021")
class A2R(Rationalization):
    """Two predictors, one reads all words as far as they are likely selected, the other the likeliest ones only.

    Reference: Yu et al.: Understanding Interlocking Dynamics of Cooperative Rationalization, NeurIPS 2021: CE of both,
    and their Jensen-Shannon divergence. The soft one trains the selector.

    Departures: the soft mask is the probability of each word, not a softmax over the text, whose small numbers would
    leave a GRU with next to nothing. The hard mask is the top ``alpha`` of each text, in training and afterwards.
    Sparsity and continuity are those of the soft mask. Nothing is drawn, so ``temperature`` has no effect.

    Args:
        model: a rationalizer.
        optimiser: of all players.
        tie: weight of the divergence.
        options: as for `saywhy.objectives.rationalization.Rationalization`.
    """

    def __init__(self, model: TextModel, optimiser: OptimiserSettings, *, tie: float = 1.0, **options: Any) -> None:
        super().__init__(model, optimiser, **options)
        if tie < 0:
            raise OptionError(f"tie must not be negative, not {tie}")
        self.tie = tie
        self.soft = self.fresh_predictor("soft")
        self.players["soft"] = self.soft
        self.rationalizer.config.selection, self.rationalizer.config.share = "top", self.control.asked

    def phases(self, batch: TrainingBatch, step: Step) -> Iterator[Phase]:
        """All three move together."""
        yield Phase(("selector", "predictor", "soft"), lambda: self.loss(batch, step))
        self.control.update(step)

    def loss(self, batch: TrainingBatch, step: Step) -> tuple[Tensor, dict[str, float | Tensor]]:
        """Both cross-entropies, their divergence, and the regulariser."""
        rows, items = batch
        gold = self.gold(items)
        choice = self.rationalizer.choose(rows.inputs)
        hard = self.read(rows, take_top(choice.margins, choice.real, self.control.alpha))
        soft = self.read(rows, choice.probabilities, self.soft)
        entropy = F.cross_entropy(hard, gold)
        apart = jensen_shannon(soft, hard)
        loss = entropy + F.cross_entropy(soft, gold) + self.tie * apart
        return loss + self.penalty(choice.probabilities, choice), {
            "cross-entropy": entropy.detach(),
            "divergence": apart.detach(),
        }
