"""What the tests of the studies that come with the project share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

__all__ = ["FOLDER", "cut", "name_of"]

FOLDER = Path(__file__).resolve().parents[2] / "studies"


def name_of(path: Path) -> str:
    return path.stem


def cut(data: Any, limit: int) -> Any:
    """A step's data, however it was given, with so many examples."""
    if isinstance(data, list):
        return [cut(one, limit) for one in data]
    return {**({"name": data} if isinstance(data, str) else data), "limit": limit}
