"""Models that read only a part of their input: which words, somebody else decides first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from saywhy.data.words import PieceMap
from saywhy.errors import LoadError
from saywhy.models.encoding import Row
from saywhy.registry import Registry

__all__ = ["Selector", "keep_words", "load_selector", "selectors"]


class Selector(Protocol):
    """Says which words of an input a model may read."""

    name: ClassVar[str]

    def select(self, examples: Sequence[Any], truncation: str) -> list[NDArray[np.bool_]]:
        """For each example which of its words are read, (words,)."""
        ...

    @property
    def fingerprint(self) -> str:
        """Changes when its choices may."""
        ...

    def save(self, folder: Path) -> dict[str, Any]:
        """Write what it needs into a model's folder, and return its settings as JSON types."""
        ...


selectors: Registry[Any] = Registry("selector", "saywhy.explainers")
"""Kinds of selectors by name. Each has ``open(folder, settings)``, which reads back what ``save`` wrote."""


def load_selector(folder: Path, settings: Mapping[str, Any]) -> Selector:
    """The selector of the model in a folder."""
    name = str(settings.get("name"))
    if name not in selectors:
        raise LoadError(f"the model in {folder} needs a selector {name!r}, which this version does not know")
    found: Selector = selectors[name].value.open(folder, settings)
    return found


def keep_words(row: Row, keep: NDArray[np.bool_]) -> Row:
    """A row with the pieces of some words only, in their order; special tokens stay."""
    kept = row.pieces.keep_pieces(keep.astype(np.float32)) > 0
    index = np.flatnonzero(kept)
    place = np.cumsum(kept) - 1
    of_kept = kept[row.pieces.piece]
    pieces = PieceMap(
        len(index),
        row.pieces.words,
        place[row.pieces.piece[of_kept]],
        row.pieces.word[of_kept],
        row.pieces.share[of_kept],
    )
    return replace(
        row,
        ids=row.ids[index],
        types=None if row.types is None else row.types[index],
        pieces=pieces,
        offsets=tuple(row.offsets[i] for i in index),
        fields=tuple(row.fields[i] for i in index),
    )
