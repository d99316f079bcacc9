"""The texts an audit looks at."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from saywhy.data import datasets, load_dataset

__all__ = ["own_texts"]


def own_texts(data: Any, split: str | None, options: Mapping[str, Any] | None = None) -> tuple[Any, str | None]:
    """The data and the split to look at: a file of one's own is looked at as a whole unless a split is asked for.

    Training and measuring cut such a file into parts of their own; who audits a model brings the texts for it.
    """
    if not isinstance(data, str | os.PathLike) or os.fspath(data) in datasets:
        return (load_dataset(data, **options) if options and isinstance(data, str) else data), split
    dataset = load_dataset(data, **(options or {}))
    return dataset, "all" if split is None and "all" in dataset.splits else split
