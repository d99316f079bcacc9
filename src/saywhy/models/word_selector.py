"""The selector of a rationalizer, and what it says about words."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

import torch
import transformers
from torch import Tensor, nn

from saywhy.errors import CapabilityError
from saywhy.models.intervention import Intervention

__all__ = ["Choice", "Selector", "accepted_inputs", "hidden_states"]


@dataclass(frozen=True)
class Choice:
    """What a selector says about a batch of rows.

    ``logits`` N x W x 2 (left out, selected) of the words, ``real`` N x W: whether there is such a word. ``word_ids``
    N x L gives the word of each piece, from 1, and 0 for pieces that always stay. A word is selected, where nothing is
    drawn, if its margin is above the ``threshold``.
    """

    logits: Tensor
    real: Tensor
    word_ids: Tensor
    threshold: Tensor

    @property
    def margins(self) -> Tensor:
        """By how much each word's logit of being selected is above that of being left out, N x W."""
        return self.logits[..., 1] - self.logits[..., 0]

    @property
    def probabilities(self) -> Tensor:
        """How likely each word is selected, N x W."""
        return self.logits.softmax(-1)[..., 1] * self.real


class Selector(nn.Module):
    """An encoder and, for each word, two logits: layer norm, dropout and a linear layer over the encoder's states.

    Args:
        config: of the encoder.
        dropout: before the linear layer.
        own_encoder: whether it has an encoder, or is handed another's states.
        outputs: numbers a word; two in a rationalizer.
    """

    def __init__(self, config: Any, dropout: float, own_encoder: bool = True, outputs: int = 2) -> None:
        super().__init__()
        self.encoder = transformers.AutoModel.from_config(config) if own_encoder else None
        size = 2 * config.hidden_size if config.model_type == "saywhy-recurrent" else config.hidden_size
        self.norm, self.dropout, self.head = nn.LayerNorm(size), nn.Dropout(dropout), nn.Linear(size, outputs)
        self.threshold: Tensor
        self.register_buffer("threshold", torch.zeros(()))

    def forward(
        self,
        inputs: Mapping[str, Any],
        word_ids: Tensor,
        states: Tensor | None = None,
        intervention: Intervention | None = None,
    ) -> Choice:
        """Logits of words from inputs of rows; ``states`` (N x L x d) stand in for those of an encoder of its own."""
        states = self.dropout(self.norm(self.states(inputs) if states is None else states))
        pieces = self.head(states)
        if intervention is not None:
            pieces = pieces + intervention.select(states)
        words = int(word_ids.max()) + 1
        index = word_ids.unsqueeze(-1).expand_as(pieces)
        total = pieces.new_zeros(len(pieces), words, pieces.shape[-1]).scatter_add(1, index, pieces)
        count = pieces.new_zeros(len(pieces), words).scatter_add(1, word_ids, torch.ones_like(pieces[..., 0]))
        logits = total / count.clamp_min(1).unsqueeze(-1)
        # Number 0 is what always stays.
        return Choice(logits[:, 1:], count[:, 1:] > 0, word_ids, self.threshold)

    def states(self, inputs: Mapping[str, Any]) -> Tensor:
        """Its own encoder's states, N x L x d."""
        if self.encoder is None:
            raise CapabilityError("this selector has no encoder of its own; it must be given states")
        return hidden_states(self.encoder, inputs)


def accepted_inputs(network: nn.Module, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the inputs that a network's forward pass takes."""
    known = inspect.signature(network.forward).parameters
    return {name: value for name, value in inputs.items() if name in known}


def hidden_states(network: nn.Module, inputs: Mapping[str, Any]) -> Tensor:
    """The last states of an encoder, or of the encoder inside a classifier, N x L x d."""
    if hasattr(network, "states"):
        return cast(Any, network).states(inputs["input_ids"], inputs.get("attention_mask"))
    body = getattr(network, "base_model", network)
    return body(**accepted_inputs(body, inputs)).last_hidden_state
