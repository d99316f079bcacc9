"""Similarity: how near a sentence is to what people said, word by word or in meaning."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from saywhy.errors import DataError
from saywhy.metrics.base import register
from saywhy.metrics.parts import Contributions, Parts
from saywhy.metrics.sentences import SentenceMetric, sentences_of
from saywhy.metrics.trial import Trial
from saywhy.types import Example

__all__ = ["Similarity"]

BINS = 10


@register
@dataclass(frozen=True, kw_only=True)
class Similarity(SentenceMetric):
    """Cosine between a sentence and the nearest of those that people wrote.

    Reference: MPII, section 3.5 and figure 5: the cosine of mean word vectors. ``bins`` are the figure: the share of
    the sentences in each tenth from 0 to 1, those below 0 in the first.

    Options:
        vectors: a GloVe file; words it does not have are left out. None compares counts of words instead.
        references: at most so many of an example's explanations, the first ones.
    """

    name: ClassVar[str] = "similarity"
    bins_are: ClassVar[str] = "histogram"

    vectors: str | None = None
    references: int = 3

    @property
    def range(self) -> tuple[float, float]:
        """A cosine."""
        return (-1.0, 1.0)

    def usable(self, example: Example, space: str = "words") -> bool:
        """Whether people explained it."""
        return bool(example.explanations)

    def unusable(self, n: int) -> DataError:
        """The error for data without explanations."""
        return DataError(f"{self.name} needs explanations people wrote, and none of the {n} examples has one")

    def measure(self, trial: Trial) -> Parts:
        """The highest cosine of each sentence."""
        index, values = [], []
        for i, (sentence, example) in enumerate(zip(sentences_of(trial), trial.bench.examples, strict=True)):
            if self.usable(example):
                index.append(i)
                values.append(max(self._cosine(sentence, other) for other in example.explanations[: self.references]))
        return Parts(np.asarray(index, dtype=np.intp), {"cosine": np.asarray(values)}, len(trial.bench.examples))

    def contributions(self, parts: Parts) -> Contributions:
        """The mean, and the figure."""
        values = parts.columns["cosine"]
        places = np.clip((values * BINS).astype(int), 0, BINS - 1)
        shares = np.bincount(places, minlength=BINS) / len(values)
        bins = {f"{i / BINS:.1f}": float(share) for i, share in enumerate(shares)}
        return Contributions.mean(values, bins=bins)

    def _cosine(self, one: str, other: str) -> float:
        words = [Counter(text.lower().split()) for text in (one, other)]
        if self.vectors is None:
            known = sorted(words[0].keys() | words[1].keys())
            table = np.asarray([[counts[w] for w in known] for counts in words], dtype=np.float64)
        else:
            glove = _vectors(self.vectors)
            table = np.stack([_mean(counts, glove) for counts in words])
        norms = np.linalg.norm(table, axis=1)
        return float(np.clip(table[0] @ table[1] / (norms[0] * norms[1]), -1, 1)) if norms.all() else 0.0


def _mean(counts: Counter[str], glove: tuple[dict[str, int], NDArray[np.float32]]) -> NDArray[np.float64]:
    places, vectors = glove
    # Row 0 is the zero vector of unknown words.
    rows = [places.get(word, 0) for word in counts]
    return np.asarray(list(counts.values()), dtype=np.float64) @ vectors[rows]


@lru_cache(maxsize=1)
def _vectors(path: str) -> tuple[dict[str, int], NDArray[np.float32]]:
    """Read once for all blocks of a corpus."""
    from saywhy.data.glove import read_glove

    found = read_glove(path)
    return {word: i + 1 for i, word in enumerate(found.words)}, found.vectors
