"""Counts over sentences: n-grams that match a reference, n-grams that come again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["ORDERS", "bleu_from_counts", "ngrams", "pseudo_repetition", "repetition"]

ORDERS = 4
"""BLEU-4: matches of one to four words."""


def bleu_from_counts(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Corpus BLEU from sums, or means, of counts.

    Reference: Papineni et al. (2002), BLEU: a Method for Automatic Evaluation of Machine Translation, section 2.3.

    Args:
        counts: M x 10: words of the sentence, words of the closest reference, then for one to four words how many
            n-grams match, and how many there are.

    Returns:
        (M,), from 0 to 100; 0 where an order has no match, as nothing is smoothed.
    """
    table = np.asarray(counts, dtype=np.float64)
    size, reference = table[:, 0], table[:, 1]
    matches, totals = table[:, 2 : 2 + ORDERS], table[:, 2 + ORDERS :]
    found = (matches > 0).all(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        precision = np.log(matches / totals).mean(axis=1)
        brevity = np.minimum(0.0, 1.0 - reference / size)
        return np.where(found, 100.0 * np.exp(precision + brevity), 0.0)


def ngrams(words: Sequence[str], n: int) -> list[tuple[str, ...]]:
    """All runs of n words.

    Example:
        >>> ngrams("a b c d".split(), 3)
        [('a', 'b', 'c'), ('b', 'c', 'd')]
    """
    return [tuple(words[i : i + n]) for i in range(len(words) - n + 1)]


def repetition(grams: Iterable[Sequence[Hashable]]) -> float:
    """Share of the n-grams of all sentences that came before: one minus distinct over all.

    Example:
        >>> repetition([["a b", "b c"], ["a b", "c d"]])
        0.25
    """
    listed = [gram for sentence in grams for gram in sentence]
    return 1.0 - len(set(listed)) / len(listed) if listed else 0.0


def pseudo_repetition(grams: Sequence[Sequence[Hashable]]) -> NDArray[np.float64]:
    """What each sentence contributes to the repetition, (N,), with the repetition as their mean.

    A resample draws sentences twice, and a sentence drawn twice repeats itself: the bootstrap of the repetition itself
    is far too high. These are the jackknife's pseudo-values, N r - (N - 1) r_(i), moved to have the mean r.
    """
    counts = Counter(gram for sentence in grams for gram in sentence)
    total, distinct, n = sum(counts.values()), len(counts), len(grams)
    value = 1.0 - distinct / total if total else 0.0
    rows = np.full(n, value)
    for i, sentence in enumerate(grams):
        own = Counter(sentence)
        rest = total - len(sentence)
        if rest:
            alone = sum(counts[gram] == times for gram, times in own.items())
            rows[i] = n * value - (n - 1) * (1.0 - (distinct - alone) / rest)
    return rows - rows.mean() + value
