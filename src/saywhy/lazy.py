"""Names of a package that are looked up on first use, so that importing the package costs nothing."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["lazy_names"]


def lazy_names(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """A ``__getattr__`` for a package: each name comes from its module in ``homes``, imported when it is asked for.

    Example:
        >>> find = lazy_names("saywhy", {"Example": "saywhy.types"})
        >>> find("Example").__name__
        'Example'
    """

    def find(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(importlib.import_module(homes[name]), name)

    return find
