"""What sufficiency and comprehensiveness have in common: which words are erased, and how values become one number."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from saywhy.metrics.base import check_option
from saywhy.metrics.erasing import BINS, Cutting
from saywhy.metrics.parts import Contributions, Parts
from saywhy.metrics.selection import require_explanations
from saywhy.metrics.trial import Trial
from saywhy.ops.faithfulness import AOPCS, SMALLEST_DROP, aopc

__all__ = ["SCORES", "Faithfulness"]

SCORES = ("eraser", "normalised")


@dataclass(frozen=True, kw_only=True, init=False)
class Faithfulness(Cutting):
    """Base of the metrics that erase the words an explanation ranks first, or all others.

    Scores are cut at each of ``bins`` and the values are joined by ``aopc``. A rationale is its own and only cut:
    no AOPC is taken. The class is the one predicted on the full input, right or wrong. All examples count; ``values``
    are in their order, ``bins`` of the result holds the mean at each size. For alignments, read pairs of words where
    it says words.

    Edge cases: the whole text as rationale has eraser sufficiency 0 and normalised values 1; no word selected has
    eraser comprehensiveness 0 and normalised values 0; equal scores select the earlier words; a text of one word is
    selected whole by ``ceil`` and ``round``. Where erasing everything does not lower the probability, the
    normalised scores divide by `saywhy.ops.faithfulness.SMALLEST_DROP`, and a note says for how many examples.

    Args:
        score: ``eraser`` (differences of probabilities) or ``normalised`` (relative to erasing everything).
        aopc: ``mean`` over the bins, or ``n-plus-1``: their sum over one more than their number.
        bins: shares of the words that are taken as the rationale.
        rounding: of share times words: ``ceil`` and ``round`` take at least one word, ``floor`` may take none.
        samples: bootstrap resamples behind the interval.
        level: coverage the interval aims at.
    """

    scoring: str  # the option `score`, under another name because `score` is the verb
    aopc: str

    family: ClassVar[str] = "faithfulness"
    paper: ClassVar[str] = "DeYoung et al., ERASER, ACL 2020; normalised: REGEX, section 3.5"

    def __init__(
        self,
        *,
        score: str = "eraser",
        aopc: str = "mean",
        bins: Sequence[float] = BINS,
        rounding: str = "ceil",
        samples: int = 1000,
        level: float = 0.95,
    ) -> None:
        check_option(self.name, "score", score, SCORES)
        check_option(self.name, "aopc", aopc, AOPCS)
        values = {"scoring": score, "aopc": aopc, "bins": bins, "rounding": rounding}
        for key, value in {**values, "samples": samples, "level": level}.items():
            object.__setattr__(self, key, value)
        self.__post_init__()

    @property
    def options(self) -> dict[str, Any]:
        """All options, as they are recorded in the result."""
        return {name: self.scoring if name == "score" else getattr(self, name) for name in self.option_names()}

    @property
    def range(self) -> tuple[float, float]:
        """Eraser scores lie in [-1, 1], normalised ones in [0, 1]; ``n-plus-1`` shrinks both by n / (n + 1)."""
        n = len(self.bins)
        top = 1.0 if self.aopc == "mean" else n / (n + 1)
        return (-top if self.scoring == "eraser" else 0.0, top)

    @abstractmethod
    def _keep(self, rationale: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """The words left in the text for a rationale."""

    @abstractmethod
    def _value(
        self, full: NDArray[np.float64], left: NDArray[np.float64], empty: NDArray[np.float64] | None
    ) -> NDArray[np.float64]:
        """Score from the probabilities of the full text, of what is left, and of nothing (normalised only)."""

    def prepare(self, trial: Trial) -> None:
        """Announce the masks, so that both metrics' erasures go through one call of the space."""
        super().prepare(trial)
        if self.scoring == "normalised":
            for i in range(len(trial.explanations)):
                trial.bench.erasures.request(i, trial.bench.erasures.empty(i))

    def measure(self, trial: Trial) -> Parts:
        """Erase, ask the model, and compare with what it said about the full text."""
        rationales = require_explanations(self.name, trial)
        self.prepare(trial)
        erasures = trial.bench.erasures
        table = self._cuts(trial)
        left = np.asarray([[erasures.probability(i, self._keep(c)) for c in cuts] for i, cuts in enumerate(table)])
        owners = range(len(table))
        full = np.asarray([[erasures.probability(i, erasures.full(i))] for i in owners])
        empty, flat = None, 0
        if self.scoring == "normalised":
            empty = np.asarray([[erasures.probability(i, erasures.empty(i))] for i in owners])
            flat = int((full - empty < SMALLEST_DROP).sum())
        others = sum(e.header.target != e.header.prediction.label for e in trial.explanations)
        return Parts(
            np.arange(len(table)),
            {"values": self._value(full, left, empty)},
            len(table),
            {"flat": flat, "others": others},
            {"rationales": rationales},
        )

    def contributions(self, parts: Parts) -> Contributions:
        """The values at each size, joined."""
        values, notes = parts.columns["values"], []
        rationales = parts.facts["rationales"]
        joined = values[:, 0] if rationales else aopc(values, self.aopc)
        if parts.counts["flat"]:
            notes.append(
                f"erasing everything does not lower the probability of {parts.counts['flat']} of {parts.seen} examples"
            )
        if rationales:
            notes.append("the rationales' own selections are erased; bins and aopc do not apply")
        if parts.counts["others"]:
            notes.append(
                f"{parts.counts['others']} explanations are of another class than the predicted one, which is measured"
            )
        return Contributions.mean(
            joined,
            bins=self._bin_means(parts, values),
            bounds=(-1.0 if self.scoring == "eraser" else 0.0, 1.0) if rationales else None,
            notes=tuple(notes),
        )
