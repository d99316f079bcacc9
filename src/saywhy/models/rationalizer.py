"""Rationalizers: a selector picks words, and a predictor reads nothing but these.

`RationalizerForSequenceClassification` is made of two players. ``network.selector`` reads the text and gives each word
two logits, left out and selected (`choose`). ``network.predictor`` is any sequence classifier; it reads the text with
the embeddings of all other words multiplied by zero (`predict`). Objectives put whatever they like in between: RNP a
draw of the selector's distribution, VER a disturbed one. Without an objective, in `forward`, the likelier choice is
taken, so that a trained rationalizer is a classifier like any other, and its selection is its explanation.

The two speak of *words*, not of pieces: a word's logits are the mean of those of its pieces, and all its pieces are
kept or left out together. Special tokens, and words of the fields in an example's ``meta["fixed"]`` (a question, a
claim), are read by both players, and never left out, counted or selected.
"""

from __future__ import annotations

import contextlib
import inspect
import os
from collections.abc import Mapping, Sequence
from typing import Any, cast

import torch
import transformers
from torch import Tensor, nn
from transformers.modeling_outputs import SequenceClassifierOutput

from saywhy.errors import OptionError
from saywhy.models.embedding_door import look_up, replace_embeddings
from saywhy.models.intervention import Intervention
from saywhy.models.minilm import pretrained_with_head
from saywhy.models.tasks import sequence_logits
from saywhy.models.text_transformer import head_arguments
from saywhy.models.word_selector import Choice, Selector, accepted_inputs, hidden_states
from saywhy.ops.randomness import global_seed
from saywhy.ops.rationales import take_top
from saywhy.types import Example

__all__ = [
    "Rationalizer",
    "RationalizerConfig",
    "RationalizerForSequenceClassification",
    "build_rationalizer",
    "piece_mask",
]

SELECTIONS = ("likelier", "top")


class RationalizerConfig(transformers.PretrainedConfig):
    """Configuration of a rationalizer.

    ``encoder`` is the configuration of both players' encoders, ``dropout`` that of the selector's head.
    ``shared_encoder``: the selector reads the predictor's states instead of its own (FR). ``selection``: ``likelier``
    takes every word whose logit is above the selector's threshold (0: that is more likely selected than not), ``top``
    the ``share`` of each text's words that is likeliest. ``prior``: of the labels, where they intervene (Inter-RAT).
    """

    model_type = "saywhy-rationalizer"

    def __init__(
        self,
        encoder: Mapping[str, Any] | None = None,
        dropout: float = 0.2,
        shared_encoder: bool = False,
        selection: str = "likelier",
        share: float = 0.15,
        prior: Sequence[float] | None = None,
        **kwargs: Any,
    ) -> None:
        self.prior = None if prior is None else list(prior)
        self.encoder = dict(encoder) if encoder is not None else {"model_type": "saywhy-recurrent"}
        self.dropout = dropout
        self.shared_encoder = shared_encoder
        self.selection = selection
        self.share = share
        self.max_position_embeddings = self.encoder.get("max_position_embeddings") or self.encoder.get("n_positions")
        for name in ("pad_token_id", "bos_token_id", "eos_token_id"):
            kwargs.setdefault(name, self.encoder.get(name))
        # Frozen word vectors are the same in both players: one table is enough.
        kwargs["tie_word_embeddings"] = bool(self.encoder.get("freeze_embeddings")) and not shared_encoder
        super().__init__(**kwargs)

    def encoder_config(self) -> Any:
        """The encoders' configuration as transformers has it."""
        given = {key: value for key, value in self.encoder.items() if key != "transformers_version"}
        return transformers.AutoConfig.for_model(**given)


