"""e-InferSent: a recurrent network that predicts, and explains what it predicted."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, cast

import torch
import transformers
from torch import Tensor, nn
from transformers.modeling_outputs import SequenceClassifierOutput

from saywhy.errors import OptionError
from saywhy.models.mpii_building import decoder_words
from saywhy.models.recurrent import build_recurrent, pick_positions
from saywhy.models.sentences import SPECIAL_WORDS, UNKNOWN, Generated, decided_once, log_likelihood
from saywhy.models.text_transformer import check_shape, head_arguments
from saywhy.ops.randomness import global_seed
from saywhy.types import Example

__all__ = ["InfersentConfig", "InfersentForSequenceClassification", "build_infersent"]


class InfersentConfig(transformers.PretrainedConfig):
    """Configuration of an e-InferSent network; ``words`` is the decoder's vocabulary."""

    model_type = "saywhy-e-infersent"

    def __init__(
        self,
        vocab_size: int = 1000,
        embedding_size: int = 100,
        hidden_size: int = 256,
        decoder_size: int = 256,
        dropout: float = 0.5,
        words: list[str] | None = None,
        separator: int = 3,
        freeze_embeddings: bool = False,
        longest: int = 40,
        pad_token_id: int = 0,
        **kwargs: Any,
    ) -> None:
        self.vocab_size, self.embedding_size = vocab_size, embedding_size
        self.hidden_size, self.decoder_size, self.dropout = hidden_size, decoder_size, dropout
        self.words, self.separator, self.freeze_embeddings = list(words or []), separator, freeze_embeddings
        self.longest, self.pretrained = longest, False
        self.pad_id, self.start_id, self.end_id = 0, 1, 2
        super().__init__(pad_token_id=pad_token_id, **kwargs)


