"""Small modules that read an explanation off a network's queries and keys, and live inside the network.

Such a module is an attribute of the network, and its settings are in the network's configuration: it is saved, copied,
trained and loaded with it, while the folder stays one that any tool reads. The network's own outputs do not change.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import torch
from safetensors import safe_open
from torch import Tensor, nn

from saywhy.errors import CapabilityError, LoadError
from saywhy.models.attention_door import AttentionCall, AttentionTap, tap_attention
from saywhy.models.encoding import Batch, content_mask
from saywhy.models.tasks import Task
from saywhy.models.text_model import TextModel

__all__ = [
    "AttachedModule",
    "AttentionModule",
    "Surroundings",
    "attach",
    "attached",
    "explained_forward",
    "kept_in",
    "restore",
    "spread_over_queries",
]

_kinds: dict[str, type[AttachedModule]] = {}
A = TypeVar("A", bound="AttachedModule")
M = TypeVar("M", bound="AttentionModule")


class AttachedModule(nn.Module):
    """Base of what may be kept inside a network: saved with it and found again by its configuration."""

    attribute: ClassVar[str]

    @property
    @abstractmethod
    def settings(self) -> dict[str, Any]:
        """What it can be built of again, as JSON types."""


class AttentionModule(AttachedModule):
    """Base of the modules: made of the shape of the attention it reads, and options.

    Args:
        calls: numbers of the attention calls that are read.
        heads: of each call.
        width: of a head.
    """

    # Coefficients start at 1, which means that all count the same: to pull them towards 0 would be an opinion.
    never_decayed: ClassVar[bool] = True

    def __init__(self, calls: Sequence[int], heads: int, width: int) -> None:
        super().__init__()
        self.calls, self.heads, self.width = tuple(calls), heads, width

    @classmethod
    def of(cls: type[M], model: TextModel, **options: Any) -> M:
        """A module for a model's attention over its input: self-attention, or the encoder's."""
        calls = [i for i, kind in enumerate(model.attention_kinds) if kind in ("self", "encoder")]
        if not calls:
            raise CapabilityError(f"{model!r} has no attention to read: {model.no_attention or 'it has none'}")
        shapes = {model.attention_shapes()[i] for i in calls}
        if len(shapes) > 1:
            raise CapabilityError(f"{model!r} has layers of different heads, which cannot be read together yet")
        ((heads, width),) = shapes
        return cls(calls, heads, width, **options)

    @property
    def options(self) -> dict[str, Any]:
        """Its own options, as JSON types."""
        return {}

    @property
    def settings(self) -> dict[str, Any]:
        """What it can be built of again, as JSON types."""
        return {"calls": list(self.calls), "heads": self.heads, "width": self.width, **self.options}

    @abstractmethod
    def forward(self, calls: Sequence[AttentionCall], content: Tensor) -> Tensor:
        """The explanation, rows x L, from the calls it reads and where the pieces of words are (rows x L)."""


def kept_in(attribute: str) -> Callable[[type[A]], type[A]]:
    """Class decorator: the attribute of a network, and of its configuration, that modules of this kind are kept in."""

    def named(kind: type[A]) -> type[A]:
        kind.attribute = attribute
        _kinds[attribute] = kind
        return kind

    return named


def attach(network: nn.Module, module: AttachedModule) -> None:
    """Make a module part of a network; one of its kind that was there is replaced."""
    device = next(network.parameters()).device
    network.add_module(module.attribute, module.to(device))
    for attribute in sorted(_kinds):  # in one order, whatever was attached first: a fingerprint reads them in order
        if attribute in network._modules:
            network._modules[attribute] = network._modules.pop(attribute)
    setattr(network.config, module.attribute, module.settings)


def attached(network: nn.Module | None, kind: type[A]) -> A | None:
    """The module of this kind that a network has, or None."""
    found = getattr(network, kind.attribute, None)
    return found if isinstance(found, kind) else None


class Surroundings:
    """Everything in a network around one of its modules, to be frozen while only the module learns.

    What was frozen before, such as word vectors out of a file, stays frozen.
    """

    def __init__(self, network: nn.Module, module: AttentionModule) -> None:
        own = {id(parameter) for parameter in module.parameters()}
        self._free = [p for p in network.parameters() if p.requires_grad and id(p) not in own]

    def freeze(self, frozen: bool = True) -> None:
        """Freeze them, or set them free again."""
        for parameter in self._free:
            parameter.requires_grad_(not frozen)


def explained_forward(
    network: nn.Module, task: Task, batch: Batch, module: AttentionModule, *, explicit: bool = False
) -> tuple[Tensor, Tensor]:
    """One forward pass: the scores of rows, and the explanation of each, rows x L.

    ``explicit`` makes second derivatives possible; without it the scores have the bits they have without the module.
    """
    layers = None if explicit else frozenset(module.calls)
    with tap_attention(network, AttentionTap(layers=layers, explicit=explicit)) as tap:
        raw = task.raw(network, batch)
    calls = [call for call in tap.calls if call.number in module.calls]
    # Coefficients are compared at the sixth digit: half precision has too few.
    with torch.autocast(raw.device.type, enabled=False):
        return raw, module(calls, content_mask(batch))


def spread_over_queries(query: Tensor, key: Tensor, content: Tensor) -> Tensor:
    """What the queries of words give to each key, on average: rows x heads x L, from rows x heads x L x d.

    The mean is taken before the product, so that no table of L x L is made. Both run in the order in which a layer's
    output lies in memory, L before heads: a third of the time of products by head.
    """
    weights = content.to(query.dtype)
    weights = weights / weights.sum(-1, keepdim=True).clamp_min(1.0)
    given = query.transpose(1, 2)
    mean = (weights.unsqueeze(1) @ given.flatten(2)).unflatten(2, given.shape[2:])
    return (key.transpose(1, 2) * mean).sum(-1).transpose(1, 2)


def restore(network: nn.Module, folder: str | Path) -> None:
    """Give a network, loaded from a folder or by a hub name, the modules that its configuration names.

    Raises:
        LoadError: the folder does not have their weights.
    """
    import saywhy.models.networks  # noqa: F401 - the kinds there are register themselves there

    for attribute, kind in _kinds.items():
        settings = getattr(network.config, attribute, None)
        if settings is None or attached(network, kind) is not None:
            continue
        module = kind(**settings)
        prefix = f"{attribute}."
        weights: dict[str, Tensor] = {}
        for file in sorted(_local(folder).glob("*.safetensors")):
            with safe_open(file, framework="pt") as content:
                weights |= {key: content.get_tensor(key) for key in content.keys() if key.startswith(prefix)}  # noqa: SIM118
        try:
            module.load_state_dict({key.removeprefix(prefix): value for key, value in weights.items()})
        except RuntimeError as error:
            raise LoadError(f"{folder} does not hold the weights of its {attribute}: {error}") from error
        attach(network, module)


def _local(folder: str | Path) -> Path:
    if Path(folder).exists():
        return Path(folder)
    from transformers.utils import cached_file

    return Path(cached_file(str(folder), "config.json")).parent