class RationalizerForSequenceClassification(transformers.PreTrainedModel):
    """A selector and a predictor.

    Reference: Lei, Barzilay, Jaakkola: Rationalizing Neural Predictions, EMNLP 2016; VER, section 3. Over GRUs the
    shapes are those of VER's released code.

    Departures: a word is left out by multiplying its embedding by zero, as in the paper, also under a transformer,
    where its position stays visible.
    """

    config_class = RationalizerConfig
    base_model_prefix = "rationalizer"
    _tied_weights_keys: dict[str, str] | None = {  # noqa: RUF012 - as transformers declares it
        "selector.encoder.embeddings.weight": "predictor.embeddings.weight"
    }

    def __init__(self, config: RationalizerConfig) -> None:
        super().__init__(config)
        if config.selection not in SELECTIONS:
            raise OptionError(f"unknown selection {config.selection!r}; use one of {', '.join(SELECTIONS)}")
        inner = config.encoder_config()
        inner.id2label, inner.label2id = config.id2label, config.label2id
        self.selector = Selector(config.encoder_config(), config.dropout, own_encoder=not config.shared_encoder)
        self.predictor = transformers.AutoModelForSequenceClassification.from_config(inner)
        self.intervention: Intervention | None = None
        if config.prior is not None:
            self.intervene(config.prior)
        if config.shared_encoder:
            self._tied_weights_keys = None
        self.post_init()

    def _init_weights(self, module: nn.Module) -> None:
        if not getattr(module, "_is_hf_initialized", False) and hasattr(module, "reset_parameters"):
            cast(Any, module).reset_parameters()

    def get_input_embeddings(self) -> nn.Module:
        """The predictor's table of word vectors: gradients explain what it made of the selection."""
        return self.predictor.get_input_embeddings()

    def set_input_embeddings(self, value: nn.Module) -> None:
        """Replace the predictor's table of word vectors."""
        self.predictor.set_input_embeddings(value)

    def share_encoder(self) -> None:
        """Give up the selector's own encoder: from now on it reads the predictor's states."""
        self.config.shared_encoder = True
        self.config.tie_word_embeddings = False
        self.selector.encoder = None
        self._tied_weights_keys = None
        self.all_tied_weights_keys: dict[str, str] = {}

    def intervene(self, prior: Sequence[float]) -> Intervention:
        """Let the labels, with a prior, have a say in what both players say."""
        if len(prior) != self.config.num_labels:
            raise OptionError(f"prior has {len(prior)} shares; there are {self.config.num_labels} labels")
        size, weights = self.selector.head.in_features, self.selector.head.weight
        self.intervention = Intervention(size, prior, dropout=self.config.dropout).to(weights.device, weights.dtype)
        self.config.prior = list(prior)
        return self.intervention

    def choose(self, inputs: Mapping[str, Any], selector: Selector | None = None) -> Choice:
        """What the selector says about rows; another selector may stand in for it, such as an attacker."""
        states = hidden_states(self.predictor, inputs) if self.config.shared_encoder and selector is None else None
        chosen: Choice = (selector or self.selector)(inputs, self._word_ids(inputs), states, self.intervention)
        return chosen

    def predict(
        self,
        inputs: Mapping[str, Any],
        mask: Tensor,
        predictor: nn.Module | None = None,
        words: Tensor | None = None,
    ) -> Tensor:
        """Logits N x K of rows of which only the words in a mask N x W are read; degrees and gradients are allowed.

        Another classifier over the same pieces may stand in for the predictor, such as a second one of an objective,
        and other ids N x L for those that are read.
        """
        reader = predictor or self.predictor
        with self._masked(reader, inputs, mask, words):
            if self.intervention is None:
                return sequence_logits(reader, accepted_inputs(reader, inputs), _lengths(inputs))
            return self.intervention.predict(hidden_states(reader, inputs) * _real(inputs), mask)

    def features(self, inputs: Mapping[str, Any], mask: Tensor, predictor: nn.Module | None = None) -> Tensor:
        """The mean of a predictor's states over a row, N x d, where only the words in a mask are read."""
        reader = predictor or self.predictor
        with self._masked(reader, inputs, mask, None):
            states = hidden_states(reader, inputs)
        real = _real(inputs)
        return (states * real).sum(1) / real.sum(1).clamp_min(1)

    def _masked(
        self, reader: nn.Module, inputs: Mapping[str, Any], mask: Tensor, words: Tensor | None
    ) -> contextlib.AbstractContextManager[None]:
        ids = inputs["input_ids"]
        keep = piece_mask(self._word_ids(inputs), mask)
        return replace_embeddings(reader, ids, look_up(reader, ids if words is None else words) * keep.unsqueeze(-1))

    def select(self, choice: Choice) -> Tensor:
        """The words that are selected where nothing is drawn, N x W of 0 and 1."""
        if self.config.selection == "top":
            return take_top(choice.margins, choice.real, self.config.share)
        return (choice.margins > choice.threshold).to(choice.logits.dtype) * choice.real

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        position_ids: Tensor | None = None,
        word_ids: Tensor | None = None,
        selection: Tensor | None = None,
        labels: Tensor | None = None,
        **_: Any,
    ) -> SequenceClassifierOutput:
        """Logits of N x classes from ids of N x L, read off the selected words.

        Args:
            input_ids: N x L.
            attention_mask: N x L, 0 at padding.
            token_type_ids: N x L, where the encoder has types.
            position_ids: N x L, where they are given.
            word_ids: N x L, the word of each piece from 1, 0 for what always stays; without it every piece is a word.
            selection: N x W, the words to read; chosen if None.
            labels: N; with them the loss is the cross-entropy.
        """
        given = {
            "input_ids": input_ids,
            "attention_mask": attention_mask,
            "token_type_ids": token_type_ids,
            "position_ids": position_ids,
            "word_ids": word_ids,
        }
        inputs = {name: value for name, value in given.items() if value is not None}
        if selection is None:
            selection = self.select(self.choose(inputs))
        logits = self.predict(inputs, selection)
        loss = None if labels is None else nn.functional.cross_entropy(logits, labels)
        return SequenceClassifierOutput(loss=loss, logits=logits)

    def _word_ids(self, inputs: Mapping[str, Any]) -> Tensor:
        given = inputs.get("word_ids")
        if given is not None:
            return cast(Tensor, given)
        real = inputs.get("attention_mask")
        present = torch.ones_like(inputs["input_ids"]) if real is None else (real > 0).long()
        return present.cumsum(1) * present


