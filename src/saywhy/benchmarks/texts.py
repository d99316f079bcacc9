"""Texts of a given length for benchmarks: a corpus' sentences, joined and cut at whole words."""

from __future__ import annotations

import numpy as np

from saywhy.data import load_dataset
from saywhy.errors import DataError, OptionError
from saywhy.models import TextModel
from saywhy.types import Example

__all__ = ["texts_of"]


def texts_of(model: TextModel, data: str, tokens: int, count: int, seed: int = 0) -> list[Example]:
    """Texts of at most ``tokens`` pieces with the special tokens, and as near to it as whole words allow.

    Args:
        model: whose tokenizer counts.
        data: a dataset's name or file; its evaluation split is used, in an order drawn by the seed.
        tokens: pieces a text.
        count: how many texts.
        seed: of the order.

    Raises:
        OptionError: fewer tokens than fit two words.
        DataError: the corpus is too small.
    """
    if tokens < 8:
        raise OptionError(f"texts of {tokens} tokens are too short to compare anything; use at least 8")
    dataset = load_dataset(data)
    sentences = [example.texts[0].strip() for example in dataset[dataset.evaluation_split]]
    order = np.random.default_rng(seed).permutation(len(sentences)).tolist()
    made: list[Example] = []
    text = ""
    for number in order:
        if len(made) == count:
            break
        text = f"{text} {sentences[number]}".strip()
        if len(model.tokenizer(text)["input_ids"]) >= tokens:
            made.append(_cut(model, text, tokens))
            text = ""
    if len(made) < count:
        raise DataError(f"{data} has text for {len(made)} texts of {tokens} tokens only, not {count}; ask for fewer")
    return made


def _cut(model: TextModel, text: str, tokens: int) -> Example:
    pieces = model.tokenizer(text, return_offsets_mapping=True)
    ends = [end for start, end in pieces["offset_mapping"] if end > start]
    special = len(pieces["input_ids"]) - len(ends)
    words = model.words(Example((text,)))
    last = max((word.end for word in words if sum(end <= word.end for end in ends) + special <= tokens), default=0)
    return Example((text[:last],))
