"""Networks with some of their weights thrown about, from the output down."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator

import torch
from torch import nn

from saywhy.models import TextModel
from saywhy.ops.randomness import torch_generator

__all__ = ["blocks_of", "copy_of", "randomise", "randomised"]

_LAYER = re.compile(r"^(.*?\.\d+)\.")


def blocks_of(network: nn.Module) -> list[tuple[str, list[str]]]:
    """The names of a network's parameters by block (a layer, the embeddings, a head), from the output down.

    Networks name their parts in the order in which they are built, which is nearly always that of the forward pass.
    """
    found: dict[str, list[str]] = {}
    for name, _ in network.named_parameters():
        layer = _LAYER.match(name)
        found.setdefault(layer[1] if layer else ".".join(name.split(".")[:2]), []).append(name)
    return list(reversed(found.items()))


def randomise(network: nn.Module, names: list[str], seed: int) -> None:
    """Put the numbers of each of these parameters in a random order, in place: their distribution stays."""
    wanted = set(names)
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            if name in wanted:
                order = torch.randperm(parameter.numel(), generator=torch_generator(seed, name))
                parameter.copy_(parameter.flatten()[order.to(parameter.device)].view_as(parameter))


def copy_of(model: TextModel) -> TextModel:
    """The same model with a network of its own."""
    return TextModel(
        copy.deepcopy(model.module),
        model.tokenizer,
        model.task.name,
        model.labels,
        splitter=model.splitter,
        max_length=model.encoder.max_length,
    )


def randomised(model: TextModel, seed: int) -> Iterator[tuple[str, TextModel]]:
    """The model with its top block randomised, then the next one too, and so on down to the embeddings.

    Reference: Adebayo, Gilmer, Muelly, Goodfellow, Hardt, Kim: Sanity Checks for Saliency Maps, NeurIPS 2018, section
    3 (cascading randomization).

    Yields:
        The name of the block, and the model; the same one each time.
    """
    other = copy_of(model)
    for block, names in blocks_of(other.module):
        randomise(other.module, names, seed)
        yield block, other
