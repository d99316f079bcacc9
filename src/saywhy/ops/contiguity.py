"""How ragged a selection is: changes along a text, and broken corners in a table of alignments."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

__all__ = ["broken_windows", "expected_breaks", "rectangles", "transitions"]


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


def expected_breaks(on: Tensor, real: Tensor) -> Tensor:
    """Expected number of windows of two by two cells of which exactly three are on, differentiable.

    Reference: AREC, equation 9 (L2): the sum over a of P(a off) times the product of P(b on) over the other three.

    Args:
        on: probabilities of being on, independent of each other, ... x P x H.
        real: which cells there are; a window counts if all four of its cells do. Same shape, or one that broadcasts.

    Returns:
        One number for each table, of shape ``...``.
    """
    a, b, c, d = (_corner(on, i, j) for i in (0, 1) for j in (0, 1))
    top, bottom = a * b, c * d
    three = top * (c + d) + bottom * (a + b) - 4 * top * bottom
    whole = _corner(real, 0, 0) & _corner(real, 0, 1) & _corner(real, 1, 0) & _corner(real, 1, 1)
    return (three * whole).sum((-2, -1))


def _corner(table: Tensor, i: int, j: int) -> Tensor:
    height, width = table.shape[-2] - 1, table.shape[-1] - 1
    return table[..., i : i + height, j : j + width]


def rectangles(keep: ArrayLike) -> list[tuple[int, int, int, int]]:
    """Rectangles (first and last row, first and last column) that make up what is on, each cell in exactly one.

    The largest comes first, again and again; of equally large ones the first from the top, then from the left.

    Args:
        keep: |p| x |h| booleans.

    Example:
        >>> rectangles([[1, 1, 0], [1, 1, 0], [0, 0, 1]])
        [(0, 1, 0, 1), (2, 2, 2, 2)]
    """
    left = np.asarray(keep, dtype=bool).copy()
    if left.ndim != 2:
        raise ValueError(f"alignments form a table, not an array of shape {left.shape}")
    found = []
    while left.any():
        best = max((box for i, j in np.argwhere(left) for box in _grown(left, int(i), int(j))), key=_area)
        found.append(best)
        left[best[0] : best[1] + 1, best[2] : best[3] + 1] = False
    return found


def _grown(keep: NDArray[np.bool_], i: int, j: int) -> list[tuple[int, int, int, int]]:
    """The widest rectangle of each height with its first corner in a cell that is on."""
    boxes, width = [], keep.shape[1] - j
    for bottom in range(i, len(keep)):
        row = keep[bottom, j : j + width]
        width = int(row.argmin()) if not row.all() else width
        if not width:
            break
        boxes.append((i, bottom, j, j + width - 1))
    return boxes


def _area(box: tuple[int, int, int, int]) -> int:
    return (box[1] - box[0] + 1) * (box[3] - box[2] + 1)
