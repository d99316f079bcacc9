"""How ragged a selection is: changes along a text, and broken corners in a table of alignments."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["broken_windows", "transitions"]


def transitions(keep: ArrayLike, groups: ArrayLike | None = None) -> tuple[float, int]:
    """Changes between neighbours of a mask, and how many neighbours there are; neighbours are of one group.

    Reference: Chang, Zhang, Yu, Jaakkola: Invariant Rationalization, ICML 2020, the second term of the regulariser that
    VER uses, the sum of |m_t - m_(t-1)|.

    Args:
        keep: N booleans, or degrees in [0, 1].
        groups: N labels, such as the field of each word; by default all are of one group.

    Example:
        >>> transitions([0, 1, 1, 0, 0])
        (2.0, 4)
    """
    mask = np.asarray(keep, dtype=np.float64)
    label = np.zeros(len(mask), dtype=np.int64) if groups is None else np.asarray(groups)
    together = label[1:] == label[:-1]
    return float(np.abs(np.diff(mask))[together].sum()), int(together.sum())


def broken_windows(keep: ArrayLike) -> tuple[float, int]:
    """Windows of two by two cells of which exactly three are on, and how many windows there are.

    Three of four mean that what is on is no rectangle there. For degrees in [0, 1], read as independent probabilities
    of being on, it is the expected number.

    Reference: AREC, equation 7 and its expectation, the sum over a of P(a off) times the product of P(b on) over the
    other three.

    Args:
        keep: |p| x |h| booleans, or degrees in [0, 1].

    Example:
        >>> broken_windows([[1, 1], [1, 0]]), broken_windows([[1, 1], [1, 1]])
        ((1.0, 1), (0.0, 1))
    """
    q = np.asarray(keep, dtype=np.float64)
    if q.ndim != 2:
        raise ValueError(f"alignments form a table, not an array of shape {q.shape}")
    corners: list[NDArray[np.float64]] = [q[:-1, :-1], q[:-1, 1:], q[1:, :-1], q[1:, 1:]]
    total = np.zeros(corners[0].shape)
    for off in range(4):
        term = 1 - corners[off]
        for other in range(4):
            if other != off:
                term = term * corners[other]
        total += term
    return float(total.sum()), int(total.size)
