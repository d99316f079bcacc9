"""Recurrent classifiers, GRU and LSTM, over GloVe vectors or vectors of their own."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from contextvars import ContextVar
from typing import Any, cast

import torch
import transformers
from torch import Tensor, nn
from transformers.modeling_outputs import BaseModelOutput, MultipleChoiceModelOutput, SequenceClassifierOutput

from saywhy.errors import OptionError
from saywhy.models.text_transformer import head_arguments
from saywhy.models.word_vectors import read_words
from saywhy.ops.randomness import global_seed
from saywhy.types import Example

__all__ = [
    "RecurrentConfig",
    "RecurrentForMultipleChoice",
    "RecurrentForSequenceClassification",
    "RecurrentModel",
    "both_ways",
    "build_recurrent",
    "keep_pooling",
    "pick_positions",
]


class RecurrentConfig(transformers.PretrainedConfig):
    """Configuration of a recurrent classifier: ``cell`` gru or lstm, ``pooling`` max or attention.

    ``dropout`` is that of the pooled states, and of word vectors too unless ``input_dropout`` says otherwise.
    """

    model_type = "saywhy-recurrent"

    def __init__(
        self,
        vocab_size: int = 1000,
        embedding_size: int = 100,
        hidden_size: int = 100,
        num_hidden_layers: int = 1,
        cell: str = "gru",
        pooling: str = "max",
        dropout: float = 0.2,
        input_dropout: float | None = None,
        freeze_embeddings: bool = False,
        pad_token_id: int = 0,
        **kwargs: Any,
    ) -> None:
        self.vocab_size = vocab_size
        self.embedding_size = embedding_size
        self.hidden_size = hidden_size
        self.num_hidden_layers = num_hidden_layers
        self.cell = cell
        self.pooling = pooling
        self.dropout = dropout
        self.input_dropout = input_dropout
        self.freeze_embeddings = freeze_embeddings
        super().__init__(pad_token_id=pad_token_id, **kwargs)


_kept: ContextVar[list[Tensor] | None] = ContextVar("saywhy_pooling", default=None)


@contextlib.contextmanager
def keep_pooling() -> Iterator[list[Tensor]]:
    """Keep the weights by which networks pool in the forward passes of this thread or task, one rows x L for each.

    Real positions come first, in their order, as they do in batches that are padded at the end.
    """
    kept: list[Tensor] = []
    token = _kept.set(kept)
    try:
        yield kept
    finally:
        _kept.reset(token)


class _Recurrent(transformers.PreTrainedModel):
    """Embeddings, recurrent layers in both directions, pooling over time.

    Padding never reaches a real position: the left-to-right pass comes to it last, and the right-to-left pass runs left
    to right over texts that were turned around by an index. That needs no packed sequences, which are slow on a CPU. A
    position whose attention mask is 0 is passed over wherever it stands, as if its piece had been deleted.
    """

    config_class = RecurrentConfig
    base_model_prefix = "recurrent"

    def __init__(self, config: RecurrentConfig, outputs: int | None) -> None:
        super().__init__(config)
        kind = nn.GRU if config.cell == "gru" else nn.LSTM
        self.embeddings = nn.Embedding(config.vocab_size, config.embedding_size, padding_idx=config.pad_token_id)
        self.embeddings.weight.requires_grad_(not config.freeze_embeddings)
        sizes = [config.embedding_size] + [2 * config.hidden_size] * (config.num_hidden_layers - 1)
        self.rightward = nn.ModuleList(kind(size, config.hidden_size, batch_first=True) for size in sizes)
        self.leftward = nn.ModuleList(kind(size, config.hidden_size, batch_first=True) for size in sizes)
        self.input_dropout = nn.Dropout(config.dropout if config.input_dropout is None else config.input_dropout)
        self.attention: nn.Module | None = None
        if config.pooling == "attention" and outputs is not None:
            self.attention = nn.Sequential(
                nn.Linear(2 * config.hidden_size, config.hidden_size), nn.Tanh(), nn.Linear(config.hidden_size, 1)
            )
        self.dropout = nn.Dropout(config.dropout)
        self.classifier = None if outputs is None else nn.Linear(2 * config.hidden_size, outputs)
        self.post_init()

    def _init_weights(self, module: nn.Module) -> None:
        # Torch's own initial weights suit these layers; what is read from a file must not be drawn again.
        if not getattr(module, "_is_hf_initialized", False) and hasattr(module, "reset_parameters"):
            cast(Any, module).reset_parameters()

    @property
    def pools_by_attention(self) -> bool:
        """Whether `keep_pooling` has something to keep."""
        return self.attention is not None

    def get_input_embeddings(self) -> nn.Module:
        """The table of word vectors."""
        return self.embeddings

    def set_input_embeddings(self, value: nn.Module) -> None:
        """Replace the table of word vectors."""
        self.embeddings = cast(nn.Embedding, value)

    def logits(self, input_ids: Tensor, attention_mask: Tensor | None) -> Tensor:
        """Scores of rows, from ids and a mask of rows x L."""
        assert self.classifier is not None
        hidden, real, _ = self._read(input_ids, attention_mask)
        return self.classifier(self.dropout(self._pool(hidden, real)))

    def states(self, input_ids: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        """The hidden states of all positions, rows x L x 2 hidden; those of padding mean nothing."""
        hidden, _, order = self._read(input_ids, attention_mask)
        return pick_positions(hidden, torch.argsort(order, dim=1))

    def _read(self, input_ids: Tensor, attention_mask: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
        """States with the real positions first, which of them are real, and where each came from."""
        present = torch.ones_like(input_ids, dtype=torch.bool) if attention_mask is None else attention_mask > 0
        hidden = self.input_dropout(self.embeddings(input_ids))
        length = present.sum(1, keepdim=True)
        place = torch.arange(input_ids.shape[1], device=input_ids.device).expand_as(input_ids)
        real = place < length
        # Real positions first, in their order.
        order = torch.argsort((~present).to(torch.int8), dim=1, stable=True)
        hidden = pick_positions(hidden, order)
        for rightward, leftward in zip(self.rightward, self.leftward, strict=True):
            hidden = both_ways(rightward, leftward, hidden, real)
        return hidden, real, order

    def _pool(self, hidden: Tensor, real: Tensor) -> Tensor:
        lowest = torch.finfo(hidden.dtype).min
        if self.attention is not None:
            weights = self.attention(hidden).squeeze(-1).masked_fill(~real, lowest).softmax(-1).masked_fill(~real, 0.0)
            kept = _kept.get()
            if kept is not None:
                kept.append(weights)
            return (weights.unsqueeze(-1) * hidden).sum(1)
        pooled = hidden.masked_fill(~real.unsqueeze(-1), lowest).amax(1)
        # Of a text with nothing in it nothing is known.
        return torch.where(real.any(1, keepdim=True), pooled, torch.zeros_like(pooled))


class RecurrentModel(_Recurrent):
    """A recurrent encoder without a head: a state for every position."""

    def __init__(self, config: RecurrentConfig) -> None:
        super().__init__(config, None)

    def forward(self, input_ids: Tensor, attention_mask: Tensor | None = None, **_: Any) -> BaseModelOutput:
        """States of N x L x 2 hidden from ids of N x L."""
        return BaseModelOutput(last_hidden_state=self.states(input_ids, attention_mask))


class RecurrentForSequenceClassification(_Recurrent):
    """A recurrent classifier of a text or a pair of texts."""

    def __init__(self, config: RecurrentConfig) -> None:
        super().__init__(config, config.num_labels)

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor | None = None, labels: Tensor | None = None, **_: Any
    ) -> SequenceClassifierOutput:
        """Logits of N x classes from ids of N x L; with ``labels`` also the cross-entropy."""
        logits = self.logits(input_ids, attention_mask)
        loss = None if labels is None else nn.functional.cross_entropy(logits, labels)
        return SequenceClassifierOutput(loss=loss, logits=logits)


class RecurrentForMultipleChoice(_Recurrent):
    """A recurrent network that scores each choice of a question."""

    def __init__(self, config: RecurrentConfig) -> None:
        super().__init__(config, 1)

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor | None = None, labels: Tensor | None = None, **_: Any
    ) -> MultipleChoiceModelOutput:
        """Logits of N x choices from ids of N x choices x L; with ``labels`` also the cross-entropy."""
        flat = None if attention_mask is None else attention_mask.flatten(0, 1)
        logits = self.logits(input_ids.flatten(0, 1), flat).view(input_ids.shape[:2])
        loss = None if labels is None else nn.functional.cross_entropy(logits, labels)
        return MultipleChoiceModelOutput(loss=loss, logits=logits)


def both_ways(rightward: nn.Module, leftward: nn.Module, hidden: Tensor, real: Tensor) -> Tensor:
    """What a recurrent layer makes of texts in both directions, rows x L x 2h; ``real`` positions come first."""
    place = torch.arange(hidden.shape[1], device=hidden.device).expand_as(real)
    # Turned around, each text within its own length.
    turned = torch.where(real, real.sum(1, keepdim=True) - 1 - place, place)
    forward, _ = rightward(hidden)
    backward, _ = leftward(pick_positions(hidden, turned))
    return torch.cat([forward, pick_positions(backward, turned)], dim=-1)


def pick_positions(hidden: Tensor, index: Tensor) -> Tensor:
    """The positions ``index`` (rows x L') of hidden states (rows x L x d)."""
    rows, length, size = hidden.shape
    # Whole vectors are moved: `gather` would look up every number of a vector, and take six times as long.
    first = torch.arange(rows, device=index.device).unsqueeze(1) * length
    return hidden.reshape(-1, size).index_select(0, (first + index).flatten()).view(*index.shape, size)


def build_recurrent(
    examples: Sequence[Example],
    task: str,
    labels: Sequence[str],
    seed: int,
    *,
    cell: str = "gru",
    glove: str | os.PathLike[str] | None = None,
    freeze_embeddings: bool | None = None,
    embedding_size: int = 100,
    hidden_size: int = 100,
    layers: int = 1,
    pooling: str = "max",
    dropout: float = 0.2,
    input_dropout: float | None = None,
    vocabulary_size: int = 100_000,
    lower_case: bool = True,
    max_length: int | None = None,
) -> tuple[Any, Any]:
    """A bidirectional recurrent classifier over GloVe vectors, or over vectors of its own.

    Args:
        examples: the training examples; their words make up the vocabulary.
        task: ``text``, ``pair`` or ``choices``.
        labels: names of the classes.
        seed: of the initial weights.
        cell: ``gru`` or ``lstm``.
        glove: a GloVe text file; its ``vocabulary_size`` most frequent words are known besides those of the examples.
            None draws the vectors and trains them.
        freeze_embeddings: keep the vectors as they are; by default those of GloVe are kept and drawn ones are not.
        embedding_size: length of drawn vectors; GloVe's have their own.
        hidden_size: units in each direction.
        layers: recurrent layers.
        pooling: ``max`` over time, or ``attention``.
        dropout: share of vectors' and pooled units left out in training.
        input_dropout: share of the vectors' units, where it is to be another.
        vocabulary_size: how many words are known: of the examples, or of the GloVe file.
        lower_case: read capitals as small letters; GloVe 6B knows no capitals.
        max_length: most words of an input, or None for any number.

    Returns:
        The network and its tokenizer, which splits English contractions as GloVe's does.
    """
    for name, value, known in (("cell", cell, ("gru", "lstm")), ("pooling", pooling, ("attention", "max"))):
        if value not in known:
            raise OptionError(f"unknown {name} {value!r}; known: {', '.join(known)}")
    if task == "span-qa":
        raise OptionError("a recurrent network answers no span-qa; use text-transformer or minilm")
    _, extra = head_arguments(task, labels)
    words = read_words(examples, glove, vocabulary_size=vocabulary_size, lower_case=lower_case)
    tokenizer = words.tokenizer("$A", "$A [SEP] $B", max_length)
    config = RecurrentConfig(
        vocab_size=len(words.tokens),
        embedding_size=words.dimensions or embedding_size,
        hidden_size=hidden_size,
        num_hidden_layers=layers,
        cell=cell,
        pooling=pooling,
        dropout=dropout,
        input_dropout=input_dropout,
        freeze_embeddings=(glove is not None) if freeze_embeddings is None else freeze_embeddings,
        **extra,
    )
    with global_seed(seed, "recurrent"):
        network = (RecurrentForMultipleChoice if task == "choices" else RecurrentForSequenceClassification)(config)
        words.fill(network.embeddings)
    return network, tokenizer


transformers.AutoConfig.register(RecurrentConfig.model_type, RecurrentConfig)
transformers.AutoModel.register(RecurrentConfig, RecurrentModel)
transformers.AutoModelForSequenceClassification.register(RecurrentConfig, RecurrentForSequenceClassification)
transformers.AutoModelForMultipleChoice.register(RecurrentConfig, RecurrentForMultipleChoice)
