"""CR: a word belongs into the rationale if the label needs it."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from saywhy.errors import OptionError
from saywhy.loop import OptimiserSettings, Step
from saywhy.models import TextModel
from saywhy.models.word_selector import Choice
from saywhy.objectives.base import TrainingBatch, objectives
from saywhy.objectives.rationalization import Game, Rationalization

__all__ = ["Cr"]


@objectives.register("cr", family="rationalisation", tasks=Rationalization.tasks, paper="Zhang et al. 2023")
class Cr(Rationalization):
    """Soft selections near a prior, whose words must each be necessary: without one of them the label gets less likely.

    Reference: Zhang et al.: Towards Trustworthy Explanation: On Causal Rationalization, ICML 2023: cross-entropy, KL of
    each word's Bernoulli from one of rate alpha, and -mean_j log(1 + max(0, p - p_without_j)) over some selected words.

    Departures: every example counts in the last term (the released code keeps the last of a batch). The KL takes the
    place of the sparsity term, and ``prior`` that of lambda1; continuity stays, with weight lambda2, as a mean whatever
    ``reduction`` says. ``softness`` takes the place of ``temperature``. A word is weighed in the embeddings. The
    label's probability is that of the gold label. The rationale is the top alpha of each text.

    Args:
        model: a rationalizer.
        optimiser: of both players.
        prior: weight of the KL.
        necessity: weight of the last term.
        tried: share of a text's words that is tried in it, one forward pass each.
        softness: temperature of the draws.
        options: as for `saywhy.objectives.rationalization.Rationalization`.
    """

    def __init__(
        self,
        model: TextModel,
        optimiser: OptimiserSettings,
        *,
        prior: float = 1.0,
        necessity: float = 1.0,
        tried: float = 0.05,
        softness: float = 0.5,
        **options: Any,
    ) -> None:
        super().__init__(model, optimiser, **options)
        if min(prior, necessity) < 0 or not 0 < tried <= 1 or softness <= 0:
            raise OptionError("prior and necessity must not be negative, tried is a share, softness above 0")
        self.prior, self.necessity, self.tried, self.softness = prior, necessity, tried, softness
        self.rationalizer.config.selection, self.rationalizer.config.share = "top", self.control.asked

    def play(self, batch: TrainingBatch, step: Step) -> Game:
        """As the plain game, with a soft draw."""
        rows, items = batch
        choice = self.rationalizer.choose(rows.inputs)
        noise = torch.rand(choice.margins.shape, generator=step.generator("selection"), device=choice.margins.device)
        logistic = torch.logit(noise.clamp(1e-6, 1 - 1e-6))
        mask = ((choice.margins + logistic) / self.softness).sigmoid() * choice.real
        return Game(rows, choice, mask, mask, self.read(rows, mask), self.gold(items), step)

    def penalty(self, mask: Tensor, choice: Choice) -> Tensor:
        """The KL from the prior, mean over words, and continuity."""
        alpha, p = self.control.alpha, choice.margins.sigmoid().clamp(1e-6, 1 - 1e-6)
        divergence = p * (p / alpha).log() + (1 - p) * ((1 - p) / (1 - alpha)).log()
        mean = (divergence * choice.real).sum() / choice.real.sum().clamp_min(1)
        neighbours = choice.real[:, 1:] & choice.real[:, :-1]
        changes = (mask[:, 1:] - mask[:, :-1]).abs() * neighbours
        return self.prior * mean + self.lambda2 * changes.sum() / neighbours.sum().clamp_min(1)

    def extra(self, game: Game) -> Tensor:
        """How necessary the words are that weigh most, of every example; minus, as it is minimised."""
        if not self.necessity or len(game.gold) != len(game.mask):
            return game.scores.new_zeros(())  # windows of a text have no label of their own
        right = game.gold.unsqueeze(1)
        whole = game.scores.softmax(-1).gather(1, right).squeeze(1).detach()
        allowed = torch.ceil(self.tried * game.choice.real.sum(1))
        order = game.mask.detach().argsort(1, descending=True)
        terms, counted = [], []
        for number in range(math.ceil(self.tried * game.mask.shape[1])):
            place = order[:, number : number + 1]
            counts = (game.mask.detach().gather(1, place).squeeze(1) > _SELECTED) & (number < allowed)
            less = self.read(game.batch, game.mask.scatter(1, place, 0.0)).softmax(-1).gather(1, right).squeeze(1)
            counted.append(counts)
            terms.append(torch.where(counts, (whole - less).clamp_min(0).log1p(), torch.zeros_like(less)))
        if not terms:
            return game.scores.new_zeros(())
        tried = torch.stack(terms)
        return -self.necessity * (tried.sum(0) / torch.stack(counted).sum(0).clamp_min(1)).mean()


_SELECTED = 0.8
