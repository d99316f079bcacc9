"""e-InferSent: predict and explain, with one encoder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import torch.nn.functional as F
from torch import Tensor

from saywhy.errors import OptionError
from saywhy.loop import OptimiserSettings
from saywhy.models import TextModel
from saywhy.models.infersent import InfersentForSequenceClassification
from saywhy.objectives.base import objectives
from saywhy.objectives.explaining import Explaining, Lesson, word_loss

__all__ = ["EInfersent"]


@objectives.register("e-infersent", family="sentences", tasks=("text", "pair"), paper="Camburu et al. 2018, e-SNLI")
class EInfersent(Explaining):
    """MPII's second baseline: a recurrent network that predicts a label, and writes a sentence that begins with it.

    Reference: Camburu et al. (2018), section 4.2; 0.6 of the loss is the label's, 0.4 the words'.

    Departures: AdamW as everywhere in saywhy, where the authors use SGD with a rate that shrinks.

    Args:
        model: an ``e-infersent`` network; trained in place.
        optimiser: how it is optimised.
        label_share: share of the label in the loss.
        explanations: how many of an example's explanations are learned; one at random each time if None.

    Example:
        >>> model = saywhy.train("e-infersent", data="esnli")                                  # doctest: +SKIP
    """

    tasks: ClassVar[tuple[str, ...]] = ("text", "pair")
    network: ClassVar[str | None] = "e-infersent"

    def __init__(
        self,
        model: TextModel,
        optimiser: OptimiserSettings,
        *,
        label_share: float = 0.6,
        explanations: int | None = None,
    ) -> None:
        if not isinstance(model.network, InfersentForSequenceClassification):
            raise OptionError("this objective trains the network e-infersent; give model='e-infersent'")
        super().__init__(model, optimiser, explanations=explanations)
        if not 0 <= label_share <= 1:
            raise OptionError(f"label_share must lie between 0 and 1, not at {label_share}")
        self.label_share = label_share

    def supervised(self, lesson: Lesson) -> tuple[Tensor, Mapping[str, float | Tensor]]:
        """The label and, behind its gold word, the words."""
        scores, logits = self.speaker.teach(lesson.ids, lesson.gold, **lesson.batch.inputs)
        words = word_loss(scores, lesson.ids, int(self.speaker.config.pad_id))
        label = F.cross_entropy(logits, lesson.gold)
        loss = self.label_share * label + (1 - self.label_share) * words
        return loss, {"words": words.detach(), "label": label.detach()}
