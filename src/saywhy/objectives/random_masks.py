"""A predictor that learned from words drawn at random, and a selector that must please it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from saywhy.errors import OptionError
from saywhy.loop import OptimiserSettings, Phase, Step
from saywhy.models import TextModel
from saywhy.models.encoding import Encoded
from saywhy.objectives.base import TrainingBatch, objectives
from saywhy.objectives.rationalization import Rationalization

__all__ = ["RandomMasks"]


@objectives.register("random-masks", family="rationalisation", tasks=Rationalization.tasks, paper="VER, Figure 6")
class RandomMasks(Rationalization):
    """First the predictor alone, on words drawn anew at every step; then it is frozen, and the selector learns.

    Reference: VER, section 4.3 and Figure 6: no selector misleads such a predictor, yet it judges rationales badly.

    Departures: both halves are one run, so that ``first`` times the epochs are the predictor's; only the selector's
    epochs compete for being kept. ``anneal`` is counted over the whole run.

    Args:
        model: a rationalizer.
        optimiser: of both players.
        first: share of the steps in which the predictor learns.
        drawn: probability with which a word is drawn in these.
        options: as for `saywhy.objectives.rationalization.Rationalization`.
    """

    def __init__(
        self,
        model: TextModel,
        optimiser: OptimiserSettings,
        *,
        first: float = 0.5,
        drawn: float = 0.125,
        **options: Any,
    ) -> None:
        super().__init__(model, optimiser, **options)
        if not 0 < first < 1 or not 0 < drawn <= 1:
            raise OptionError(f"first and drawn are shares above 0, and first is below 1; not {first} and {drawn}")
        self.first, self.drawn = first, drawn
        self._selecting = False

    def phases(self, batch: TrainingBatch, step: Step) -> Iterator[Phase]:
        """One player's turn, by where the run is."""
        self._selecting = step.progress >= self.first
        if not self._selecting:
            yield Phase(("predictor",), lambda: self.predictor_loss(batch, step))
        else:
            yield Phase(("selector",), lambda: self.loss(batch, step))
        self.control.update(step)

    def predictor_loss(self, batch: TrainingBatch, step: Step) -> Tensor:
        """Cross-entropy on words drawn at random."""
        rows, items = batch
        ids: Tensor = rows.inputs["word_ids"]
        draws = torch.rand(len(ids), int(ids.max()), generator=step.generator("random-masks"), device=ids.device)
        return F.cross_entropy(self.read(rows, (draws < self.drawn).float()), self.gold(items))

    def score(self, items: Sequence[Encoded], batch_size: int) -> tuple[float, Mapping[str, float]]:
        """As in every game; below all others until the selector has begun to learn."""
        score, facts = super().score(items, batch_size)
        return (score if self._selecting else min(score, 0.0) - 2), facts

    def state(self) -> dict[str, Any]:
        """Where the game is."""
        return super().state() | {"selecting": self._selecting}

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Take it back."""
        super().load_state(state)
        self._selecting = bool(state.get("selecting", True))