class InfersentForSequenceClassification(transformers.PreTrainedModel):
    """Two texts read apart by one bidirectional LSTM, max-pooled and compared; an LSTM writes, knowing the label.

    Reference: Camburu et al. (2018), e-SNLI, section 4.2 (PredictAndExplain); Conneau et al. (2017), InferSent. The
    features are [u, v, |u - v|, u * v]; the label's word comes before the sentence: the gold one in training, the
    predicted one afterwards.

    Departures: the sizes are options (2 x 2048 and 512 in the paper).
    """

    config_class = InfersentConfig
    base_model_prefix = "infersent"
    speaks = True

    def __init__(self, config: InfersentConfig) -> None:
        super().__init__(config)
        size = 2 * config.hidden_size
        self.embeddings = nn.Embedding(config.vocab_size, config.embedding_size, padding_idx=config.pad_token_id)
        self.embeddings.weight.requires_grad_(not config.freeze_embeddings)
        self.encoder = nn.LSTM(config.embedding_size, config.hidden_size, batch_first=True, bidirectional=True)
        self.classifier = nn.Sequential(
            nn.Linear(4 * size, config.decoder_size), nn.Linear(config.decoder_size, config.num_labels)
        )
        # Labels are words too, behind the others.
        self.written = nn.Embedding(len(config.words) + config.num_labels, config.embedding_size)
        self.entry = nn.Linear(config.embedding_size + 4 * size, config.decoder_size)
        self.first = nn.Linear(2 * size, config.decoder_size)
        self.decoder = nn.LSTM(config.decoder_size, config.decoder_size, batch_first=True)
        self.head = nn.Linear(config.decoder_size, len(config.words))
        self.dropout = nn.Dropout(config.dropout)
        self.post_init()

    def _init_weights(self, module: nn.Module) -> None:
        if not getattr(module, "_is_hf_initialized", False) and hasattr(module, "reset_parameters"):
            cast(Any, module).reset_parameters()

    def get_input_embeddings(self) -> nn.Module:
        """The table of word vectors."""
        return self.embeddings

    def set_input_embeddings(self, value: nn.Module) -> None:
        """Replace the table of word vectors."""
        self.embeddings = cast(nn.Embedding, value)

    def features(self, input_ids: Tensor, attention_mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """[u, v, |u - v|, u * v] and [u, v] of rows N x L; of one text alone v is u."""
        present = torch.ones_like(input_ids, dtype=torch.bool) if attention_mask is None else attention_mask > 0
        vectors = self.embeddings(input_ids)
        breaks = ((input_ids == self.config.separator) & present).long().cumsum(1)
        first = present & (breaks == 0)
        second = present & (breaks > 0) & (input_ids != self.config.separator)
        u = self._sentence(vectors, first)
        v = torch.where(second.any(1, keepdim=True), self._sentence(vectors, second), u)
        return torch.cat([u, v, (u - v).abs(), u * v], dim=-1), torch.cat([u, v], dim=-1)

    def _sentence(self, vectors: Tensor, mask: Tensor) -> Tensor:
        # Its words moved to the front, so that a packed sequence can leave the rest out.
        order = torch.argsort((~mask).to(torch.int8), dim=1, stable=True)
        moved = pick_positions(vectors, order)
        lengths = mask.sum(1)
        packed = nn.utils.rnn.pack_padded_sequence(
            moved, lengths.clamp_min(1).cpu(), batch_first=True, enforce_sorted=False
        )
        hidden, _ = nn.utils.rnn.pad_packed_sequence(self.encoder(packed)[0], batch_first=True)
        real = torch.arange(hidden.shape[1], device=hidden.device) < lengths.unsqueeze(1)
        pooled = hidden.masked_fill(~real.unsqueeze(-1), torch.finfo(hidden.dtype).min).amax(1)
        return torch.where((lengths > 0).unsqueeze(1), pooled, torch.zeros_like(pooled))

    def label_words(self, labels: Tensor) -> Tensor:
        """The words that stand for labels."""
        return labels + len(self.config.words)

    def teach(self, ids: Tensor, labels: Tensor, **inputs: Any) -> tuple[Tensor, Tensor]:
        """Scores of the words N x T x V behind the labels' words, and logits N x K."""
        compared, both = self.features(inputs["input_ids"], inputs.get("attention_mask"))
        logits = self.classifier(compared)
        read = torch.cat([self.label_words(labels).unsqueeze(1), ids[:, :-1]], dim=1)
        scores, _ = self._write(read, compared, self._begin(both))
        return scores, logits

    def _begin(self, both: Tensor) -> tuple[Tensor, Tensor]:
        state = self.first(both).unsqueeze(0)
        return state, state

    def _write(self, read: Tensor, compared: Tensor, state: Any) -> tuple[Tensor, Any]:
        context = compared.unsqueeze(1).expand(-1, read.shape[1], -1)
        hidden, state = self.decoder(self.entry(torch.cat([self.written(read), context], dim=-1)), state)
        return self.head(self.dropout(hidden)), state

    def generate(self, input_ids: Tensor, attention_mask: Tensor | None = None, beams: int = 1, **_: Any) -> Generated:
        """Predict, then write greedily what the predicted label's word begins."""
        if beams > 1:
            raise OptionError("e-infersent writes the likeliest words; beams are for mpii")
        compared, both = self.features(input_ids, attention_mask)
        logits = self.classifier(compared)
        word, state = self.label_words(logits.argmax(-1)), self._begin(both)
        alive = torch.ones(len(word), dtype=torch.bool, device=word.device)
        total, ids = logits.new_zeros(len(word)), []
        barred = torch.zeros(len(self.config.words), dtype=torch.bool, device=word.device)
        barred[[self.config.pad_id, self.config.start_id, SPECIAL_WORDS.index(UNKNOWN)]] = True
        for _step in range(self.config.longest):
            scores, state = self._write(word.unsqueeze(1), compared, state)
            chances = scores[:, 0].masked_fill(barred, torch.finfo(scores.dtype).min).log_softmax(-1)
            word = chances.argmax(-1)
            total = total + chances.gather(1, word.unsqueeze(1)).squeeze(1) * alive
            ids.append(torch.where(alive, word, self.config.pad_id))
            alive = alive & (word != self.config.end_id)
            if not bool(alive.any()):
                break
        return decided_once(torch.stack(ids, dim=1), logits, total, self.config.pad_id)

    def follow(self, ids: Tensor, **inputs: Any) -> Generated:
        """The label does not hear what is said: it stays, whatever is put into its mouth."""
        compared, both = self.features(inputs["input_ids"], inputs.get("attention_mask"))
        logits = self.classifier(compared)
        read = torch.cat([self.label_words(logits.argmax(-1)).unsqueeze(1), ids[:, :-1]], dim=1)
        scores, _ = self._write(read, compared, self._begin(both))
        pad = self.config.pad_id
        return decided_once(ids, logits, log_likelihood(scores, ids, pad), pad)

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor | None = None, labels: Tensor | None = None, **_: Any
    ) -> SequenceClassifierOutput:
        """Logits N x K from ids N x L; with ``labels`` also the cross-entropy."""
        logits = self.classifier(self.features(input_ids, attention_mask)[0])
        loss = None if labels is None else nn.functional.cross_entropy(logits, labels)
        return SequenceClassifierOutput(loss=loss, logits=logits)


