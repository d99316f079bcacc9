"""Jaccard between models: does a method select the same words for models that differ only by chance?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from saywhy.errors import OptionError
from saywhy.metrics.base import register
from saywhy.metrics.jaccard import SelectionJaccard
from saywhy.metrics.trial import Trial

__all__ = ["ModelJaccard"]


@register
@dataclass(frozen=True, kw_only=True)
class ModelJaccard(SelectionJaccard):
    """Words a method selects both for the model and for another one, over those it selects for at least one of them.

    The other models are those given to `evaluate` as ``against``; ``bins`` of the result has the mean for each. Between
    models that were trained alike from different starts (the different initialisation test) a good explanation agrees:
    high is good. Against a model whose head was never trained (``epochs=0``; the untrained test) agreement says that
    the explanation does not depend on what was learned: with ``untrained=True`` low is good. Each model is explained
    for the label that it predicts, by methods that draw with draws of its own.

    Reference: REGEX, section 4.4, Tables 3 and 8; Zafar et al.: On the Lack of Robust Interpretability of Neural Text
    Classifiers, ACL Findings 2021, sections 3.1 and 3.2.

    Edge cases: as for `MethodJaccard`; a model against itself has 1.

    Attributes:
        top: share of the words (or of the pairs) that scores select.
        rounding: of share times words: ``ceil`` and ``round`` take at least one word, ``floor`` may take none.
        untrained: the other models were not trained, so that agreement is bad.

    Example:
        >>> evaluate("runs/a", "sst2", ["scaled-attention"], "model-jaccard", against=["runs/b"])  # doctest: +SKIP
    """

    untrained: bool = False

    name: ClassVar[str] = "model-jaccard"
    family: ClassVar[str] = "stability"
    spaces: ClassVar[tuple[str, ...]] = ("words", "alignments")
    across: ClassVar[bool] = True
    paper: ClassVar[str] = "REGEX, section 4.4"

    @property
    def higher_is_better(self) -> bool:
        """Whether it should agree with the other models."""
        return not self.untrained

    def compared(self, trial: Trial) -> Mapping[str, Trial]:
        """The same method on the other models."""
        if not trial.others:
            raise OptionError(f"{self.name} compares models: give others as against=[...] (--against)")
        return {name: trial.other(name) for name in trial.others}
