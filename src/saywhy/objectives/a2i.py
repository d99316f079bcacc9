"""A2I: a selection is attacked, so that the predictor does not trust what any selection could say."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from saywhy.errors import OptionError
from saywhy.loop import OptimiserSettings, Phase, Step
from saywhy.models import TextModel
from saywhy.models.word_selector import Choice
from saywhy.objectives.base import TrainingBatch, objectives
from saywhy.objectives.rationalization import Game, Rationalization
from saywhy.ops.rationales import sample_selection

__all__ = ["A2I", "bounded_attack"]


def bounded_attack(scores: Tensor, wrong: Tensor) -> Tensor:
    """How badly wrong labels fit: mean of the examples' cross-entropies, each bounded by log K, that of a guess.

    Beyond the bound there is no gradient: a predictor that is at a loss need not be pushed further.
    """
    return F.cross_entropy(scores, wrong, reduction="none").clamp_max(math.log(scores.shape[-1])).mean()


@objectives.register("a2i", family="rationalisation", tasks=Rationalization.tasks, paper="Liu et al. 2024")
class A2I(Rationalization):
    """RNP with an attacker that selects words for a wrong label; the predictor learns to make nothing of these.

    Reference: Liu et al.: Attacking for Inspection and Instruction (A2I), 2024, as VER runs it (Table 1).

    Two phases a step. Selector and predictor minimise the game's loss minus ``adversary`` times the bounded
    cross-entropy of the wrong label on the attacker's selection; then the attacker, with both frozen, minimises that
    cross-entropy under the same regulariser.

    Departures: the wrong label of more than two classes is drawn; the bound is then log K, in place of log 2.

    Args:
        model: a rationalizer.
        optimiser: of all players.
        adversary: weight of the attack.
        options: as for `saywhy.objectives.rationalization.Rationalization`.
    """

    def __init__(
        self, model: TextModel, optimiser: OptimiserSettings, *, adversary: float = 1.0, **options: Any
    ) -> None:
        super().__init__(model, optimiser, **options)
        if adversary < 0:
            raise OptionError(f"adversary must not be negative, not {adversary}")
        self.adversary = adversary
        self.attacker = self.fresh_selector("attacker")
        self.players["attacker"] = self.attacker

    def phases(self, batch: TrainingBatch, step: Step) -> Iterator[Phase]:
        """The game, then the attacker's turn."""
        yield from super().phases(batch, step)
        yield Phase(("attacker",), lambda: self.attack_loss(batch, step))

    def extra(self, game: Game) -> Tensor:
        """Minus what is left to gain by making nothing of the attack."""
        mask, _ = self.attack(game.batch, game.step)
        return -self.adversary * bounded_attack(self.read(game.batch, mask.detach()), self.wrong(game.gold, game.step))

    def attack_loss(self, batch: TrainingBatch, step: Step) -> Tensor:
        """What the attacker minimises."""
        rows, items = batch
        mask, choice = self.attack(rows, step)
        fit = F.cross_entropy(self.read(rows, mask), self.wrong(self.gold(items), step))
        return fit + self.penalty(mask, choice)

    def attack(self, rows: Any, step: Step) -> tuple[Tensor, Choice]:
        """The attacker's draw, and what it was drawn from."""
        choice = self.rationalizer.choose(rows.inputs, self.attacker)
        generator = step.generator("attack")
        return sample_selection(choice.logits, choice.real, temperature=self.temperature, generator=generator), choice

    def wrong(self, gold: Tensor, step: Step) -> Tensor:
        """A wrong label for each example; the other one where there are two."""
        classes = len(self.model.labels)
        shift = torch.randint(1, classes, gold.shape, generator=step.generator("wrong"), device=gold.device)
        return (gold + shift) % classes