Rationalizer = RationalizerForSequenceClassification


def piece_mask(word_ids: Tensor, mask: Tensor) -> Tensor:
    """From words N x W to pieces N x L; pieces of no word are kept."""
    return torch.cat([mask.new_ones(len(mask), 1), mask], dim=1).gather(1, word_ids)


def _lengths(inputs: Mapping[str, Any]) -> Tensor:
    mask = inputs.get("attention_mask")
    ids: Tensor = inputs["input_ids"]
    return torch.full((len(ids),), ids.shape[1], device=ids.device) if mask is None else (mask > 0).sum(1)


def _real(inputs: Mapping[str, Any]) -> Tensor:
    """Where a row is no padding, N x L x 1."""
    place = torch.arange(inputs["input_ids"].shape[1], device=inputs["input_ids"].device)
    return (place < _lengths(inputs).unsqueeze(1)).unsqueeze(-1)


def build_rationalizer(
    examples: Sequence[Example],
    task: str,
    labels: Sequence[str],
    seed: int,
    *,
    encoder: str | os.PathLike[str] = "gru",
    glove: str | os.PathLike[str] | None = None,
    dropout: float = 0.2,
    encoder_options: Mapping[str, Any] | None = None,
) -> tuple[Any, Any]:
    """A selector and a predictor over GRUs with GloVe vectors, or over any transformer.

    Args:
        examples: the training examples; their words make up the vocabulary of encoders from scratch.
        task: ``text`` or ``pair``.
        labels: names of the classes.
        seed: of the initial weights.
        encoder: ``gru``, ``lstm``, ``text-transformer``, ``minilm``, or the folder or hub name of an encoder.
        glove: for ``gru`` and ``lstm``: a GloVe text file, or a folder that holds one.
        dropout: share of the selector's states left out in training.
        encoder_options: of the network that is named as encoder, such as ``{"hidden_size": 50}``.

    Returns:
        The network and its tokenizer.
    """
    from saywhy.models.networks import networks

    if task not in ("text", "pair"):
        raise OptionError(f"a rationalizer reads a text or a pair of texts, not {task}")
    name, options = os.fspath(encoder), dict(encoder_options or {})
    recurrent = name in ("gru", "lstm")
    if recurrent:
        options = {"glove": glove, "input_dropout": 0.0, "dropout": dropout, **options}
    elif glove is not None:
        raise OptionError(f"glove goes with the encoders gru and lstm; {name!r} has its own vectors")
    if name == "rationalizer":
        raise OptionError("a rationalizer cannot be the encoder of another")
    if name in networks:
        known = {
            p.name for p in inspect.signature(networks[name].value).parameters.values() if p.kind is p.KEYWORD_ONLY
        }
        unknown = sorted(set(options) - known)
        if unknown:
            raise OptionError(f"encoder {name!r} has no option {', '.join(unknown)}; it has {', '.join(sorted(known))}")
        built, tokenizer = networks[name].value(examples, task, labels, seed, **options)
    elif options:
        raise OptionError("encoder_options go with an encoder's name, not with a folder or a hub name")
    else:
        built, tokenizer = pretrained_with_head(name, task, labels, seed)
    _, extra = head_arguments(task, labels)
    config = RationalizerConfig(encoder=built.config.to_dict(), dropout=dropout, **extra)
    with global_seed(seed, "rationalizer"):
        network = Rationalizer(config)
    network.predictor.load_state_dict(built.state_dict())
    body = network.selector.encoder
    assert body is not None
    if recurrent:
        body.embeddings.load_state_dict(built.embeddings.state_dict())
    else:
        # What was learned before is good for both; a pooler that only one of them has is not.
        body.load_state_dict(built.base_model.state_dict(), strict=False)
    network.tie_weights()
    return network, tokenizer


transformers.AutoConfig.register(RationalizerConfig.model_type, RationalizerConfig)
transformers.AutoModelForSequenceClassification.register(RationalizerConfig, RationalizerForSequenceClassification)
