"""DiffMask over alignments: learn once, on many pairs, which alignments a model needs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

import torch
from torch import Tensor

from saywhy.errors import OptionError
from saywhy.explainers.alignments import Pairs
from saywhy.loop import OptimiserSettings, Phase, Step
from saywhy.models import Encoded, TextModel
from saywhy.models.alignment_space import AlignmentSpace, check_alignments
from saywhy.models.attention_module import attach
from saywhy.models.diffmask import DiffMaskGates
from saywhy.models.embedding_door import look_up
from saywhy.objectives.base import Objective, TrainingBatch, objectives
from saywhy.ops.hard_concrete import HardConcrete
from saywhy.ops.mask_loss import mask_loss

__all__ = ["DiffMask"]


@objectives.register("diffmask", family="explainer", tasks=("pair",), paper="De Cao et al. 2020; AREC, appendix C")
class DiffMask(Objective):
    """Trains gates that select alignments for a model that stays as it is; the method `diffmask` reads them.

    Reference: AREC, appendix C: the losses of AREC, with parameters that a small network makes of the two words' input
    vectors. Give a model that is trained already (``model="runs/nli"``).

    Departures: the original DiffMask has a Lagrangian, another stretch of its distribution, and gates that start open;
    AREC's variant has its own losses, and starts here where AREC does.

    Args:
        model: the model that is explained.
        optimiser: how the gates are optimised.
        lambda_: weight of readability against fidelity; ``lambda`` on the command line and in studies.
        samples: masks sampled for each pair in a step.
        hidden_size: units of the gates' hidden layer.

    Example:
        >>> saywhy.train("diffmask", data="snli", model="runs/da", out="runs/da-diffmask")     # doctest: +SKIP
    """

    tasks: ClassVar[tuple[str, ...]] = ("pair",)

    def __init__(
        self,
        model: TextModel,
        optimiser: OptimiserSettings,
        *,
        lambda_: float = 0.15,
        samples: int = 4,
        hidden_size: int = 64,
    ) -> None:
        super().__init__(model, optimiser)
        check_alignments(model)
        if samples < 1 or hidden_size < 1 or lambda_ < 0:
            raise OptionError(
                f"samples ({samples}) and hidden_size ({hidden_size}) must be above 0, lambda ({lambda_}) at least 0"
            )
        self.weight, self.samples = lambda_, samples
        with torch.no_grad():
            width = look_up(model.module, torch.zeros(1, 1, dtype=torch.long, device=model.device)).shape[-1]
        self._explained = [parameter for parameter in model.module.parameters() if parameter.requires_grad]
        gates = DiffMaskGates(width, hidden_size)
        attach(model.module, gates)
        self.players = {"gates": gates}

    def train_mode(self, training: bool) -> None:
        """Training or evaluation of the gates; while they are trained, the explained network asks for no gradients."""
        super().train_mode(training)
        for parameter in self._explained:
            parameter.requires_grad_(not training)

    def phases(self, batch: TrainingBatch, step: Step) -> Iterator[Phase]:
        """One phase: AREC's losses, mean over the pairs."""
        _, items = batch

        def loss() -> Tensor:
            with self.model.evaluation() as network:
                self.players["gates"].train()
                pairs = self._pairs(network, items)
                shape = (len(items), self.samples, *pairs.real.shape[1:])
                noise = torch.rand(shape, generator=step.generator("gates"), device=step.device)
                return self._loss(pairs, noise.clamp(1e-6, 1 - 1e-6)).mean()

        yield Phase(("gates",), loss)

    def score(self, items: Sequence[Encoded], batch_size: int) -> float:
        """Minus the loss on held-out pairs, with every gate at its median."""
        total = 0.0
        with self.model.evaluation() as network, torch.no_grad():
            for start in range(0, len(items), batch_size):
                pairs = self._pairs(network, items[start : start + batch_size])
                middle = torch.full((len(pairs.group), 1, *pairs.real.shape[1:]), 0.5, device=pairs.device)
                total += float(self._loss(pairs, middle).sum())
        return -total / len(items)

    def _pairs(self, network: torch.nn.Module, items: Sequence[Encoded]) -> Pairs:
        space = AlignmentSpace(self.model, [item.example for item in items], encoded=items)
        return Pairs(space, network, range(len(items)))

    def _loss(self, pairs: Pairs, noise: Tensor) -> Tensor:
        log_alpha = self.players["gates"](*pairs.word_vectors())
        masks = HardConcrete(log_alpha.unsqueeze(1)).sample(noise)
        everything = torch.arange(len(pairs.group), device=pairs.device)
        scores = pairs.scores(everything, masks)
        return mask_loss(pairs.whole, scores, HardConcrete(log_alpha), pairs.real, self.weight).total
