"""ESIM: texts read by recurrent layers before and after they meet."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import torch
import transformers
from torch import Tensor, nn

from saywhy.models.co_attention import (
    CoAttentionConfig,
    CoAttentionForSequenceClassification,
    Sides,
    build_co_attention,
    co_attention,
)
from saywhy.models.recurrent import both_ways
from saywhy.types import Example

__all__ = ["EsimConfig", "EsimForSequenceClassification", "build_esim"]


class EsimConfig(CoAttentionConfig):
    """Configuration of an ESIM network."""

    model_type = "saywhy-esim"

    def __init__(self, **kwargs: Any) -> None:
        # transformers gives a class without an `__init__` of its own one that does not call its parent's.
        super().__init__(**kwargs)


class EsimForSequenceClassification(CoAttentionForSequenceClassification):
    """The sequential inference model: a BiLSTM, co-attention, a BiLSTM over what each word met, and pooling.

    Reference: Chen, Zhu, Ling, Wei, Jiang, Inkpen: Enhanced LSTM for Natural Language Inference, ACL 2017, section 3
    (equations 1 to 20), without its tree LSTM.

    Departures: 100 units by default, where the paper has 300; vectors of a file stay as they are, where the paper
    trains them; no dropout on words' vectors, which would make a word differ from itself in the other text; no packed
    sequences, see `both_ways`.
    """

    config_class = EsimConfig

    def __init__(self, config: EsimConfig) -> None:
        super().__init__(config)
        size = config.hidden_size
        self.read_right = nn.LSTM(config.embedding_size, size, batch_first=True)
        self.read_left = nn.LSTM(config.embedding_size, size, batch_first=True)
        self.project = nn.Sequential(nn.Linear(8 * size, size), nn.ReLU())
        self.compose_right = nn.LSTM(size, size, batch_first=True)
        self.compose_left = nn.LSTM(size, size, batch_first=True)
        self.aggregate = nn.Sequential(nn.Linear(8 * size, size), nn.Tanh())
        self.classifier = nn.Linear(size, config.num_labels)
        self.post_init()

    def encode(  # noqa: D102 - as in the base class
        self, premise: Tensor, hypothesis: Tensor, premise_real: Tensor, hypothesis_real: Tensor
    ) -> Sides:
        first = both_ways(self.read_right, self.read_left, premise, premise_real)
        second = both_ways(self.read_right, self.read_left, hypothesis, hypothesis_real)
        there, back = co_attention(first @ second.transpose(1, 2), premise_real, hypothesis_real)
        return Sides(first, second, second, first, there, back, premise_real, hypothesis_real)

    def after(self, sides: Sides, keep: Tensor | None = None) -> Tensor:  # noqa: D102 - as in the base class
        taken = sides.meet(keep)
        pooled = [
            *self._pooled(sides.premise, taken[0], sides.premise_real),
            *self._pooled(sides.hypothesis, taken[1], sides.hypothesis_real),
        ]
        return self.classifier(self.dropout(self.aggregate(self.dropout(torch.cat(pooled, dim=1)))))

    def _pooled(self, own: Tensor, taken: Tensor, real: Tensor) -> tuple[Tensor, Tensor]:
        """The mean and the maximum over the words of what is made of them and of what they took."""
        met = self.dropout(self.project(torch.cat([own, taken, own - taken, own * taken], dim=-1)))
        read = both_ways(self.compose_right, self.compose_left, met, real)
        there = real.unsqueeze(-1)
        mean = read.masked_fill(~there, 0.0).sum(1) / real.sum(1, keepdim=True).clamp_min(1)
        highest = read.masked_fill(~there, torch.finfo(read.dtype).min).amax(1)
        # Of a text with nothing in it nothing is known.
        return mean, torch.where(real.any(1, keepdim=True), highest, torch.zeros_like(highest))


def build_esim(
    examples: Sequence[Example],
    task: str,
    labels: Sequence[str],
    seed: int,
    *,
    glove: str | os.PathLike[str] | None = None,
    freeze_embeddings: bool | None = None,
    embedding_size: int = 100,
    hidden_size: int = 100,
    dropout: float = 0.3,
    vocabulary_size: int = 100_000,
    lower_case: bool = True,
    max_length: int | None = 512,
) -> tuple[Any, Any]:
    """ESIM, an LSTM network with co-attention, over GloVe vectors, or over vectors of its own.

    Args:
        examples: the training pairs; their words make up the vocabulary.
        task: ``pair``.
        labels: names of the classes.
        seed: of the initial weights.
        glove: a GloVe text file; its ``vocabulary_size`` most frequent words are known besides those of the examples.
            None draws the vectors and trains them.
        freeze_embeddings: keep the vectors as they are; by default those of GloVe are kept and drawn ones are not.
        embedding_size: length of drawn vectors; GloVe's have their own.
        hidden_size: units of every layer, in each direction where it is recurrent.
        dropout: share of hidden units left out in training.
        vocabulary_size: how many words are known: of the examples, or of the GloVe file.
        lower_case: read capitals as small letters; GloVe 6B knows no capitals.
        max_length: most words of both texts together, or None for any number; memory grows with its square.

    Returns:
        The network and its tokenizer.
    """
    return build_co_attention(
        EsimForSequenceClassification,
        EsimConfig,
        examples,
        task,
        labels,
        seed,
        glove=glove,
        freeze_embeddings=freeze_embeddings,
        embedding_size=embedding_size,
        vocabulary_size=vocabulary_size,
        lower_case=lower_case,
        max_length=max_length,
        hidden_size=hidden_size,
        dropout=dropout,
    )


transformers.AutoConfig.register(EsimConfig.model_type, EsimConfig)
transformers.AutoModelForSequenceClassification.register(EsimConfig, EsimForSequenceClassification)
