"""Words of networks that read whole words: their vocabulary, their tokenizer and their GloVe vectors."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from saywhy.data.glove import read_glove
from saywhy.models.text_transformer import SPECIAL_TOKENS, wrap_tokenizer
from saywhy.types import Example

__all__ = ["WordTable", "read_words"]

# Words, numbers and English contractions (do + n't, it + 's) as GloVe's tokenizer leaves them; other marks one by one.
_PATTERN = r"\w+(?=n't\b)|n't\b|'(?:s|re|ve|ll|d|m)\b|\w+|[^\w\s]"


@dataclass(frozen=True, eq=False)
class WordTable:
    """The words a network knows, by id, special tokens first; and their vectors where they come from a file.

    Attributes:
        tokens: ids by word.
        vectors: one row for each word that is not a special token, or None where they are to be drawn.
        lower_case: whether capitals are read as small letters.
    """

    tokens: dict[str, int]
    vectors: Tensor | None
    lower_case: bool

    @property
    def dimensions(self) -> int | None:
        """Length of the vectors that come from a file."""
        return None if self.vectors is None else self.vectors.shape[1]

    def tokenizer(self, single: str, pair: str, max_length: int | None, *, type_ids: bool = False) -> Any:
        """A tokenizer that cuts texts into these words, with templates for one text and for a pair."""
        from tokenizers import Tokenizer, models

        tokenizer = Tokenizer(models.WordLevel(self.tokens, unk_token="[UNK]"))
        tokenizer.normalizer, tokenizer.pre_tokenizer = _pre_tokenizer(self.lower_case)
        return wrap_tokenizer(tokenizer, single, pair, max_length, type_ids=type_ids)

    def fill(self, embeddings: nn.Embedding) -> None:
        """Put the file's vectors into a table of embeddings; drawn ones stay as they are."""
        if self.vectors is None:
            return
        with torch.no_grad():
            weight = embeddings.weight
            separator = torch.randn(weight.shape[1]) * self.vectors.std()
            # Padding, unknown and masked words have the zero vector; the separator must differ from them.
            weight[: len(SPECIAL_TOKENS)] = 0.0
            weight[self.tokens["[SEP]"]] = separator
            weight[len(SPECIAL_TOKENS) :] = self.vectors


def read_words(
    examples: Sequence[Example],
    glove: str | os.PathLike[str] | None,
    *,
    vocabulary_size: int,
    lower_case: bool,
) -> WordTable:
    """The words of some examples, or those of a GloVe file that are in them or among its most frequent.

    Args:
        examples: their words make up the vocabulary.
        glove: a GloVe text file, or None for vectors that are drawn.
        vocabulary_size: how many words are known: of the examples, or of the GloVe file besides those of the examples.
        lower_case: read capitals as small letters.
    """
    counts = _count_words((text for e in examples for text in e.fields), lower_case)
    vectors = None
    if glove is None:
        words = [word for word, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0]))][:vocabulary_size]
    else:
        table = read_glove(glove, words=counts, first=vocabulary_size)
        words, vectors = list(table.words), torch.from_numpy(table.vectors)[1:]
    # A word spelled like a special token must not take its place.
    kept = [i for i, word in enumerate(words) if word not in SPECIAL_TOKENS]
    tokens = {token: i for i, token in enumerate([*SPECIAL_TOKENS, *(words[i] for i in kept)])}
    return WordTable(tokens, None if vectors is None else vectors[kept], lower_case)


def _pre_tokenizer(lower_case: bool) -> tuple[Any, Any]:
    from tokenizers import Regex, normalizers, pre_tokenizers

    parts = [normalizers.Replace("\u2019", "'")] + ([normalizers.Lowercase()] if lower_case else [])
    return normalizers.Sequence(parts), pre_tokenizers.Split(Regex(_PATTERN), "removed", invert=True)


def _count_words(texts: Iterable[str], lower_case: bool) -> Counter[str]:
    normalizer, splitter = _pre_tokenizer(lower_case)
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(word for word, _ in splitter.pre_tokenize_str(normalizer.normalize_str(text)))
    return counts
