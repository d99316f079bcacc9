"""From dataclasses to plain JSON types and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

__all__ = ["plain", "read_flat", "tuples"]


def plain(value: Any) -> Any:
    """A value made of mappings, sequences and numbers as JSON has them."""
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    # Numbers of numpy and torch, which JSON does not know.
    return value.item() if hasattr(value, "item") else value


def read_flat(cls: type[Any], data: Mapping[str, Any]) -> Any:
    """A flat dataclass from JSON; what a later version added is left out."""
    return cls(**{f.name: tuples(data[f.name]) for f in fields(cls) if f.name in data})


def tuples(value: Any) -> Any:
    """The same with tuples for lists, at every depth."""
    return tuple(tuples(v) for v in value) if isinstance(value, list | tuple) else value
