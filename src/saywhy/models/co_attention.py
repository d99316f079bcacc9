"""What networks with co-attention share: two texts apart, each word of one held against the words of the other."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, cast

import torch
import transformers
from torch import Tensor, nn
from transformers.modeling_outputs import SequenceClassifierOutput

from saywhy.errors import OptionError
from saywhy.models.recurrent import pick_positions
from saywhy.models.text_transformer import head_arguments
from saywhy.models.word_vectors import read_words
from saywhy.ops.randomness import global_seed
from saywhy.types import Example

__all__ = [
    "CoAttentionConfig",
    "CoAttentionForSequenceClassification",
    "Sides",
    "build_co_attention",
    "co_attention",
]


class CoAttentionConfig(transformers.PretrainedConfig):
    """Configuration of a classifier of pairs with co-attention."""

    def __init__(
        self,
        vocab_size: int = 1000,
        embedding_size: int = 100,
        hidden_size: int = 200,
        dropout: float = 0.2,
        freeze_embeddings: bool = False,
        pad_token_id: int = 0,
        **kwargs: Any,
    ) -> None:
        self.vocab_size = vocab_size
        self.embedding_size = embedding_size
        self.hidden_size = hidden_size
        self.dropout = dropout
        self.freeze_embeddings = freeze_embeddings
        super().__init__(pad_token_id=pad_token_id, **kwargs)


@dataclass(frozen=True)
class Sides:
    """Two texts just before they meet; none of it depends on a mask of their alignments.

    Attributes:
        premise, hypothesis: what the next layer needs of each word by itself, rows x P x d and rows x H x d.
        offered: what the words of the hypothesis offer to the premise, rows x H x e.
        returned: what those of the premise offer to the hypothesis, rows x P x e.
        to_hypothesis: the co-attention of premise words, rows x P x H; sums to 1 over the hypothesis.
        to_premise: that of hypothesis words, rows x P x H; sums to 1 over the premise.
        premise_real, hypothesis_real: which of the places hold a word, rows x P and rows x H.
    """

    premise: Tensor
    hypothesis: Tensor
    offered: Tensor
    returned: Tensor
    to_hypothesis: Tensor
    to_premise: Tensor
    premise_real: Tensor
    hypothesis_real: Tensor

    def pick(self, rows: Tensor) -> Sides:
        """These rows, which may be repeated."""
        return Sides(**{f.name: getattr(self, f.name).index_select(0, rows) for f in fields(self)})

    def meet(self, keep: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """What each word takes from the other text: rows x P x e and rows x H x e.

        Reference: AREC, equations 2 and 3 and section 3.2: the mask ``keep`` (rows x P x H) multiplies both tables
        after the softmax, and nothing is normalised again.

        Given n masks of each row, rows x n x P x H, they are rows x n x P x e and rows x n x H x e.
        """
        there, back = self.to_hypothesis, self.to_premise
        if keep is None:
            return there @ self.offered, back.transpose(1, 2) @ self.returned
        if keep.ndim == 3:
            return (there * keep) @ self.offered, (back * keep).transpose(1, 2) @ self.returned
        # The masks of a row are one tall matrix: the row's own vectors are read once for all of them.
        rows, masks, height, width = keep.shape
        tall = (there.unsqueeze(1) * keep).view(rows, masks * height, width)
        flat = (back.unsqueeze(1) * keep).transpose(2, 3).reshape(rows, masks * width, height)
        return (
            (tall @ self.offered).view(rows, masks, height, -1),
            (flat @ self.returned).view(rows, masks, width, -1),
        )


class CoAttentionForSequenceClassification(transformers.PreTrainedModel):
    """Base of the classifiers of pairs whose two texts meet in one table of co-attention.

    A row holds both texts; the type of a position says to which it belongs. Positions whose attention mask is 0 are
    passed over wherever they stand. The two halves of the forward pass, `before` and `after` the texts meet, can be
    called by themselves: whoever asks about many masks of one pair needs the first half once.
    """

    base_model_prefix = "co_attention"
    co_attends = True

    def __init__(self, config: CoAttentionConfig) -> None:
        super().__init__(config)
        self.embeddings = nn.Embedding(config.vocab_size, config.embedding_size, padding_idx=config.pad_token_id)
        self.embeddings.weight.requires_grad_(not config.freeze_embeddings)
        self.dropout = nn.Dropout(config.dropout)

    def _init_weights(self, module: nn.Module) -> None:
        # What is read from a file must not be drawn again.
        if getattr(module, "_is_hf_initialized", False) or not hasattr(module, "reset_parameters"):
            return
        cast(Any, module).reset_parameters()
        if isinstance(module, nn.Linear):
            # Torch's own are so small that all words look alike, and the co-attention learns nothing for a long time.
            nn.init.xavier_uniform_(module.weight)
            if module.bias is not None:
                nn.init.zeros_(module.bias)

    def get_input_embeddings(self) -> nn.Module:
        """The table of word vectors."""
        return self.embeddings

    def set_input_embeddings(self, value: nn.Module) -> None:
        """Replace the table of word vectors."""
        self.embeddings = cast(nn.Embedding, value)

    @abstractmethod
    def encode(self, premise: Tensor, hypothesis: Tensor, premise_real: Tensor, hypothesis_real: Tensor) -> Sides:
        """The two texts up to where they meet, from their words' vectors, rows x P x d and rows x H x d."""

    @abstractmethod
    def after(self, sides: Sides, keep: Tensor | None = None) -> Tensor:
        """Logits, rows x classes, of texts whose alignments are kept to the degree ``keep``, rows x P x H."""

    def after_each(self, sides: Sides, keep: Tensor) -> Tensor:
        """Logits, rows x n x classes, of texts under n masks each, rows x n x P x H; gradients go to the masks only."""
        rows, masks = keep.shape[:2]
        every = torch.arange(rows, device=keep.device).repeat_interleave(masks)
        return self.after(sides.pick(every), keep.flatten(0, 1)).view(rows, masks, -1)

    def before(
        self, input_ids: Tensor, attention_mask: Tensor | None = None, token_type_ids: Tensor | None = None
    ) -> Sides:
        """Both texts of rows of L ids up to where they meet."""
        real = torch.ones_like(input_ids, dtype=torch.bool) if attention_mask is None else attention_mask > 0
        second = torch.zeros_like(real) if token_type_ids is None else token_type_ids > 0
        # No dropout here: with other dimensions left out at each place, a word would differ from itself elsewhere.
        hidden = self.embeddings(input_ids)
        parts = [_gathered(hidden, real & own) for own in (~second, second)]
        return self.encode(parts[0][0], parts[1][0], parts[0][1], parts[1][1])

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        labels: Tensor | None = None,
        **_: Any,
    ) -> SequenceClassifierOutput:
        """Logits of N x classes from ids of N x L; with ``labels`` also the cross-entropy."""
        logits = self.after(self.before(input_ids, attention_mask, token_type_ids))
        loss = None if labels is None else nn.functional.cross_entropy(logits, labels)
        return SequenceClassifierOutput(loss=loss, logits=logits)


