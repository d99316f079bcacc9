"""Vectors of a decoder's words that begin as a pretrained encoder knows these words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

__all__ = ["principal_directions", "start_from_encoder"]


def start_from_encoder(network: Any, tokenizer: Any, words: Sequence[str], special: int) -> None:
    """Let a network's decoder begin with the word vectors of its encoder, in place.

    A word is the mean of its pieces' vectors, in as many of their principal directions as the decoder has dimensions;
    the bridge between the two begins as the same projection, so that an encoder's state looks like the word it stands
    on, and a word of the input can be copied before anything is learned.

    Args:
        network: an `MpiiNetwork` whose encoder has its weights.
        tokenizer: the encoder's.
        words: the decoder's, with ``##`` before those that are written without a space.
        special: how many of the first words are none; their vectors stay as they were drawn.
    """
    table: Tensor = network.encoder.get_input_embeddings().weight.detach()
    own: nn.Parameter = network.decoder.embed_tokens.weight
    texts = [word.removeprefix("##") or word for word in words[special:]]
    pieces = tokenizer(texts, add_special_tokens=False)["input_ids"]
    known = [i for i, ids in enumerate(pieces) if ids]
    vectors = torch.stack([table[torch.tensor(pieces[i])].mean(0) for i in known])
    centred = vectors - vectors.mean(0)
    directions = principal_directions(centred, own.shape[1])
    projected = centred @ directions
    # Of the length that drawn vectors have.
    projected = projected / projected.norm(dim=1).mean()
    with torch.no_grad():
        own[torch.tensor(known) + special, : projected.shape[1]] = projected
        if isinstance(network.bridge, nn.Sequential):
            first: Any = network.bridge[0]
            first.weight[: directions.shape[1]] = directions.T
            first.bias.zero_()


def principal_directions(centred: Tensor, most: int) -> Tensor:
    """The orthonormal directions, d x at most ``most``, in which vectors n x d around 0 differ most.

    Example:
        >>> principal_directions(torch.tensor([[0.0, 2.0], [0.0, -2.0], [1.0, 0.0], [-1.0, 0.0]]), 1).abs().tolist()
        [[0.0], [1.0]]
    """
    _, found = torch.linalg.eigh(centred.T @ centred)
    return found.flip(1)[:, :most]
