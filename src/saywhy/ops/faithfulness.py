"""Sufficiency and comprehensiveness from probabilities: ERASER's differences and the normalised scores.

All functions take arrays that broadcast: ``full`` is p(y|x), ``kept`` p(y|rationale only), ``removed`` p(y|x without
the rationale), ``empty`` p(y|nothing); y is the class predicted on the full input.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "AOPCS",
    "SMALLEST_DROP",
    "aopc",
    "eraser_comprehensiveness",
    "eraser_sufficiency",
    "normalised_comprehensiveness",
    "normalised_sufficiency",
    "usable_drop",
]

AOPCS = ("mean", "n-plus-1")

SMALLEST_DROP = 1e-4
"""The least that erasing everything is taken to cost."""


def _array(values: ArrayLike) -> NDArray[np.float64]:
    return np.asarray(values, dtype=np.float64)


def eraser_sufficiency(full: ArrayLike, kept: ArrayLike) -> NDArray[np.float64]:
    """p(y|x) - p(y|r), in [-1, 1]; low is good.

    Reference: DeYoung et al., ERASER, ACL 2020, section 4.2, equation 2.
    """
    return _array(full) - _array(kept)


def eraser_comprehensiveness(full: ArrayLike, removed: ArrayLike) -> NDArray[np.float64]:
    """p(y|x) - p(y|x without r), in [-1, 1]; high is good.

    Reference: DeYoung et al., ERASER, ACL 2020, section 4.2, equation 1.
    """
    return _array(full) - _array(removed)


def usable_drop(full: ArrayLike, empty: ArrayLike) -> NDArray[np.float64]:
    """What erasing everything costs, 1 - S(0): p(y|x) - p(y|nothing), at least `SMALLEST_DROP`.

    Departures: the released code lowers S(0) by 1e-4 in place at every call, so that its values drift with the number
    of calls and a full rationale never reaches 1. Here the bound acts only where erasing everything costs nothing, and
    the arguments are left alone.
    """
    return np.maximum(_array(full) - _array(empty), SMALLEST_DROP)


def normalised_sufficiency(full: ArrayLike, kept: ArrayLike, empty: ArrayLike) -> NDArray[np.float64]:
    """(S(r) - S(0)) / (1 - S(0)) with S(r) = 1 - max(0, p(y|x) - p(y|r)), clipped to [0, 1]; high is good.

    1 for the whole text, 0 for nothing. Where p(y|nothing) >= p(y|x) the denominator is `SMALLEST_DROP`: any rationale
    that keeps the probability has 1, also the empty one, and one that loses more than that has 0.

    Reference: Li et al., Towards Faithful Explanations for Text Classification with Robustness Improvement and
    Explanation Guided Training (REGEX), section 3.5, equations 9 and 10.

    Example:
        >>> float(normalised_sufficiency(1.0, 0.75, 0.5))
        0.5
    """
    return np.clip(1 - np.maximum(_array(full) - _array(kept), 0) / usable_drop(full, empty), 0, 1)


def normalised_comprehensiveness(full: ArrayLike, removed: ArrayLike, empty: ArrayLike) -> NDArray[np.float64]:
    """max(0, p(y|x) - p(y|x without r)) / (1 - S(0)), clipped to [0, 1]; high is good.

    1 when the whole text is the rationale, 0 for none. Where p(y|nothing) >= p(y|x) the denominator is
    `SMALLEST_DROP`: 0 if removing the rationale does not lower the probability, which holds also for the whole text.

    Reference: REGEX, section 3.5, equations 9, 11 and 12.

    Example:
        >>> float(normalised_comprehensiveness(0.9, 0.5, 0.5))
        1.0
    """
    return np.clip(np.maximum(_array(full) - _array(removed), 0) / usable_drop(full, empty), 0, 1)


def aopc(values: ArrayLike, kind: str = "mean") -> NDArray[np.float64]:
    """Area over the perturbation curve: values at several rationale sizes as one number.

    ``mean``: over the sizes (ERASER). ``n-plus-1``: their sum over one more than their number (UNIREX; the code behind
    REGEX), so at most n / (n + 1).

    Args:
        values: ... x n, one column for each size.
        kind: ``mean`` or ``n-plus-1``.

    Example:
        >>> float(aopc([0.2, 0.4, 0.6])), float(aopc([0.5, 0.5, 0.5], "n-plus-1"))
        (0.4000000000000001, 0.375)
    """
    if kind not in AOPCS:
        raise ValueError(f"aopc must be one of {', '.join(AOPCS)}, not {kind!r}")
    table = _array(values)
    n = table.shape[-1]
    return table.sum(axis=-1) / (n if kind == "mean" else n + 1)
