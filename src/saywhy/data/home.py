"""Where corpora are kept: the folder in ``SAYWHY_DATA``, or one in the user's cache."""

from __future__ import annotations

import os
import sys
from pathlib import Path

__all__ = ["cache_root", "data_root"]


def data_root(root: str | os.PathLike[str] | None = None) -> Path:
    """The folder that holds the corpora; it need not exist.

    Args:
        root: a folder that goes before everything else; otherwise the environment variable ``SAYWHY_DATA``, otherwise
            ``saywhy/data`` in the user's cache as the platform has it.
    """
    if root is not None:
        return Path(root).expanduser()
    if os.environ.get("SAYWHY_DATA"):
        return Path(os.environ["SAYWHY_DATA"]).expanduser()
    return cache_root() / "data"


def cache_root() -> Path:
    """The folder ``saywhy`` in the user's cache as the platform has it; it need not exist."""
    if sys.platform == "win32":
        cache = Path(os.environ.get("LOCALAPPDATA", "~/AppData/Local"))
    elif sys.platform == "darwin":
        cache = Path("~/Library/Caches")
    else:
        cache = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache")
    return cache.expanduser() / "saywhy"
