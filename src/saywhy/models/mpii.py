"""MPII: a network that decides and explains in one breath, word by word."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import torch
import transformers
from torch import Tensor, nn
from transformers.modeling_outputs import SequenceClassifierOutput

from saywhy.errors import OptionError
from saywhy.models.beam import beam_search
from saywhy.models.greedy import greedy_search
from saywhy.models.sentences import SPECIAL_WORDS, UNKNOWN, Generated, log_likelihood
from saywhy.models.stepwise import INTEGRATIONS, ChoiceLabels, ClassLabels, Memory, StepwiseIntegration

__all__ = ["FEEDBACKS", "MpiiConfig", "MpiiForMultipleChoice", "MpiiForSequenceClassification", "MpiiNetwork"]

FEEDBACKS = ("token", "soft")
CHOICE_STATES = ("joint", "pooled")
LEAVING = 0.85
"""Rows whose sentences have ended are dropped when this share is left: each time costs a little, too."""


class MpiiConfig(transformers.PretrainedConfig):
    """Configuration of an MPII network.

    Args:
        encoder: configuration of the encoder, with its ``model_type``.
        decoder: configuration of the decoder, MBart's or that of the sequence-to-sequence model it was taken from.
        words: the decoder's own vocabulary; empty where the encoder's pieces are written.
        integration: ``full``, or what is left of it in an ablation.
        feedback: what is fed back while it writes: the likeliest ``token``, or the ``soft`` mixture of all.
        choice_states: with choices: ``joint``, one logit a place, or ``pooled``, a state for each choice.
        num_choices: the most choices of a question.
        longest: the most words of a sentence.
        pretrained: whether the encoder was trained before.
        pretrained_decoder: whether the decoder was, too.
    """

    model_type = "saywhy-mpii"

    def __init__(
        self,
        encoder: Mapping[str, Any] | None = None,
        decoder: Mapping[str, Any] | None = None,
        words: list[str] | None = None,
        integration: str = "full",
        feedback: str = "token",
        choice_states: str = "joint",
        num_choices: int = 0,
        longest: int = 40,
        pretrained: bool = False,
        pretrained_decoder: bool = False,
        pad_id: int = 0,
        start_id: int = 1,
        end_id: int = 2,
        **kwargs: Any,
    ) -> None:
        for name, value, known in (
            ("integration", integration, INTEGRATIONS),
            ("feedback", feedback, FEEDBACKS),
            ("choice_states", choice_states, CHOICE_STATES),
        ):
            if value not in known:
                raise OptionError(f"unknown {name} {value!r}; use one of {', '.join(known)}")
        self.encoder, self.decoder = dict(encoder or {}), dict(decoder or {})
        self.words = list(words or [])
        self.integration, self.feedback, self.choice_states = integration, feedback, choice_states
        self.num_choices, self.longest = num_choices, longest
        self.pretrained, self.pretrained_decoder = pretrained, pretrained_decoder
        self.pad_id, self.start_id, self.end_id = pad_id, start_id, end_id
        self.max_position_embeddings = self.encoder.get("max_position_embeddings")
        super().__init__(**kwargs)


class MpiiNetwork(transformers.PreTrainedModel):
    """An encoder, a decoder that writes an explanation, and a label that moves with every word of it.

    Reference: MPII, section 2.2, and its released decoder. The decoder is transformers' own, with its cache: MBart's
    from scratch, which normalises first as the released one does, or that of a pretrained sequence-to-sequence model.

    Departures: the likeliest word is fed back (equation 6), where the released code feeds the mixture of all
    (``feedback="soft"``); a sentence has at least one word; positions do not restart with the hypothesis, since an
    encoder may be anybody's.
    """

    config_class = MpiiConfig
    base_model_prefix = "mpii"
    reads_by = "encoder"
    speaks = True
    joint_choices = False
    _supports_sdpa = True
    _supports_attention_backend = True

    def __init__(self, config: MpiiConfig) -> None:
        super().__init__(config)
        self.encoder = _encoder(config.encoder)
        self.decoder = _decoder(config.decoder)
        width = self.decoder.config.d_model
        size = getattr(self.encoder.config, "hidden_size", width)
        self.bridge = nn.Identity() if size == width else nn.Sequential(nn.Linear(size, width), nn.LayerNorm(width))
        self.word_bias = nn.Parameter(torch.zeros(self.decoder.config.vocab_size))
        labels: ClassLabels | ChoiceLabels
        if self.joint_choices and config.choice_states == "pooled":
            labels = ChoiceLabels(width)
        else:
            labels = ClassLabels(config.num_choices if self.joint_choices else config.num_labels, width)
        self.integration = StepwiseIntegration(labels, width, config.integration)
        self.post_init()

    def _init_weights(self, module: nn.Module) -> None:
        # Torch's own initial weights suit the small layers; what is read from a file must not be drawn again.
        if not getattr(module, "_is_hf_initialized", False) and hasattr(module, "reset_parameters"):
            cast(Any, module).reset_parameters()

    def get_input_embeddings(self) -> nn.Module:
        """The encoder's table of word vectors."""
        return self.encoder.get_input_embeddings()

    def set_input_embeddings(self, value: nn.Module) -> None:
        """Replace the encoder's table of word vectors."""
        self.encoder.set_input_embeddings(value)

    # -- reading -------------------------------------------------------------------------------------------------

    def read(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        position_ids: Tensor | None = None,
    ) -> Memory:
        """Run the encoder on ids N x L."""
        mask = torch.ones_like(input_ids) if attention_mask is None else attention_mask
        inputs = {"input_ids": input_ids, "attention_mask": mask}
        if token_type_ids is not None and getattr(self.encoder.config, "type_vocab_size", 0) > 1:
            inputs["token_type_ids"] = token_type_ids
        if position_ids is not None:
            inputs["position_ids"] = position_ids
        hidden = self.bridge(self.encoder(**inputs).last_hidden_state)
        if not self.joint_choices:
            return Memory(hidden, mask, hidden[:, 0])
        types = torch.zeros_like(input_ids) if token_type_ids is None else token_type_ids * (mask > 0)
        places = torch.arange(1, self.config.num_choices + 1, device=types.device)
        inside = (types.unsqueeze(1) == places[:, None]).to(hidden.dtype)
        count = inside.sum(-1, keepdim=True)
        pooled = (inside @ hidden) / count.clamp_min(1.0)
        present = places <= types.amax(1, keepdim=True)
        # A row without any choice decides nothing, but must not have a softmax over nothing.
        present = present | ~present.any(1, keepdim=True)
        return Memory(hidden, mask, hidden[:, 0], pooled, present)

    # -- one step ------------------------------------------------------------------------------------------------

    def embed(self, ids: Tensor) -> Tensor:
        """Vectors of written words."""
        return self.decoder.embed_tokens(ids)

    def starting(self, memory: Memory) -> tuple[Tensor, Tensor]:
        """The label before the first word, N x K, and the vector of the start token, N x d."""
        start = torch.full((len(memory.hidden),), self.config.start_id, device=memory.hidden.device)
        return self.integration.labels.first(memory), self.embed(start)

    def step(self, memory: Memory, logits: Tensor, word: Tensor, past: Any) -> tuple[Tensor, Tensor, Any]:
        """Read a word's vector N x d in the light of the label; gives the next words' scores and the moved label."""
        hidden, logits, past = self._advance(memory, logits, word, past)
        return self.word_scores(hidden), logits, past

    def _advance(self, memory: Memory, logits: Tensor, word: Tensor, past: Any) -> tuple[Tensor, Tensor, Any]:
        fused = self.integration.fuse(logits, word, memory)
        out = self.decode(memory, fused.unsqueeze(1), past, use_cache=True)
        hidden = out.last_hidden_state[:, -1]
        return hidden, self.integration.move(logits, hidden, memory), out.past_key_values

    def word_scores(self, hidden: Tensor) -> Tensor:
        """Scores of all words from decoder states, ... x V; the table of word vectors is used both ways."""
        return nn.functional.linear(hidden, self.decoder.embed_tokens.weight, self.word_bias)

    def decode(self, memory: Memory, vectors: Tensor, past: Any, use_cache: bool) -> Any:
        """Run the decoder on vectors N x T x d behind what it has in its cache."""
        return self.decoder(
            inputs_embeds=vectors,
            encoder_hidden_states=memory.hidden,
            encoder_attention_mask=memory.mask,
            past_key_values=past,
            use_cache=use_cache,
        )

    # -- whole sentences -----------------------------------------------------------------------------------------

    def teach(self, ids: Tensor, **inputs: Any) -> tuple[Tensor, Tensor]:
        """Scores of the words N x T x V and of the label N x (T + 1) x K, with the sentences ids N x T given."""
        hidden, steps = self.states(self.read(**inputs), ids)
        return self.word_scores(hidden), steps

    def states(self, memory: Memory, ids: Tensor) -> tuple[Tensor, Tensor]:
        """The decoder's states N x T x d and the label's scores N x (T + 1) x K, with the sentences ids N x T given.

        Where the label does not move while it feeds the words, or does not feed them, all words are read at once;
        otherwise rows leave as their sentences end. The states behind an end mean nothing; the label stays.
        """
        logits, start = self.starting(memory)
        vectors = torch.cat([start.unsqueeze(1), self.embed(ids[:, :-1])], dim=1)
        part = self.integration
        if part.informs_words and part.informs_label:
            return self._states_by_step(memory, logits, vectors, (ids != self.config.pad_id).sum(1))
        hidden = self.decode(memory, part.fuse(logits, vectors, memory), None, use_cache=False).last_hidden_state
        steps = [logits]
        for t in range(ids.shape[1]):
            going = (ids[:, t] != self.config.pad_id).unsqueeze(1)
            logits = torch.where(going, part.move(logits, hidden[:, t], memory), logits)
            steps.append(logits)
        return hidden, memory.masked_steps(steps)

    def _states_by_step(
        self, memory: Memory, logits: Tensor, vectors: Tensor, lengths: Tensor
    ) -> tuple[Tensor, Tensor]:
        """As `states`, from the words' vectors N x T x d and the sentences' lengths (N,)."""
        lengths, order = lengths.sort(descending=True, stable=True)
        back = order.argsort()
        left, logits, vectors = memory.select(order), logits[order], vectors[order]
        past: Any = None
        steps, states, rows = [logits], [], len(order)
        for t in range(vectors.shape[1]):
            going = max(int((lengths > t).sum()), 1)
            if past is not None and going <= LEAVING * rows:
                # The longest sentences come first, so what is left is a slice, which needs no copy.
                rows, left = going, left.select(slice(going))
                past.batch_select_indices(slice(going))
            hidden, moved, past = self._advance(left, logits[:rows], vectors[:rows, t], past)
            logits = torch.cat([moved[:going], logits[going:]])
            states.append(torch.cat([hidden, hidden.new_zeros(len(order) - rows, hidden.shape[1])]))
            steps.append(logits)
        return torch.stack(states, dim=1)[back], memory.masked_steps([one[back] for one in steps])

    def follow(self, ids: Tensor, **inputs: Any) -> Generated:
        """What the label becomes when the sentences ids N x T are put into its mouth."""
        scores, steps = self.teach(ids, **inputs)
        lengths = (ids != self.config.pad_id).sum(1)
        final = steps[torch.arange(len(ids), device=ids.device), lengths]
        return Generated(ids, lengths, final, steps, log_likelihood(scores, ids, self.config.pad_id))

    def generate(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        position_ids: Tensor | None = None,
        *,
        beams: int = 1,
        feedback: str | None = None,
        longest: int | None = None,
        cache: bool = True,
        sample: torch.Generator | None = None,
        keep_chances: bool = False,
    ) -> Generated:
        """Decide and write about ids N x L.

        Args:
            input_ids: N x L.
            attention_mask: N x L, 0 at padding.
            token_type_ids: N x L; with choices the number of the choice.
            position_ids: N x L, where they are given.
            beams: sentences that are kept at every step; 1 is greedy.
            feedback: ``token`` or ``soft``; as configured if None.
            longest: the most words; as configured if None.
            cache: keep keys and values between steps; without it every step reads all words again, to the same end.
            sample: draw words from their distribution by this generator instead of taking the likeliest.
            keep_chances: give the words' distributions too.
        """
        memory = self.read(input_ids, attention_mask, token_type_ids, position_ids)
        return self.write(
            memory,
            beams=beams,
            feedback=feedback,
            longest=longest,
            cache=cache,
            sample=sample,
            keep_chances=keep_chances,
        )

    def write(
        self,
        memory: Memory,
        *,
        beams: int = 1,
        feedback: str | None = None,
        longest: int | None = None,
        cache: bool = True,
        sample: torch.Generator | None = None,
        keep_chances: bool = False,
    ) -> Generated:
        """As `generate`, about an input that was read already."""
        if feedback not in (None, *FEEDBACKS):
            raise OptionError(f"unknown feedback {feedback!r}; use one of {', '.join(FEEDBACKS)}")
        soft = (feedback or self.config.feedback) == "soft"
        steps = longest or self.config.longest
        if beams > 1:
            if soft or sample is not None:
                raise OptionError("beams go with the feedback of tokens, and with nothing drawn")
            return beam_search(self, memory, beams, steps)
        return greedy_search(self, memory, steps, soft=soft, cache=cache, sample=sample, keep_chances=keep_chances)

    def embed_all(self) -> Tensor:
        """The vectors of all words, V x d."""
        return self.embed(torch.arange(self.decoder.config.vocab_size, device=self.word_bias.device))

    def allowed(self, scores: Tensor, step: int) -> Tensor:
        """Scores of the words that may be written: none that is special, and no end before the first word."""
        barred = [self.config.pad_id, self.config.start_id] + ([self.config.end_id] if step == 0 else [])
        if self.config.words:
            barred.append(SPECIAL_WORDS.index(UNKNOWN))
        # A sequence-to-sequence model may start with its end token.
        barred = [i for i in barred if step == 0 or i != self.config.end_id]
        mask = torch.zeros(scores.shape[-1], dtype=torch.bool, device=scores.device)
        mask[barred] = True
        return scores.masked_fill(mask, torch.finfo(scores.dtype).min)

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        position_ids: Tensor | None = None,
        labels: Tensor | None = None,
        **_: Any,
    ) -> SequenceClassifierOutput:
        """Logits N x K of the label that stands after the last word; with ``labels`` also the cross-entropy."""
        if self.integration.informs_label:
            logits = self.generate(input_ids, attention_mask, token_type_ids, position_ids).logits
        else:
            # Whatever would be written, the label stays where it was.
            memory = self.read(input_ids, attention_mask, token_type_ids, position_ids)
            logits = memory.masked(self.integration.labels.first(memory))
        loss = None if labels is None else nn.functional.cross_entropy(logits, labels)
        return SequenceClassifierOutput(loss=loss, logits=logits)


class MpiiForSequenceClassification(MpiiNetwork):
    """An MPII network for a text or a pair of texts."""


class MpiiForMultipleChoice(MpiiNetwork):
    """An MPII network for questions with choices, which it reads in one row: one logit a choice."""

    joint_choices = True


def _encoder(config: Mapping[str, Any]) -> Any:
    made = transformers.AutoConfig.for_model(**config)
    if made.is_encoder_decoder:
        return transformers.AutoModel.from_config(made).get_encoder()
    return transformers.AutoModel.from_config(made)


def _decoder(config: Mapping[str, Any]) -> Any:
    made = transformers.AutoConfig.for_model(**config)
    return transformers.AutoModel.from_config(made).get_decoder()


transformers.AutoConfig.register(MpiiConfig.model_type, MpiiConfig)
transformers.AutoModelForSequenceClassification.register(MpiiConfig, MpiiForSequenceClassification)
transformers.AutoModelForMultipleChoice.register(MpiiConfig, MpiiForMultipleChoice)