def build_infersent(
    examples: Sequence[Example],
    task: str,
    labels: Sequence[str],
    seed: int,
    *,
    glove: str | os.PathLike[str] | None = None,
    embedding_size: int = 100,
    hidden_size: int = 256,
    decoder_size: int = 256,
    vocabulary_size: int = 5000,
    lower_case_words: bool = False,
    longest: int = 40,
    dropout: float = 0.5,
) -> tuple[Any, Any]:
    """A recurrent network that predicts, and explains what it predicted: e-InferSent.

    Args:
        examples: the training examples; the decoder's words are those of their explanations.
        task: ``text`` or ``pair``.
        labels: names of the classes.
        seed: of the initial weights.
        glove: a GloVe text file, whose vectors stay as they are; None draws the vectors and trains them.
        embedding_size: length of drawn vectors.
        hidden_size: units of the encoder in each direction (2048 in the paper).
        decoder_size: units of the decoder and of the classifier (512 in the paper).
        vocabulary_size: most words of the decoder.
        lower_case_words: whether it writes small letters only.
        longest: most words of a sentence.
        dropout: share of the decoder's states left out in training.

    Returns:
        The network and its tokenizer.
    """
    if task not in ("text", "pair"):
        raise OptionError(f"e-infersent reads a text or a pair of texts, not {task}")
    check_shape(
        dropout,
        embedding_size=embedding_size,
        hidden_size=hidden_size,
        decoder_size=decoder_size,
        vocabulary_size=vocabulary_size,
        longest=longest,
    )
    source, tokenizer = build_recurrent(
        examples, task, labels, seed, cell="lstm", glove=glove, embedding_size=embedding_size, hidden_size=8
    )
    _, extra = head_arguments(task, labels)
    config = InfersentConfig(
        vocab_size=source.config.vocab_size,
        embedding_size=source.config.embedding_size,
        hidden_size=hidden_size,
        decoder_size=decoder_size,
        dropout=dropout,
        words=list(decoder_words(examples, vocabulary_size, lower_case_words).table),
        separator=tokenizer.sep_token_id,
        freeze_embeddings=glove is not None,
        longest=longest,
        **extra,
    )
    with global_seed(seed, "e-infersent"):
        network = InfersentForSequenceClassification(config)
    network.embeddings.load_state_dict(source.embeddings.state_dict())
    return network, tokenizer


transformers.AutoConfig.register(InfersentConfig.model_type, InfersentConfig)
transformers.AutoModelForSequenceClassification.register(InfersentConfig, InfersentForSequenceClassification)
