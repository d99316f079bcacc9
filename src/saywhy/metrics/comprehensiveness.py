"""Comprehensiveness: does the prediction need the words of the rationale?"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from saywhy.metrics.base import register
from saywhy.metrics.faithfulness import Faithfulness
from saywhy.ops.faithfulness import eraser_comprehensiveness, normalised_comprehensiveness

__all__ = ["Comprehensiveness"]


@register
class Comprehensiveness(Faithfulness):
    """What the predicted class loses when the rationale is removed; high is good.

    Reference: ``eraser``: DeYoung et al., ERASER, ACL 2020, section 4.2, equation 1, p(x) - p(x without r).
    ``normalised``: REGEX, section 3.5, equations 9, 11 and 12.

    Departures: see `saywhy.ops.faithfulness.usable_drop`. Special tokens are kept in every input, so that the whole
    text as rationale has exactly 1 (normalised).

    Example:
        >>> Comprehensiveness(score="normalised", aopc="n-plus-1").range
        (0.0, 0.8333333333333334)
    """

    name: ClassVar[str] = "comprehensiveness"

    def _keep(self, rationale: NDArray[np.bool_]) -> NDArray[np.bool_]:
        return ~rationale

    def _value(
        self, full: NDArray[np.float64], left: NDArray[np.float64], empty: NDArray[np.float64] | None
    ) -> NDArray[np.float64]:
        if empty is None:
            return eraser_comprehensiveness(full, left)
        return normalised_comprehensiveness(full, left, empty)
