"""CAGE: a causal language model explains, and a classifier reads the explanation before it decides."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import torch
import transformers
from torch import Tensor, nn
from transformers.modeling_outputs import SequenceClassifierOutput

from saywhy.errors import OptionError
from saywhy.models.mpii_building import build_encoder, decoder_words, take_weights
from saywhy.models.sentences import Generated, decided_once, log_likelihood
from saywhy.models.text_transformer import check_shape, head_arguments
from saywhy.ops.randomness import global_seed
from saywhy.types import Example

__all__ = ["CageConfig", "CageForMultipleChoice", "CageForSequenceClassification", "CageNetwork", "build_cage"]

_ASKED, _SAID, _CHOICE, _NOWHERE = range(4)
"""Where a piece comes in a row that the reader is shown: the question, the explanation, the choice, or not at all."""


class CageConfig(transformers.PretrainedConfig):
    """Configuration of a CAGE network.

    Args:
        encoder: configuration of the reader's encoder, with its ``model_type``.
        writer: configuration of the causal language model, which shares the encoder's vocabulary.
        num_choices: the most choices of a question.
        longest: the most pieces of a sentence.
        pretrained: whether the encoder was trained before.
        pad_id, start_id, end_id: pieces that fill up, begin and end a sentence.
    """

    model_type = "saywhy-cage"

    def __init__(
        self,
        encoder: Mapping[str, Any] | None = None,
        writer: Mapping[str, Any] | None = None,
        num_choices: int = 0,
        longest: int = 40,
        pretrained: bool = False,
        pad_id: int = 0,
        start_id: int = 1,
        end_id: int = 2,
        **kwargs: Any,
    ) -> None:
        self.encoder, self.writer = dict(encoder or {}), dict(writer or {})
        self.num_choices, self.longest, self.pretrained = num_choices, longest, pretrained
        self.pad_id, self.start_id, self.end_id = pad_id, start_id, end_id
        super().__init__(**kwargs)


class CageNetwork(transformers.PreTrainedModel):
    """Explain, then predict: the language model reads the input and writes; the reader sees both and decides.

    Reference: Rajani, McCann, Xiong, Socher: Explain Yourself! Leveraging Language Models for Commonsense Reasoning,
    ACL 2019, sections 4.1 and 4.2. The language model goes on from the question and its choices; the reader is shown
    ``[CLS] question [SEP] explanation [SEP] choice [SEP]`` for each choice.

    Departures: the language model is a small one that is trained from scratch, with the reader's vocabulary, and the
    prompt is marked by special pieces where the paper has words ("The choices are ..., my commonsense tells me"). A
    text or a pair of texts is read with the explanation behind it, which the paper does not do.

    The label is decided once the sentence stands, so it does not move from word to word. Gradients flow through what
    the reader sees of the input, with the sentence as it was written.
    """

    config_class = CageConfig
    base_model_prefix = "cage"
    speaks = True
    joint_choices = False

    def __init__(self, config: CageConfig) -> None:
        super().__init__(config)
        self.encoder = transformers.AutoModel.from_config(transformers.AutoConfig.for_model(**config.encoder))
        self.writer = transformers.AutoModelForCausalLM.from_config(transformers.AutoConfig.for_model(**config.writer))
        self.classifier = nn.Linear(self.encoder.config.hidden_size, 1 if self.joint_choices else config.num_labels)
        self.dropout = nn.Dropout(0.1)
        self.post_init()

    @classmethod
    def _can_set_attn_implementation(cls) -> bool:
        """No: its rows hold an explanation besides the input, so that their attention is not the input's."""
        return False

    def _init_weights(self, module: nn.Module) -> None:
        # The two networks inside have drawn their weights by their own rules.
        if module is self.classifier and not getattr(module, "_is_hf_initialized", False):
            self.classifier.reset_parameters()

    def get_input_embeddings(self) -> nn.Module:
        """The reader's table of word vectors."""
        return self.encoder.get_input_embeddings()

    def set_input_embeddings(self, value: nn.Module) -> None:
        """Replace the reader's table of word vectors."""
        self.encoder.set_input_embeddings(value)

    # -- writing -------------------------------------------------------------------------------------------------

    def prompt(self, input_ids: Tensor, attention_mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """The pieces of rows N x L moved to the right, with the start of a sentence behind them, and their mask."""
        real = torch.ones_like(input_ids) if attention_mask is None else (attention_mask > 0).long()
        order = torch.argsort(real, dim=1, stable=True)
        start = torch.full_like(input_ids[:, :1], self.config.start_id)
        return (
            torch.cat([input_ids.gather(1, order), start], dim=1),
            torch.cat([real.gather(1, order), torch.ones_like(start)], dim=1),
        )

    def word_scores(self, ids: Tensor, input_ids: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        """Scores of the pieces N x T x V of sentences ids N x T that are given."""
        read, mask = self.prompt(input_ids, attention_mask)
        known = ids[:, :-1]
        mask = torch.cat([mask, (known != self.config.pad_id).long()], dim=1)
        # Nothing before the start token is predicted: no scores of V pieces are computed there.
        out = self.writer(
            input_ids=torch.cat([read, known], dim=1),
            attention_mask=mask,
            position_ids=_positions(mask),
            logits_to_keep=ids.shape[1],
            use_cache=False,
        )
        return out.logits

    def write(self, input_ids: Tensor, attention_mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """The likeliest pieces N x T, one after the other, and the log-probability (N,) of the sentences."""
        read, mask = self.prompt(input_ids, attention_mask)
        barred = torch.zeros(self.writer.config.vocab_size, dtype=torch.bool, device=read.device)
        barred[[self.config.pad_id, self.config.start_id]] = True
        alive = torch.ones(len(read), dtype=torch.bool, device=read.device)
        past, total, ids = None, torch.zeros(len(read), device=read.device), []
        for step in range(self.config.longest):
            out = self.writer(
                input_ids=read,
                attention_mask=mask,
                position_ids=_positions(mask)[:, -read.shape[1] :],
                past_key_values=past,
                logits_to_keep=1,
                use_cache=True,
            )
            scores = out.logits[:, -1].masked_fill(barred, torch.finfo(out.logits.dtype).min)
            if step == 0:
                scores[:, self.config.end_id] = torch.finfo(scores.dtype).min  # a sentence has at least one word
            chances = scores.log_softmax(-1)
            chosen = chances.argmax(-1)
            total = total + chances.gather(1, chosen.unsqueeze(1)).squeeze(1) * alive
            ids.append(torch.where(alive, chosen, self.config.pad_id))
            alive = alive & (chosen != self.config.end_id)
            if not bool(alive.any()):
                break
            read, past = ids[-1].unsqueeze(1), out.past_key_values
            mask = torch.cat([mask, alive.long().unsqueeze(1)], dim=1)
        return torch.stack(ids, dim=1), total

    # -- reading -------------------------------------------------------------------------------------------------

    def decide(
        self,
        ids: Tensor,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
    ) -> Tensor:
        """Logits N x K of rows N x L with the sentences ids N x T beside them."""
        real = torch.ones_like(input_ids) if attention_mask is None else (attention_mask > 0).long()
        types = torch.zeros_like(input_ids) if token_type_ids is None else token_type_ids * real
        # Its own call of the table, so that whoever replaces the input's vectors replaces these.
        vectors = self.get_input_embeddings()(input_ids)
        # What has no word must not leave a mark: the end stands behind the last one, or alone.
        said = torch.where(ids == self.config.end_id, self.config.pad_id, ids)
        said = torch.cat([said, torch.full_like(ids[:, :1], self.config.end_id)], dim=1)
        heard = nn.functional.embedding(said, cast(nn.Embedding, self.get_input_embeddings()).weight)
        pool = torch.cat([vectors, heard], dim=1)
        spoken = torch.full_like(said, _SAID).masked_fill(said == self.config.pad_id, _NOWHERE)
        if not self.joint_choices:
            places = torch.cat([torch.where(real > 0, _ASKED, _NOWHERE), spoken], dim=1)
            segments = torch.cat([types, torch.ones_like(said)], dim=1)
            return self.classifier(self.dropout(self._first(pool, places, segments)))
        numbers = torch.arange(1, self.config.num_choices + 1, device=types.device)
        present = numbers <= types.amax(1, keepdim=True)
        # A row without any choice decides nothing, but must not have a softmax over nothing.
        present = present | ~present.any(1, keepdim=True)
        asked = ((types == 0) & (real > 0)).unsqueeze(1)
        own = types.unsqueeze(1) == numbers[:, None]
        inputs = torch.where(asked, _ASKED, torch.where(own, _CHOICE, _NOWHERE))
        places = torch.cat([inputs, spoken.unsqueeze(1).expand(-1, len(numbers), -1)], dim=2)
        row, number = present.nonzero(as_tuple=True)
        chosen = places[row, number]
        states = self._first(pool[row], chosen, (chosen == _CHOICE).long())
        logits = pool.new_full(present.shape, -torch.inf)
        return logits.index_put((row, number), self.classifier(self.dropout(states)).squeeze(-1))

    def _first(self, pool: Tensor, places: Tensor, segments: Tensor) -> Tensor:
        """The reader's first state of rows that are put together from a pool of vectors, place after place."""
        order = torch.argsort(places, dim=1, stable=True)
        order = order[:, : max(1, int((places < _NOWHERE).sum(1).max()))]
        inputs: dict[str, Tensor] = {
            "inputs_embeds": pool.gather(1, order.unsqueeze(-1).expand(-1, -1, pool.shape[-1])),
            "attention_mask": (places.gather(1, order) < _NOWHERE).long(),
        }
        if getattr(self.encoder.config, "type_vocab_size", 0) > 1:
            inputs["token_type_ids"] = segments.gather(1, order).clamp_max(1)
        return self.encoder(**inputs).last_hidden_state[:, 0]

    # -- both ----------------------------------------------------------------------------------------------------

    def generate(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        beams: int = 1,
        **_: Any,
    ) -> Generated:
        """Write about rows N x L, then decide."""
        if beams > 1:
            raise OptionError("cage writes the likeliest pieces; beams are for mpii")
        with torch.no_grad():
            ids, total = self.write(input_ids, attention_mask)
        return decided_once(ids, self.decide(ids, input_ids, attention_mask, token_type_ids), total, self.config.pad_id)

    def follow(self, ids: Tensor, **inputs: Any) -> Generated:
        """What is decided about sentences ids N x T that are put into its mouth."""
        scores = self.word_scores(ids, inputs["input_ids"], inputs.get("attention_mask"))
        pad = self.config.pad_id
        return decided_once(ids, self.decide(ids, **inputs), log_likelihood(scores, ids, pad), pad)

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        labels: Tensor | None = None,
        **_: Any,
    ) -> SequenceClassifierOutput:
        """Logits N x K from ids N x L, by way of a sentence; with ``labels`` also the cross-entropy."""
        logits = self.generate(input_ids, attention_mask, token_type_ids).logits
        loss = None if labels is None else nn.functional.cross_entropy(logits, labels)
        return SequenceClassifierOutput(loss=loss, logits=logits)


class CageForSequenceClassification(CageNetwork):
    """A CAGE network for a text or a pair of texts."""


class CageForMultipleChoice(CageNetwork):
    """A CAGE network for questions with choices: the writer sees all of them, the reader one at a time."""

    joint_choices = True


def _positions(mask: Tensor) -> Tensor:
    """Places of the pieces that are there, counted from 0."""
    return (mask.cumsum(1) - 1).clamp_min(0)


def build_cage(
    examples: Sequence[Example],
    task: str,
    labels: Sequence[str],
    seed: int,
    *,
    encoder: str | os.PathLike[str] = "text-transformer",
    encoder_options: Mapping[str, Any] | None = None,
    layers: int = 2,
    width: int = 256,
    heads: int = 4,
    longest: int = 40,
    dropout: float = 0.1,
    max_length: int = 256,
) -> tuple[Any, Any]:
    """A language model that explains, and a classifier that reads the explanation before it decides: CAGE.

    Args:
        examples: the training examples, with explanations in words.
        task: ``text``, ``pair`` or ``choices``.
        labels: names of the classes.
        seed: of the initial weights.
        encoder: of the classifier: ``text-transformer`` (from scratch), ``minilm``, or a folder or hub name.
        encoder_options: of the network that is named as encoder, such as ``{"layers": 4}``.
        layers: blocks of the language model.
        width: size of its states.
        heads: attention heads of a block.
        longest: most pieces of a sentence.
        dropout: share of its activations left out in training.
        max_length: most pieces of an input.

    Returns:
        The network and its tokenizer.
    """
    if task not in ("text", "pair", "choices"):
        raise OptionError(f"cage does text, pair and choices, not {task}")
    check_shape(dropout, layers=layers, width=width, heads=heads, longest=longest, max_length=max_length)
    decoder_words(examples, 5)  # says so where there is nothing to learn from
    kind = CageForMultipleChoice if task == "choices" else CageForSequenceClassification
    # The classifier must have room for the sentence behind the input.
    room = {**(encoder_options or {}), "max_length": max_length + longest + 1}
    # A vocabulary from scratch must know the words of explanations too: they are shown as if they were inputs.
    sentences = [replace(e, texts=(said,) * len(e.texts)) for e in examples for said in e.explanations]
    body, tokenizer, pretrained = build_encoder(encoder, [*examples, *sentences], task, labels, seed, room)
    tokenizer.model_max_length = min(max_length, int(tokenizer.model_max_length) - longest - 1)
    writer = transformers.GPT2Config(
        vocab_size=int(body.config.vocab_size),
        n_positions=tokenizer.model_max_length + longest + 1,
        n_embd=width,
        n_layer=layers,
        n_head=heads,
        resid_pdrop=dropout,
        embd_pdrop=dropout,
        attn_pdrop=dropout,
        initializer_range=width**-0.5,  # small networks learn little from the usual 0.02
        bos_token_id=tokenizer.cls_token_id,
        eos_token_id=tokenizer.sep_token_id,
    )
    _, extra = head_arguments(task, labels)
    config = CageConfig(
        encoder=body.config.to_dict(),
        writer=writer.to_dict(),
        num_choices=max((len(example.choices) for example in examples), default=0),
        longest=longest,
        pretrained=pretrained,
        pad_id=tokenizer.pad_token_id,
        start_id=tokenizer.cls_token_id,
        end_id=tokenizer.sep_token_id,
        **extra,
    )
    with global_seed(seed, "cage"):
        network = kind(config)
    take_weights(network.encoder, body)
    return network, tokenizer


transformers.AutoConfig.register(CageConfig.model_type, CageConfig)
transformers.AutoModelForSequenceClassification.register(CageConfig, CageForSequenceClassification)
transformers.AutoModelForMultipleChoice.register(CageConfig, CageForMultipleChoice)
