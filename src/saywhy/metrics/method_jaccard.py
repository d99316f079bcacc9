"""Jaccard between methods: do two methods select the same words?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from saywhy.errors import OptionError
from saywhy.metrics.base import register
from saywhy.metrics.jaccard import SelectionJaccard
from saywhy.metrics.trial import Trial

__all__ = ["MethodJaccard"]


@register
@dataclass(frozen=True, kw_only=True)
class MethodJaccard(SelectionJaccard):
    """Words that a method and another both select, over those that at least one does; mean over the other methods.

    ``bins`` of the result has the mean for each other method of the run. Agreement is not truth: methods may share an
    error. Beside `random` it says what chance gives.

    Reference: Jaccard of the best words, as in REGEX, section 4.4, there between models instead of methods.

    Edge cases: two empty selections are equal, 1; a rationale's own selection is taken, scores select their ``top``
    share; a text of one word has 1.

    Attributes:
        top: share of the words (or of the pairs) that scores select.
        rounding: of share times words: ``ceil`` and ``round`` take at least one word, ``floor`` may take none.

    Example:
        >>> MethodJaccard().top
        0.25
    """

    name: ClassVar[str] = "method-jaccard"
    family: ClassVar[str] = "agreement"
    spaces: ClassVar[tuple[str, ...]] = ("words", "alignments")
    paper: ClassVar[str] = "REGEX, section 4.4"

    @property
    def compares(self) -> bool:
        """It does."""
        return True

    def compared(self, trial: Trial) -> Mapping[str, Trial]:
        """The other methods of the run."""
        if not trial.rivals:
            raise OptionError(f"{self.name} compares methods: name at least two")
        return {name: trial.rival(name) for name in trial.rivals}
