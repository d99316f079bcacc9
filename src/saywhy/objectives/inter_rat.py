"""Inter-RAT: the labels intervene, so that what merely goes along with one is not taken for its reason."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from torch import nn

from saywhy.loop import OptimiserSettings, Phase, Step
from saywhy.models import TextModel
from saywhy.objectives.base import TrainingBatch, objectives
from saywhy.objectives.rationalization import Rationalization

__all__ = ["InterRat"]


@objectives.register("inter-rat", family="rationalisation", tasks=Rationalization.tasks, paper="Yue et al. 2023")
class InterRat(Rationalization):
    """RNP whose players look at every word and at the rationale together with all labels, weighed by a fixed prior.

    Reference: Yue et al.: Interventional Rationalization, EMNLP 2023: the label is adjusted for, as a confounder. VER
    has it in Table 1. See `saywhy.models.intervention.Intervention`.

    Departures: the prior is even unless given; the released code has 0.05 and 0.95 for the beer reviews, written into
    the source. Sparsity and continuity are the family's own terms, with its weights.

    Args:
        model: a rationalizer.
        optimiser: of all players.
        prior: the share of each label, in the order of the model's labels.
        options: as for `saywhy.objectives.rationalization.Rationalization`.

    Example:
        >>> saywhy.train("inter-rat", data="composed", model_options={"glove": "glove"})        # doctest: +SKIP
    """

    def __init__(
        self,
        model: TextModel,
        optimiser: OptimiserSettings,
        *,
        prior: Sequence[float] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(model, optimiser, **options)
        labels = len(model.labels)
        self.intervention: nn.Module = self.rationalizer.intervene(prior or [1 / labels] * labels)
        self.draw_by_seed("intervention", self.intervention)
        self.players["intervention"] = self.intervention

    def phases(self, batch: TrainingBatch, step: Step) -> Iterator[Phase]:
        """All move together."""
        yield Phase(("selector", "predictor", "intervention"), lambda: self.loss(batch, step))
        self.control.update(step)
