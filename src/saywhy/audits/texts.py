"""The texts an audit looks at, and what explanations say of their words."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from saywhy.data import datasets, load_dataset
from saywhy.errors import OptionError
from saywhy.types import Example, Explanation, Rationale, Word, WordScores

__all__ = ["own_texts", "word_before", "word_values"]


def own_texts(data: Any, split: str | None, options: Mapping[str, Any] | None = None) -> tuple[Any, str | None]:
    """The data and the split to look at: a file of one's own is looked at as a whole unless a split is asked for.

    Training and measuring cut such a file into parts of their own; who audits a model brings the texts for it.
    """
    if not isinstance(data, str | os.PathLike) or os.fspath(data) in datasets:
        return (load_dataset(data, **options) if options and isinstance(data, str) else data), split
    dataset = load_dataset(data, **(options or {}))
    return dataset, "all" if split is None and "all" in dataset.splits else split


def word_values(why: Explanation) -> tuple[tuple[Word, ...], np.ndarray]:
    """The words of an explanation and their scores; a rationale without any counts what it selected as 1."""
    if isinstance(why, WordScores):
        return why.words, np.asarray(why.scores, dtype=np.float64)
    if isinstance(why, Rationale):
        return why.words, np.asarray(why.scores or why.selected, dtype=np.float64)
    raise OptionError(f"method {why.method!r} does not score words")


def word_before(example: Example, word: str) -> Example:
    """The example with a word before the last of its texts that may change."""
    fixed = set(example.meta.get("fixed", ()))
    free = [i for i in range(len(example.texts)) if i not in fixed] or [len(example.texts) - 1]
    texts = list(example.texts)
    texts[free[-1]] = f"{word} {texts[free[-1]]}"
    return replace(example, texts=tuple(texts))
