"""Decomposable attention: words of two texts are aligned, compared pair by pair, and the comparisons added up."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, cast

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
from saywhy.types import Example

__all__ = [
    "DecomposableAttentionConfig",
    "DecomposableAttentionForSequenceClassification",
    "build_decomposable_attention",
]

# Of words' vectors at the start: the co-attention of equal words is then clear, and not yet saturated.
_LENGTH = 3.0


class DecomposableAttentionConfig(CoAttentionConfig):
    """Configuration of a decomposable attention network."""

    model_type = "saywhy-decomposable-attention"

    def __init__(self, **kwargs: Any) -> None:
        # transformers gives a class without an `__init__` of its own one that does not call its parent's.
        super().__init__(**kwargs)


class DecomposableAttentionForSequenceClassification(CoAttentionForSequenceClassification):
    """Attend, compare, aggregate.

    Reference: Parikh, Täckström, Das, Uszkoreit: A Decomposable Attention Model for Natural Language Inference, EMNLP
    2016, sections 3.1 to 3.3, without the intra-sentence attention of section 3.4, as in AREC.

    Departures:

    - No empty word is put before the texts. No dropout acts on what a word takes from the other text: so the first
      layer of the comparison can be computed for each word before the texts meet, which is most of the work when many
      masks of one pair are asked about.

    The others are for training on thousands of pairs, where the paper has half a million:

    - No dropout on words' vectors: it would make a word differ from itself in the other text. Elsewhere 0.1, where the
      paper has 0.2.
    - Vectors have length 3, where the paper's have 1, so that the softmax tells words apart from the start.
    - The layers start so that similarities are those of the vectors, and equal words leave nothing to compare: see
      `start_aligned`.
    """

    config_class = DecomposableAttentionConfig

    def __init__(self, config: DecomposableAttentionConfig) -> None:
        super().__init__(config)
        size = config.hidden_size
        self.project = nn.Linear(config.embedding_size, size, bias=False)
        self.attend = nn.Sequential(
            nn.Linear(size, size), nn.ReLU(), nn.Dropout(config.dropout), nn.Linear(size, size), nn.ReLU()
        )
        # The first layer of the comparison in two parts, for the word itself and for what it is aligned with.
        self.compare_own = nn.Linear(size, size)
        self.compare_other = nn.Linear(size, size, bias=False)
        # In place: when many masks are asked about, moving these tables takes longer than multiplying them.
        self.compare = nn.Sequential(
            nn.ReLU(inplace=True), nn.Dropout(config.dropout), nn.Linear(size, size), nn.ReLU(inplace=True)
        )
        self.aggregate = nn.Sequential(
            nn.Linear(2 * size, size), nn.ReLU(), nn.Dropout(config.dropout), nn.Linear(size, size), nn.ReLU()
        )
        self.classifier = nn.Linear(size, config.num_labels)
        self.post_init()

    def encode(  # noqa: D102 - as in the base class
        self, premise: Tensor, hypothesis: Tensor, premise_real: Tensor, hypothesis_real: Tensor
    ) -> Sides:
        first, second = self.project(premise), self.project(hypothesis)
        similarity = self.attend(first) @ self.attend(second).transpose(1, 2)
        there, back = co_attention(similarity, premise_real, hypothesis_real)
        own = self.compare_own(first), self.compare_own(second)
        other = self.compare_other(second), self.compare_other(first)
        return Sides(*own, *other, there, back, premise_real, hypothesis_real)

    def start_aligned(self) -> None:
        """Move freshly drawn layers to where words attend to those like them, and are compared by their difference.

        Each attending layer becomes the identity and a tenth of what was drawn; the comparison's weights for what a
        word met become those for the word itself, negated.
        """
        with torch.no_grad():
            for layer in self.attend:
                if isinstance(layer, nn.Linear):
                    layer.weight.mul_(0.1).add_(torch.eye(len(layer.weight), device=layer.weight.device))
            self.compare_other.weight.copy_(-self.compare_own.weight)

    def after(self, sides: Sides, keep: Tensor | None = None) -> Tensor:  # noqa: D102 - as in the base class
        premise, hypothesis = sides.meet(keep)
        return self._decide(sides, premise.unsqueeze(1), hypothesis.unsqueeze(1)).squeeze(1)

    def after_each(self, sides: Sides, keep: Tensor) -> Tensor:  # noqa: D102 - as in the base class
        if self.training:  # with dropout
            return self._decide(sides, *sides.meet(keep))
        last = cast(nn.Linear, self.compare[2])
        layer = last.weight.detach(), last.bias.detach()
        premise = _Compared.apply(keep, sides.to_hypothesis, sides.premise, sides.offered, sides.premise_real, *layer)
        hypothesis = _Compared.apply(
            keep.transpose(2, 3),
            sides.to_premise.transpose(1, 2),
            sides.hypothesis,
            sides.returned,
            sides.hypothesis_real,
            *layer,
        )
        return self.classifier(self.aggregate(torch.cat([premise, hypothesis], dim=-1)))

    def _decide(self, sides: Sides, premise: Tensor, hypothesis: Tensor) -> Tensor:
        """Logits, rows x n x classes, from what the words took under n masks, rows x n x P x e and rows x n x H x e."""
        sums = []
        for own, taken, real in (
            (sides.premise, premise, sides.premise_real),
            (sides.hypothesis, hypothesis, sides.hypothesis_real),
        ):
            words = self.compare(taken.add_(own.unsqueeze(1)))
            # A sum over the words that are there, as a product: masking would copy the whole tensor.
            sums.append((real.to(words.dtype)[:, None, None, :] @ words).squeeze(2))
        return self.classifier(self.dropout(self.aggregate(torch.cat(sums, dim=-1))))


class _Compared(torch.autograd.Function):
    """The sum of the comparisons of a text's words under n masks each, and its gradient with respect to the masks.

    The same as `Sides.meet` and the network's own layers, without gradients of anything else. Tables of all masks,
    words and units take about as long to get and to move as to multiply, so there are as few of them as can be.
    """

    @staticmethod
    def forward(
        ctx: Any, keep: Tensor, attention: Tensor, own: Tensor, offered: Tensor, real: Tensor, *layer: Tensor
    ) -> Tensor:
        rows, masks, height, width = keep.shape
        weight, bias = layer
        tall = (attention.unsqueeze(1) * keep).reshape(rows, masks * height, width)
        first = own.unsqueeze(1).repeat(1, masks, 1, 1).view(rows, masks * height, -1)
        first.baddbmm_(tall, offered).relu_()
        second = torch.addmm(bias, first.flatten(0, 1), weight.t()).relu_()
        ctx.save_for_backward(first, second, attention, offered, real, weight)
        ctx.shape = keep.shape
        there = real.to(first.dtype)[:, None, None, :]
        return (there @ second.view(rows, masks, height, -1)).squeeze(2)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        first, second, attention, offered, real, weight = ctx.saved_tensors
        rows, masks, height, width = ctx.shape
        # Values of rectifiers are 0 or above, so that their sign says where a gradient goes through. It is written over
        # them: torch refuses to come back a second time.
        table = second.sign_().view(rows, masks, height, -1).mul_(grads[0].unsqueeze(2))
        back = (table.flatten(0, 2) @ weight).mul_(first.sign_().flatten(0, 1))
        cells = back.view(rows, masks * height, -1) @ offered.transpose(1, 2)
        there = attention * real.unsqueeze(2)
        return (cells.view(rows, masks, height, width) * there.unsqueeze(1), *[None] * 6)


def build_decomposable_attention(
    examples: Sequence[Example],
    task: str,
    labels: Sequence[str],
    seed: int,
    *,
    glove: str | os.PathLike[str] | None = None,
    freeze_embeddings: bool | None = None,
    embedding_size: int = 100,
    hidden_size: int = 200,
    dropout: float = 0.1,
    vocabulary_size: int = 100_000,
    lower_case: bool = True,
    max_length: int | None = 512,
) -> tuple[Any, Any]:
    """Decomposable attention over GloVe vectors, or over vectors of its own.

    Args:
        examples: the training pairs; their words make up the vocabulary.
        task: ``pair``.
        labels: names of the classes.
        seed: of the initial weights.
        glove: a GloVe text file; its ``vocabulary_size`` most frequent words are known besides those of the examples.
            None draws the vectors and trains them. Either are brought to length 3.
        freeze_embeddings: keep the vectors as they are; by default those of GloVe are kept and drawn ones are not.
        embedding_size: length of drawn vectors; GloVe's have their own.
        hidden_size: units of every layer.
        dropout: share of hidden units left out in training.
        vocabulary_size: how many words are known: of the examples, or of the GloVe file.
        lower_case: read capitals as small letters; GloVe 6B knows no capitals.
        max_length: most words of both texts together, or None for any number; memory grows with its square.

    Returns:
        The network and its tokenizer.
    """
    network, tokenizer = build_co_attention(
        DecomposableAttentionForSequenceClassification,
        DecomposableAttentionConfig,
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
        vector_length=_LENGTH,
        hidden_size=hidden_size,
        dropout=dropout,
    )
    network.start_aligned()
    return network, tokenizer


transformers.AutoConfig.register(DecomposableAttentionConfig.model_type, DecomposableAttentionConfig)
transformers.AutoModelForSequenceClassification.register(
    DecomposableAttentionConfig, DecomposableAttentionForSequenceClassification
)
