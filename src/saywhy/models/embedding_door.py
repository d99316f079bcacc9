"""The front door to word embeddings: replace what the embedding layer returns while the ids are still passed.

`inputs_embeds` is no option: decoder-only classifiers look for padding in the ids, and BART's classifier refuses it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from saywhy.errors import CapabilityError

__all__ = ["embedding_modules", "look_up", "replace_embeddings", "walk"]


@dataclass
class _Tap:
    modules: frozenset[int]
    ids: Tensor
    embeddings: Tensor
    fired: int = 0


_tap: ContextVar[_Tap | None] = ContextVar("saywhy_embedding_tap", default=None)


def _hook(module: nn.Module, args: tuple[Any, ...], kwargs: Mapping[str, Any], output: Tensor) -> Tensor | None:
    tap = _tap.get()
    if tap is None or id(module) not in tap.modules:
        return None
    ids = args[0] if args else next(iter(kwargs.values()))
    if ids.shape != tap.ids.shape:
        return None
    if torch.equal(ids, tap.ids):
        tap.fired += 1
        return tap.embeddings
    if torch.equal(ids[:, 1:], tap.ids[:, :-1]):
        # An encoder-decoder's decoder reads the same text one place to the right, behind its start token.
        tap.fired += 1
        return torch.cat([output[:, :1], tap.embeddings[:, :-1]], dim=1)
    return None


def walk(network: nn.Module) -> list[nn.Module]:
    """All modules of a network; `nn.Module.modules` takes several times as long, which shows in short explanations."""
    found = [network]
    for module in found:
        if module._modules:  # most are leaves
            found.extend([child for child in module._modules.values() if child is not None])
    return found


def embedding_modules(network: nn.Module) -> list[nn.Module]:
    """The modules that hold the input embedding matrix; several in an encoder-decoder. Empty if there is none."""
    getter = getattr(network, "get_input_embeddings", None)
    if getter is None:
        return []
    try:
        table = getter()
    except NotImplementedError:
        return []
    weight = getattr(table, "weight", None)
    if weight is None:
        return []
    if isinstance(table, nn.Embedding) and not getattr(getattr(network, "config", None), "is_encoder_decoder", False):
        return [table]
    return [m for m in walk(network) if isinstance(m, nn.Embedding) and m.weight is weight]


def look_up(network: nn.Module, ids: Tensor) -> Tensor:
    """The embeddings of ids as the network's first layer would get them, rows x L x d."""
    modules = embedding_modules(network)
    if not modules:
        raise CapabilityError(f"{type(network).__name__} has no input embeddings")
    embeddings: Tensor = modules[-1](ids)
    return embeddings


@contextlib.contextmanager
def replace_embeddings(network: nn.Module, ids: Tensor, embeddings: Tensor) -> Iterator[None]:
    """Within this context (and thread or task) the network reads ``embeddings`` where it would look up ``ids``."""
    modules = embedding_modules(network)
    for module in modules:
        if not any(hook is _hook for hook in module._forward_hooks.values()):
            # The hook stays and does nothing outside a tap: adding and removing it per call would not be thread-safe.
            module.register_forward_hook(_hook, with_kwargs=True)
    tap = _Tap(frozenset(map(id, modules)), ids, embeddings)
    token = _tap.set(tap)
    try:
        yield
    finally:
        _tap.reset(token)
    if tap.fired == 0:
        raise CapabilityError(f"{type(network).__name__} did not look up its input embeddings in the forward pass")
