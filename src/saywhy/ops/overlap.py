"""Overlap of a selection with gold: tokens, spans, and F1 in the field's several conventions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "best_overlaps",
    "f1_score",
    "jaccard",
    "macro_f1_from_confusion",
    "precision_recall_f1",
    "runs",
    "span_counts",
    "token_counts",
]

Range = tuple[int, int]


def _ratio(a: ArrayLike, b: ArrayLike) -> NDArray[np.float64]:
    """Quotient, and 0 where the divisor is 0."""
    top, bottom = np.broadcast_arrays(np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64))
    return np.divide(top, bottom, out=np.zeros(top.shape), where=bottom != 0)


def f1_score(precision: ArrayLike, recall: ArrayLike) -> NDArray[np.float64]:
    """Harmonic mean, 0 where both are 0; works on arrays.

    Example:
        >>> float(f1_score(0.5, 1.0))
        0.6666666666666666
    """
    p, r = np.asarray(precision, dtype=np.float64), np.asarray(recall, dtype=np.float64)
    return _ratio(2 * p * r, p + r)


def precision_recall_f1(
    hits: ArrayLike, selected: ArrayLike, gold: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Precision, recall and F1 from counts (arrays of one shape); a ratio over nothing is 0.

    Example:
        >>> [float(x) for x in precision_recall_f1(2, 4, 2)]
        [0.5, 1.0, 0.6666666666666666]
    """
    precision, recall = _ratio(hits, selected), _ratio(hits, gold)
    return precision, recall, f1_score(precision, recall)


def token_counts(selected: ArrayLike, gold: ArrayLike) -> tuple[int, int, int]:
    """(true positives, selected, gold) of two boolean vectors.

    Example:
        >>> token_counts([True, True, False], [True, False, True])
        (1, 2, 2)
    """
    chosen, truth = np.asarray(selected, dtype=bool), np.asarray(gold, dtype=bool)
    if chosen.shape != truth.shape:
        raise ValueError(f"selection and gold must have one length, not {chosen.shape} and {truth.shape}")
    return int((chosen & truth).sum()), int(chosen.sum()), int(truth.sum())


def jaccard(a: ArrayLike, b: ArrayLike) -> float:
    """Size of the intersection over that of the union of two boolean vectors; 1 where both are empty.

    Example:
        >>> jaccard([True, True, False], [True, False, True])
        0.3333333333333333
    """
    hits, first, second = token_counts(a, b)
    union = first + second - hits
    return hits / union if union else 1.0


def runs(mask: ArrayLike, groups: ArrayLike | None = None) -> list[Range]:
    """Half-open ranges of neighbouring True entries; a range never crosses from one group to another.

    Args:
        mask: N booleans.
        groups: N labels, such as the field of each word; by default all words are of one group.

    Example:
        >>> runs([True, True, False, True])
        [(0, 2), (3, 4)]
        >>> runs([True, True, False, True], groups=[0, 1, 1, 1])
        [(0, 1), (1, 2), (3, 4)]
    """
    chosen = np.asarray(mask, dtype=bool)
    if not chosen.any():
        return []
    label = np.zeros(len(chosen), dtype=np.int64) if groups is None else np.asarray(groups)
    places = np.flatnonzero(chosen)
    breaks = np.flatnonzero((np.diff(places) > 1) | (np.diff(label[places]) != 0)) + 1
    return [(int(part[0]), int(part[-1]) + 1) for part in np.split(places, breaks)]


def best_overlaps(predicted: Sequence[Range], gold: Sequence[Range]) -> list[float]:
    """For each predicted range, its largest intersection over union with a gold range.

    Example:
        >>> best_overlaps([(0, 2)], [(1, 3), (5, 6)])
        [0.3333333333333333]
    """
    best = []
    for start, end in predicted:
        top = 0.0
        for left, right in gold:
            shared = max(0, min(end, right) - max(start, left))
            union = (end - start) + (right - left) - shared
            top = max(top, shared / union if union else 0.0)
        best.append(top)
    return best


def span_counts(predicted: Sequence[Range], gold: Sequence[Range], threshold: float = 0.5) -> tuple[int, int, int]:
    """(predicted ranges whose best overlap reaches the threshold, predicted ranges, gold ranges).

    A threshold of 1 counts exact matches.

    Reference: DeYoung et al., ERASER, ACL 2020, section 4.1.

    Example:
        >>> span_counts([(3, 6)], [(3, 5)]), span_counts([(3, 6)], [(3, 5)], threshold=1.0)
        ((1, 1, 1), (0, 1, 1))
    """
    hits = sum(overlap >= threshold for overlap in best_overlaps(predicted, gold))
    return hits, len(predicted), len(gold)


def macro_f1_from_confusion(confusion: ArrayLike) -> NDArray[np.float64]:
    """Mean of the classes' F1, over the classes that occur as gold or as prediction.

    Args:
        confusion: ... x K x K, gold by prediction, as counts or shares.

    Returns:
        One value for each leading index.

    Example:
        >>> float(macro_f1_from_confusion([[2, 0], [1, 1]]))
        0.7333333333333334
    """
    table = np.asarray(confusion, dtype=np.float64)
    hits = np.diagonal(table, axis1=-2, axis2=-1)
    total = table.sum(axis=-1) + table.sum(axis=-2)
    return _ratio(_ratio(2 * hits, total).sum(axis=-1), (total > 0).sum(axis=-1))
