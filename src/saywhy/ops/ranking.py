"""From scores to selections, and how well a ranking finds what is gold."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["ROUNDINGS", "auprc", "auroc", "average_precision", "ranks", "top_count", "top_mask", "window_mask"]

ROUNDINGS = ("ceil", "round", "floor")

_SLACK = 1e-9


def top_count(ratio: float, n: int, rounding: str = "ceil") -> int:
    """How many of n words a ratio selects.

    ``ceil``: at least 1 (FRESH, CR). ``round``: half to even as in Python, at least 1 (UNIREX, NIR). ``floor``: may be
    none (ferret). Never more than n, and 0 of 0.

    Departures: products such as 0.07 * 100 = 7.000000000000001 count as the whole number they stand for.

    Example:
        >>> top_count(0.07, 100), top_count(0.01, 10), top_count(0.01, 10, "floor")
        (7, 1, 0)
    """
    if rounding not in ROUNDINGS:
        raise ValueError(f"rounding must be one of {', '.join(ROUNDINGS)}, not {rounding!r}")
    if not 0 <= ratio <= 1:
        raise ValueError(f"a ratio of words lies between 0 and 1, not at {ratio}")
    exact = ratio * n
    if abs(exact - round(exact)) < _SLACK * max(n, 1):
        exact = float(round(exact))
    if rounding == "floor":
        return math.floor(exact)
    return min(n, max(1, math.ceil(exact) if rounding == "ceil" else round(exact)))


def ranks(scores: ArrayLike) -> NDArray[np.intp]:
    """Place of each score from the top, 0 for the highest; equal scores in the order of the text.

    Example:
        >>> ranks([0.1, 0.9, 0.1]).tolist()
        [1, 0, 2]
    """
    order = np.argsort(-np.asarray(scores, dtype=np.float64), kind="stable")
    places = np.empty(len(order), dtype=np.intp)
    places[order] = np.arange(len(order))
    return places


def top_mask(scores: ArrayLike, ratio: float, rounding: str = "ceil") -> NDArray[np.bool_]:
    """True at the words with the highest scores; ties go to the earlier word.

    Example:
        >>> top_mask([0.1, 0.9, 0.1, 0.0], 0.5).tolist()
        [True, True, False, False]
    """
    places = ranks(scores)
    return places < top_count(ratio, len(places), rounding)


def window_mask(scores: ArrayLike, ratio: float, rounding: str = "ceil") -> NDArray[np.bool_]:
    """True at the run of words whose scores have the highest sum; ties go to the earlier run.

    Example:
        >>> window_mask([0.1, 0.9, 0.2, 0.0, 0.8], 0.4).tolist()
        [False, True, True, False, False]
    """
    values = np.asarray(scores, dtype=np.float64)
    size = top_count(ratio, len(values), rounding)
    mask = np.zeros(len(values), dtype=bool)
    if size:
        start = int(np.argmax(np.lib.stride_tricks.sliding_window_view(values, size).sum(-1)))
        mask[start : start + size] = True
    return mask


def _curve(gold: ArrayLike, scores: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """True and false positives when everything scored at or above each distinct score is selected, best first."""
    truth = np.asarray(gold, dtype=bool)
    values = np.asarray(scores, dtype=np.float64)
    if truth.shape != values.shape or truth.ndim != 1:
        raise ValueError(f"gold and scores must be vectors of one length, not {truth.shape} and {values.shape}")
    if np.isnan(values).any():
        raise ValueError("scores contain NaN")
    order = np.argsort(-values, kind="stable")
    last = np.flatnonzero(np.append(np.diff(values[order]) != 0, True)) if len(order) else np.empty(0, dtype=np.intp)
    positives = np.cumsum(truth[order])[last].astype(np.float64)
    return positives, last + 1 - positives


def _precision_recall(gold: ArrayLike, scores: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    tp, fp = _curve(gold, scores)
    if not len(tp) or tp[-1] == 0:
        raise ValueError("no gold word: precision and recall are not defined")
    # The curve starts at recall 0 with precision 1, as scikit-learn's does.
    return np.append(1.0, tp / (tp + fp)), np.append(0.0, tp / tp[-1])


def auprc(gold: ArrayLike, scores: ArrayLike) -> float:
    """Area under the precision-recall curve by the trapezoid rule.

    Reference: DeYoung et al., ERASER, ACL 2020, section 4.1 (its metrics call ``auc(recall, precision)``). Linear
    interpolation between points is optimistic; `average_precision` does not interpolate.

    Args:
        gold: N booleans, at least one of them True.
        scores: N numbers; only their order matters.

    Example:
        >>> auprc([True, False, True], [0.9, 0.1, 0.8])
        1.0
    """
    precision, recall = _precision_recall(gold, scores)
    return float(np.sum(np.diff(recall) * (precision[1:] + precision[:-1]) / 2))


def average_precision(gold: ArrayLike, scores: ArrayLike) -> float:
    """Sum of precisions weighted by the recall each threshold adds (no interpolation).

    Example:
        >>> average_precision([True, False], [0.1, 0.9])
        0.5
    """
    precision, recall = _precision_recall(gold, scores)
    return float(np.sum(np.diff(recall) * precision[1:]))


def auroc(gold: ArrayLike, scores: ArrayLike) -> float:
    """Probability that a gold word outranks another one; ties count half.

    Example:
        >>> auroc([True, False, False], [0.5, 0.5, 0.1])
        0.75
    """
    tp, fp = _curve(gold, scores)
    if not len(tp) or tp[-1] == 0 or fp[-1] == 0:
        raise ValueError("gold must hold both kinds of words: the area is not defined otherwise")
    hit, false = np.append(0.0, tp / tp[-1]), np.append(0.0, fp / fp[-1])
    return float(np.sum(np.diff(false) * (hit[1:] + hit[:-1]) / 2))
