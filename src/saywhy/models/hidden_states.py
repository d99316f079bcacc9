"""The front door to hidden states: what a network's layers say of each piece, on average."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from saywhy.errors import CapabilityError

__all__ = ["HiddenStates", "keep_hidden_states"]


@dataclass
class HiddenStates:
    """``mean`` over the layers, rows x L x d, once a forward pass has been made."""

    base: int
    mean: Tensor | None = None

    @property
    def value(self) -> Tensor:
        """The mean over layers of the last forward pass."""
        if self.mean is None:
            raise CapabilityError("the network did not give its hidden states")
        return self.mean


_kept: ContextVar[HiddenStates | None] = ContextVar("saywhy_hidden_states", default=None)


def _ask(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    kept = _kept.get()
    if kept is not None and kept.base == id(module):
        kwargs = {**kwargs, "output_hidden_states": True}
    return args, kwargs


def _take(module: nn.Module, args: tuple[Any, ...], output: Any) -> None:
    kept = _kept.get()
    if kept is None or kept.base != id(module):
        return
    states = getattr(output, "encoder_hidden_states", None) or getattr(output, "hidden_states", None)
    if states:
        # The first are the embeddings, before any layer.
        kept.mean = torch.stack(list(states[1:])).mean(0)


@contextlib.contextmanager
def keep_hidden_states(network: nn.Module) -> Iterator[HiddenStates]:
    """Keep the hidden states of the forward passes of this thread or task; of an encoder-decoder the encoder's.

    A network that is no transformer itself names the part of it that reads the input in ``reads_by``.

    Raises:
        CapabilityError: the network has no hidden states to give.
    """
    base = getattr(network, getattr(network, "reads_by", "base_model"), None)
    if base is None or base is network:
        raise CapabilityError(f"{type(network).__name__} has no hidden states to read")
    if not any(hook is _take for hook in base._forward_hooks.values()):
        # The hooks stay and do nothing outside: adding and removing them for each call would not be thread-safe.
        base.register_forward_pre_hook(_ask, with_kwargs=True)
        base.register_forward_hook(_take)
    kept = HiddenStates(id(base))
    token = _kept.set(kept)
    try:
        yield kept
    finally:
        _kept.reset(token)
