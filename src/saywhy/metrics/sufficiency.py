"""Sufficiency: are the words of the rationale enough for the prediction?"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from saywhy.metrics.base import register
from saywhy.metrics.faithfulness import Faithfulness
from saywhy.ops.faithfulness import eraser_sufficiency, normalised_sufficiency

__all__ = ["Sufficiency"]


@register
class Sufficiency(Faithfulness):
    """What the predicted class loses when only the rationale is kept.

    Reference: ``eraser``: DeYoung et al., ERASER, ACL 2020, section 4.2, equation 2, p(x) - p(r); low is good.
    ``normalised``: REGEX, section 3.5, equations 9 and 10, 1 when nothing is lost; high is good.

    Departures: see `saywhy.ops.faithfulness.usable_drop`. Special tokens are kept in every input, so that the whole
    text as rationale has exactly 1.

    Example:
        >>> Sufficiency().higher_is_better, Sufficiency(score="normalised").higher_is_better
        (False, True)
    """

    name: ClassVar[str] = "sufficiency"

    @property
    def higher_is_better(self) -> bool:
        """A loss of probability should be low, the normalised score high."""
        return self.scoring == "normalised"

    def _keep(self, rationale: NDArray[np.bool_]) -> NDArray[np.bool_]:
        return rationale

    def _value(
        self, full: NDArray[np.float64], left: NDArray[np.float64], empty: NDArray[np.float64] | None
    ) -> NDArray[np.float64]:
        return eraser_sufficiency(full, left) if empty is None else normalised_sufficiency(full, left, empty)
