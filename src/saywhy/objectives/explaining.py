"""What the objectives that train models to explain in sentences share: gold sentences, their loss, their score."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from saywhy.errors import DataError, OptionError
from saywhy.loop import OptimiserSettings, Phase, Step
from saywhy.models import Batch, TextModel
from saywhy.models.encoding import Encoded
from saywhy.models.sentences import pad_sentences, vocabulary_of
from saywhy.objectives.base import Objective, TrainingBatch, accuracy
from saywhy.ops.batching import length_batches
from saywhy.types import Example

__all__ = ["Explaining", "Lesson", "word_loss"]


@dataclass(frozen=True)
class Lesson:
    """A batch: the rows, the gold sentences N x T, and the gold labels (N,)."""

    batch: Batch
    ids: Tensor
    gold: Tensor


class Explaining(Objective, ABC):
    """Base of the objectives whose models write sentences.

    Of an example's explanations one is drawn whenever it comes up. With a number of ``explanations`` it comes up that
    often, once for each of them.

    Args:
        model: a network that speaks; trained in place.
        optimiser: how it is optimised.
        explanations: how many of an example's explanations are learned, the first ones; one at random each time if
            None.
        decoder_rate: learning rate of everything that was not trained before; a thousandth where the encoder was,
            otherwise the same as the encoder's.
    """

    tasks: ClassVar[tuple[str, ...]] = ("text", "pair", "choices")

    def __init__(
        self,
        model: TextModel,
        optimiser: OptimiserSettings,
        *,
        explanations: int | None = None,
        decoder_rate: float | None = None,
    ) -> None:
        super().__init__(model, optimiser)
        if explanations is not None and explanations < 1:
            raise OptionError(f"explanations must be at least 1, not {explanations}")
        self.vocabulary = vocabulary_of(model)
        self.speaker: Any = model.module
        self.explanations = explanations
        if decoder_rate is None and getattr(self.speaker.config, "pretrained", False):
            decoder_rate = 1e-3
        self.decoder_rate = decoder_rate

    def optimisers(self) -> dict[str, OptimiserSettings]:
        """What was trained before at the given rate, all else at the decoder's."""
        if self.decoder_rate is None:
            return super().optimisers()
        trained = ["encoder."] + (["decoder."] if getattr(self.speaker.config, "pretrained_decoder", False) else [])
        rates = dict.fromkeys(trained, self.optimiser.learning_rate)
        own = replace(self.optimiser, learning_rate=self.decoder_rate, rates=rates)
        return {**dict.fromkeys(self.players, replace(own, rates={})), "model": own}

    def items(self, examples: Sequence[Example], truncation: str) -> list[Encoded]:
        """Examples as the loop keeps them, once, or once for each explanation that is learned."""
        for example in examples:
            if not example.explanations:
                raise DataError(f"{example.where()} has no explanation in words; leave it out, or train plain")
        encoded = super().items(examples, truncation)
        if self.explanations is None:
            return encoded
        return [
            replace(item, example=replace(item.example, explanations=(sentence,)))
            for item in encoded
            for sentence in item.example.explanations[: self.explanations]
        ]

    def lesson(self, batch: TrainingBatch, step: Step | None = None) -> Lesson:
        """The batch with what is to be learned from it; without a step, the first explanations."""
        rows, items = batch
        config = self.speaker.config
        known = [item.example.explanations for item in items]
        chosen = [0] * len(known)
        if step is not None:
            chosen = step.numpy("explanation").integers([len(sentences) for sentences in known]).tolist()
        sentences = [self.vocabulary.encode(some[i]) for some, i in zip(known, chosen, strict=True)]
        ids = pad_sentences(sentences, int(config.pad_id), int(config.longest)).to(self.model.device)
        gold = torch.tensor([self.model.task.gold(item.example) for item in items], device=self.model.device)
        return Lesson(rows, ids, gold)

    def score(self, items: Sequence[Encoded], batch_size: int) -> float:
        """The mean of two shares: of held-out labels that are right, and (geometric) of the gold words' probability.

        By the labels alone the first epoch that has them right would win, whatever it says.
        """
        once = {id(item.rows): item for item in items}
        right = accuracy(self.model, list(once.values()), batch_size)
        return (right + math.exp(-self.surprise(items, batch_size))) / 2

    def surprise(self, items: Sequence[Encoded], batch_size: int) -> float:
        """Mean negative log-likelihood of a gold word, with the sentence before it given."""
        total = count = 0.0
        with self.model.evaluation() as network, torch.no_grad():
            speaker: Any = network
            for some in length_batches([len(item.rows[0]) for item in items], batch_size):
                lesson = self.lesson(self.collate([items[i] for i in some]))
                total -= float(speaker.follow(lesson.ids, **lesson.batch.inputs).log_probability.sum())
                count += float((lesson.ids != speaker.config.pad_id).sum())
        return total / count

    @abstractmethod
    def supervised(self, lesson: Lesson) -> tuple[Tensor, Mapping[str, float | Tensor]]:
        """The loss of gold label and gold sentence, and numbers for the log."""

    def phases(self, batch: TrainingBatch, step: Step) -> Iterator[Phase]:
        """One phase: the gold label and the gold sentence."""
        lesson = self.lesson(batch, step)
        yield Phase(("model",), lambda: self.supervised(lesson))


def word_loss(scores: Tensor, ids: Tensor, pad_id: int) -> Tensor:
    """Mean negative log-likelihood a word of sentences N x T, from scores N x T x V."""
    return F.cross_entropy(scores.flatten(0, 1), ids.flatten(), ignore_index=pad_id)
