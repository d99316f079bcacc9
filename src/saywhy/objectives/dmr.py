"""DMR: what the selected words say and look like is matched to the whole text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from saywhy.errors import OptionError
from saywhy.loop import OptimiserSettings, Phase, Step
from saywhy.models import TextModel
from saywhy.objectives.base import TrainingBatch, objectives
from saywhy.objectives.rationalization import Game, Rationalization
from saywhy.ops.moments import central_moment_discrepancy

__all__ = ["Dmr"]


@objectives.register("dmr", family="rationalisation", tasks=Rationalization.tasks, paper="Huang et al. 2021")
class Dmr(Rationalization):
    """RNP whose predictor matches a teacher that reads everything, and its own features of the whole text.

    Reference: Huang et al.: Distribution Matching for Rationalization, AAAI 2021; on RNP, as VER runs it.

    Departures: one selector that is not told the label, as VER says; the released code has one for each class, told the
    gold label. The teacher learns in a phase of its own beside the game instead of before it. The moments are true
    central moments (the code's are not); both sides are learned. Features are means of the predictor's states, of the
    selection and of the whole text, bounded by tanh. Teacher and labels weigh the same (0.9 and 0.1 in the code).

    Args:
        model: a rationalizer.
        optimiser: of all players.
        match: weight of the teacher's outputs beside the labels, from 0 to 1.
        features: weight of the moments.
        softness: temperature of the teacher's outputs.
        options: as for `saywhy.objectives.rationalization.Rationalization`.
    """

    def __init__(
        self,
        model: TextModel,
        optimiser: OptimiserSettings,
        *,
        match: float = 0.5,
        features: float = 0.01,
        softness: float = 1.0,
        **options: Any,
    ) -> None:
        super().__init__(model, optimiser, **options)
        if not 0 <= match <= 1 or features < 0 or softness <= 0:
            raise OptionError("match is a share from 0 to 1, features not negative, and softness above 0")
        self.match, self.features, self.softness = match, features, softness
        self.teacher = self.fresh_predictor("teacher")
        self.players["teacher"] = self.teacher

    def phases(self, batch: TrainingBatch, step: Step) -> Iterator[Phase]:
        """The teacher's turn, then the game."""
        yield Phase(("teacher",), lambda: self.teacher_loss(batch))
        yield from super().phases(batch, step)

    def teacher_loss(self, batch: TrainingBatch) -> Tensor:
        """Cross-entropy of the teacher, which reads everything."""
        rows, items = batch
        return F.cross_entropy(self.read(rows, self._whole(rows.inputs), self.teacher), self.gold(items))

    def extra(self, game: Game) -> Tensor:
        """What turns the plain cross-entropy into the mixture, and the moments' distance."""
        whole, inputs = self._whole(game.batch.inputs), game.batch.inputs
        with torch.no_grad():
            taught = (self.read(game.batch, whole, self.teacher) / self.softness).softmax(-1)
        mixture = self.match * (F.cross_entropy(game.scores, taught) - game.cross_entropy)
        if not self.features:
            return mixture
        seen, all_of_it = (self.rationalizer.features(inputs, mask).tanh() for mask in (game.shown, whole))
        return mixture + self.features * central_moment_discrepancy(seen, all_of_it)

    def _whole(self, inputs: Any) -> Tensor:
        ids: Tensor = inputs["word_ids"]
        return torch.ones(len(ids), int(ids.max()), device=ids.device)
