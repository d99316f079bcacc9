"""VER: vicinal evaluation rationalization."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from saywhy.errors import OptionError
from saywhy.loop import OptimiserSettings, Step
from saywhy.models import TextModel
from saywhy.models.word_selector import Choice
from saywhy.objectives.base import objectives
from saywhy.objectives.rationalization import Rationalization
from saywhy.ops.rationales import COUNTS, disturb_selection

__all__ = ["Ver"]


@objectives.register("ver", family="rationalisation", tasks=Rationalization.tasks, paper="VER")
class Ver(Rationalization):
    """RNP, but the predictor reads a neighbour of the selection: some selected words are exchanged for others.

    So it learns to judge more than what the selector happens to select, the right words included. Sparsity and
    continuity are those of the selection itself, and nothing is exchanged at test time.

    Reference: VER, section 4.4 and Algorithm 1.

    Departures: ``count="exact"``, text by text, is the paper's; the released code puts the batch's mean number of words
    into every text, which is ``count="batch-mean"``.

    Args:
        model: a rationalizer.
        optimiser: how its players are optimised.
        rate: probability p with which a selected word is dropped for another.
        count: ``exact`` or ``batch-mean``.
        options: as for `saywhy.objectives.rationalization.Rationalization`.

    Example:
        >>> saywhy.train("ver", data="composed", model_options={"glove": "glove"}, rate=0.3)    # doctest: +SKIP
    """

    def __init__(
        self,
        model: TextModel,
        optimiser: OptimiserSettings,
        *,
        rate: float = 0.3,
        count: str = "exact",
        **options: Any,
    ) -> None:
        super().__init__(model, optimiser, **options)
        if not 0 <= rate <= 1:
            raise OptionError(f"rate is a probability from 0 to 1, not {rate}")
        if count not in COUNTS:
            raise OptionError(f"unknown count {count!r}; use one of {', '.join(COUNTS)}")
        self.rate, self.count = rate, count

    def shown(self, mask: Tensor, choice: Choice, step: Step) -> Tensor:
        """The selection with some of its words exchanged."""
        generator = step.generator("perturbation")
        return disturb_selection(mask, choice.real, self.rate, count=self.count, generator=generator)
