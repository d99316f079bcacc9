"""MPII: train a network to decide and to explain, each helping the other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from saywhy.errors import OptionError
from saywhy.loop import OptimiserSettings
from saywhy.models import TextModel
from saywhy.models.mpii import MpiiNetwork
from saywhy.objectives.base import objectives
from saywhy.objectives.explaining import Explaining, Lesson, word_loss

__all__ = ["Mpii"]


@objectives.register("mpii", family="sentences", tasks=Explaining.tasks, paper="MPII")
class Mpii(Explaining):
    """The label and the sentence that grow together: stepwise integration, learned from gold labels and sentences.

    Reference: MPII, sections 2.2 and 2.3. The loss is the negative log-likelihood of the words plus the cross-entropy
    of the label after the last word, and of the label before the first one. The ablations of Table 1 are options of
    the network (``integration``).

    Departures: the cross-entropy of the first label (``start_weight``) is an option that is off in the released code. A
    gold sentence gives the label away, so without it the label that the first words are written by is never learned.

    Args:
        model: an ``mpii`` network; trained in place.
        optimiser: how it is optimised.
        label_weight: weight of the label after the last word.
        start_weight: weight of the label before the first word.

    Example:
        >>> model = saywhy.train("mpii", data="esnli", model="mpii")                           # doctest: +SKIP
        >>> saywhy.explain(model, ("People walk.", "People sit."), method="sentence").sentence   # doctest: +SKIP
        'People cannot walk and sit at the same time .'
    """

    network: ClassVar[str | None] = "mpii"

    def __init__(
        self,
        model: TextModel,
        optimiser: OptimiserSettings,
        *,
        label_weight: float = 1.0,
        start_weight: float = 1.0,
        explanations: int = 1,
        decoder_rate: float | None = None,
    ) -> None:
        if not isinstance(model.network, MpiiNetwork):
            raise OptionError("this objective trains the network mpii; give model='mpii'")
        super().__init__(model, optimiser, explanations=explanations, decoder_rate=decoder_rate)
        if min(label_weight, start_weight) < 0:
            raise OptionError("label_weight and start_weight must not be negative")
        self.label_weight, self.start_weight = label_weight, start_weight

    def supervised(self, lesson: Lesson) -> tuple[Tensor, Mapping[str, float | Tensor]]:
        """Words, final label and first label."""
        scores, steps = self.speaker.teach(lesson.ids, **lesson.batch.inputs)
        pad = int(self.speaker.config.pad_id)
        words = word_loss(scores, lesson.ids, pad)
        ends = (lesson.ids != pad).sum(1)
        last = F.cross_entropy(steps[torch.arange(len(ends), device=ends.device), ends], lesson.gold)
        first = F.cross_entropy(steps[:, 0], lesson.gold)
        loss = words + self.label_weight * last + self.start_weight * first
        numbers = {"words": words.detach(), "label": last.detach(), "first-label": first.detach()}
        return loss, numbers