def _gathered(hidden: Tensor, own: Tensor) -> tuple[Tensor, Tensor]:
    """The vectors of one text, moved to the front, and which places hold one; at least one place."""
    count = own.sum(1)
    width = max(1, int(count.max()))
    order = torch.argsort((~own).to(torch.int8), dim=1, stable=True)[:, :width]
    return pick_positions(hidden, order), torch.arange(width, device=own.device) < count.unsqueeze(1)


def co_attention(similarity: Tensor, premise_real: Tensor, hypothesis_real: Tensor) -> tuple[Tensor, Tensor]:
    """Softmax over the hypothesis and over the premise of similarities, rows x P x H; 0 where there is no word.

    Reference: AREC, equation 2.
    """
    allowed = premise_real.unsqueeze(2) & hypothesis_real.unsqueeze(1)
    scores = similarity.masked_fill(~allowed, torch.finfo(similarity.dtype).min)
    # Where a whole text is missing the softmax is even; nothing is attended to then.
    there, back = (scores.softmax(dim).masked_fill(~allowed, 0.0) for dim in (2, 1))
    return there, back


def build_co_attention(
    kind: type[CoAttentionForSequenceClassification],
    config: type[CoAttentionConfig],
    examples: Sequence[Example],
    task: str,
    labels: Sequence[str],
    seed: int,
    *,
    glove: str | os.PathLike[str] | None,
    freeze_embeddings: bool | None,
    embedding_size: int,
    vocabulary_size: int,
    lower_case: bool,
    max_length: int | None,
    vector_length: float | None = None,
    **sizes: Any,
) -> tuple[Any, Any]:
    """A network of that kind and its tokenizer; the options are those of its own builder.

    With ``vector_length`` all words' vectors start with that length.
    """
    if task != "pair":
        raise OptionError(f"co-attention is between two texts; for task {task!r} use text-transformer, gru or minilm")
    _, extra = head_arguments(task, labels)
    words = read_words(examples, glove, vocabulary_size=vocabulary_size, lower_case=lower_case)
    made = config(
        vocab_size=len(words.tokens),
        embedding_size=words.dimensions or embedding_size,
        freeze_embeddings=(glove is not None) if freeze_embeddings is None else freeze_embeddings,
        **sizes,
        **extra,
    )
    with global_seed(seed, made.model_type):
        network = kind(made)
        words.fill(network.embeddings)
    if vector_length is not None:
        with torch.no_grad():
            rows = network.embeddings.weight
            rows.copy_(nn.functional.normalize(rows, dim=1) * vector_length)
    return network, words.tokenizer("$A", "$A $B:1", max_length, type_ids=True)
