"""CAGE: explain first, then predict from the explanation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from saywhy.errors import OptionError
from saywhy.loop import OptimiserSettings, Phase, Step
from saywhy.models import TextModel
from saywhy.models.cage import CageNetwork
from saywhy.objectives.base import TrainingBatch, objectives
from saywhy.objectives.explaining import Explaining, Lesson, word_loss

__all__ = ["Cage"]


@objectives.register("cage", family="sentences", tasks=Explaining.tasks, paper="Rajani et al. 2019")
class Cage(Explaining):
    """MPII's baseline for questions: a language model learns to explain, a classifier to decide by what it reads.

    Reference: Rajani et al. (2019), section 4. The classifier reads explanations in training and afterwards: people's
    while the language model is young, and from ``own_from`` on those that the language model writes.

    Departures: both are trained in one run, where the paper trains the language model first (10 epochs at 1e-6 with
    GPT).

    Args:
        model: a ``cage`` network; trained in place.
        optimiser: how it is optimised.
        own_from: share of the run after which the classifier reads what is written; 1 never, 0 always.
        explanations: how many of an example's explanations are learned; one at random each time if None.
        decoder_rate: learning rate of everything but the classifier's encoder.

    Example:
        >>> model = saywhy.train("cage", data="cose")                                          # doctest: +SKIP
    """

    network: ClassVar[str | None] = "cage"

    def __init__(
        self,
        model: TextModel,
        optimiser: OptimiserSettings,
        *,
        own_from: float = 0.5,
        explanations: int | None = None,
        decoder_rate: float | None = None,
    ) -> None:
        if not isinstance(model.network, CageNetwork):
            raise OptionError("this objective trains the network cage; give model='cage'")
        super().__init__(model, optimiser, explanations=explanations, decoder_rate=decoder_rate)
        if not 0 <= own_from <= 1:
            raise OptionError(f"own_from is a share of the run, not {own_from}")
        self.own_from = own_from

    @property
    def changes_at(self) -> tuple[float, ...]:
        """Where the classifier begins to read what is written."""
        return (self.own_from,)

    def phases(self, batch: TrainingBatch, step: Step) -> Iterator[Phase]:
        """One phase: the words of people, and the label by what is read."""
        lesson = self.lesson(batch, step)
        own = step.progress >= self.own_from
        yield Phase(("model",), lambda: self._taught(lesson, self._written(lesson) if own else lesson.ids))

    def supervised(self, lesson: Lesson) -> tuple[Tensor, Mapping[str, float | Tensor]]:
        """The loss with people's sentences read."""
        return self._taught(lesson, lesson.ids)

    def _taught(self, lesson: Lesson, read: Tensor) -> tuple[Tensor, Mapping[str, float | Tensor]]:
        inputs = lesson.batch.inputs
        scores = self.speaker.word_scores(lesson.ids, inputs["input_ids"], inputs.get("attention_mask"))
        words = word_loss(scores, lesson.ids, int(self.speaker.config.pad_id))
        label = F.cross_entropy(self.speaker.decide(read, **inputs), lesson.gold)
        return words + label, {"words": words.detach(), "label": label.detach()}

    def _written(self, lesson: Lesson) -> Tensor:
        """What the language model would say, as it says it to everybody: without dropout."""
        inputs = lesson.batch.inputs
        with self.model.evaluation(), torch.no_grad():
            ids, _ = self.speaker.write(inputs["input_ids"], inputs.get("attention_mask"))
        return ids
