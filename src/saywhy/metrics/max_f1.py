"""Max-F1: is the phrase pair that matters most the one that decides?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from saywhy.metrics.base import register
from saywhy.metrics.gold import Gold
from saywhy.metrics.parts import Contributions, Parts
from saywhy.metrics.plausibility import SelectionAgreement
from saywhy.metrics.trial import Trial, Workbench
from saywhy.ops.contiguity import rectangles
from saywhy.ops.overlap import precision_recall_f1, token_counts
from saywhy.types import Alignments

__all__ = ["MaxF1"]


@register
@dataclass(frozen=True, kw_only=True)
class MaxF1(SelectionAgreement):
    """F1 between the gold alignment and the phrase pair of the rationale whose loss costs the prediction most.

    The rationale's selection is cut into rectangles; each is taken out of the rationale, and the one without which the
    probability of the predicted label is lowest is compared with the gold word pairs. Nothing selected gives 0.

    Reference: AREC, section 4.2.1 (Max-F1, on Breaking NLI): the alignment with the highest leave-one-out score.

    Departures: the paper does not say from what an alignment is left out; here it is from the rationale.

    Example:
        >>> MaxF1().erases
        True
    """

    name: ClassVar[str] = "max-f1"
    spaces: ClassVar[tuple[str, ...]] = ("alignments",)
    paper: ClassVar[str] = "AREC, section 4.2.1"
    averages: ClassVar[tuple[str, ...]] = ("macro",)
    _gold: ClassVar[str] = "a gold alignment"

    @property
    def erases(self) -> bool:
        """It does."""
        return True

    def check_model(self, bench: Workbench) -> None:
        """Raise an error if the model's alignments cannot be cut."""
        from saywhy.models.alignment_space import check_alignments
        from saywhy.models.text_model import TextModel

        super().check_model(bench)
        if isinstance(bench.model, TextModel):
            check_alignments(bench.model)

    def prepare(self, trial: Trial) -> None:
        """Announce the rationales without each of their rectangles."""
        for i, _ in self._examples(trial):
            for _, without in self._parts_of(trial, i):
                trial.bench.erasures.request(i, without)

    def contributions(self, parts: Parts) -> Contributions:
        """The mean F1."""
        counts = parts.columns["counts"]
        f1 = precision_recall_f1(counts[:, 0], counts[:, 1], counts[:, 2])[2]
        return Contributions.mean(f1, notes=self._left_out(parts))

    def _count(self, trial: Trial, i: int, choices: list[Gold]) -> tuple[int, int, int]:
        parts = list(self._parts_of(trial, i))
        erasures = trial.bench.erasures
        best = min(parts, key=lambda part: erasures.probability(i, part[1]), default=None)
        chosen = np.zeros(len(choices[0].mask), dtype=bool) if best is None else best[0]
        return token_counts(chosen, choices[0].mask)

    def _parts_of(self, trial: Trial, i: int) -> Iterator[tuple[NDArray[np.bool_], NDArray[np.bool_]]]:
        """The rectangles of what is selected, each with what is left without it."""
        explanation = trial.explanations[i]
        assert isinstance(explanation, Alignments)
        selected = self._selected(trial, i)
        shape = (len(explanation.premise), len(explanation.hypothesis))
        for top, bottom, left, right in rectangles(selected.reshape(shape)):
            part = np.zeros(shape, dtype=bool)
            part[top : bottom + 1, left : right + 1] = True
            flat = part.reshape(-1)
            yield flat, selected & ~flat
