"""What sufficiency and comprehensiveness have in common: which words are erased, and how values become one number."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from saywhy.errors import InputError, OptionError
from saywhy.metrics.base import Metric, check_option
from saywhy.metrics.selection import own_selection, require_explanations, scores_of, words_of
from saywhy.metrics.trial import Trial, Workbench
from saywhy.ops.faithfulness import AOPCS, SMALLEST_DROP, aopc
from saywhy.ops.ranking import ROUNDINGS, ranks, top_count
from saywhy.types import MetricResult

__all__ = ["SCORES", "Faithfulness"]

SCORES = ("eraser", "normalised")


@dataclass(frozen=True, kw_only=True, init=False)
class Faithfulness(Metric):
    """Base of the metrics that erase the words an explanation ranks first, or all others.

    Word scores are cut at each of ``bins`` and the values are joined by ``aopc``. A rationale is its own and only cut:
    no AOPC is taken. The class is the one predicted on the full input, right or wrong. All examples count; ``values``
    are in their order, ``bins`` of the result holds the mean at each size.

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
    bins: tuple[float, ...]
    rounding: str

    family: ClassVar[str] = "faithfulness"
    paper: ClassVar[str] = "DeYoung et al., ERASER, ACL 2020; normalised: REGEX, section 3.5"

    def __init__(
        self,
        *,
        score: str = "eraser",
        aopc: str = "mean",
        bins: Sequence[float] = (0.01, 0.05, 0.1, 0.2, 0.5),
        rounding: str = "ceil",
        samples: int = 1000,
        level: float = 0.95,
    ) -> None:
        check_option(self.name, "score", score, SCORES)
        check_option(self.name, "aopc", aopc, AOPCS)
        check_option(self.name, "rounding", rounding, ROUNDINGS)
        shares = tuple(float(b) for b in bins)
        if not shares or not all(0 <= b <= 1 for b in shares) or len(set(shares)) < len(shares):
            raise OptionError(f"{self.name}: bins must be different shares between 0 and 1, not {list(bins)}")
        values = {"scoring": score, "aopc": aopc, "bins": shares, "rounding": rounding}
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

    def check(self, bench: Workbench) -> None:
        """Raise an error if the model's words cannot be erased in this way."""
        from saywhy.models.erasures import check_erasure
        from saywhy.models.text_model import TextModel

        if isinstance(bench.model, TextModel):
            check_erasure(bench.model, bench.erasure)

    def prepare(self, trial: Trial) -> None:
        """Announce the masks, so that both metrics' erasures go through one call of the space."""
        require_explanations(self.name, trial)
        erasures = trial.bench.erasures
        for i, cuts in enumerate(self._cuts(trial)):
            for cut in cuts:
                erasures.request(i, self._keep(cut))
            if self.scoring == "normalised":
                erasures.request(i, erasures.empty(i))

    def score(self, trial: Trial) -> MetricResult:
        """Erase, ask the model, and compare with what it said about the full text."""
        self.prepare(trial)
        erasures = trial.bench.erasures
        table = self._cuts(trial)
        left = np.asarray([[erasures.probability(i, self._keep(c)) for c in cuts] for i, cuts in enumerate(table)])
        owners = range(len(table))
        full = np.asarray([[erasures.probability(i, erasures.full(i))] for i in owners])
        empty, notes = None, []
        if self.scoring == "normalised":
            empty = np.asarray([[erasures.probability(i, erasures.empty(i))] for i in owners])
            flat = int((full - empty < SMALLEST_DROP).sum())
            if flat:
                notes.append(f"erasing everything does not lower the probability of {flat} of {len(table)} examples")
        values = self._value(full, left, empty)
        rationales = own_selection(trial, 0) is not None
        names = ["selected"] if rationales else [f"{b:g}" for b in self.bins]
        joined = values[:, 0] if rationales else aopc(values, self.aopc)
        if rationales:
            notes.append("the rationales' own selections are erased; bins and aopc do not apply")
        others = sum(e.header.target != e.header.prediction.label for e in trial.explanations)
        if others:
            notes.append(f"{others} explanations are of another class than the predicted one, which is measured")
        return self._result(
            trial,
            joined,
            values=joined.tolist(),
            bins=dict(zip(names, values.mean(axis=0).tolist(), strict=True)),
            erasure=trial.bench.erasure,
            bounds=(-1.0 if self.scoring == "eraser" else 0.0, 1.0) if rationales else None,
            notes=notes,
        )

    def _cuts(self, trial: Trial) -> list[list[NDArray[np.bool_]]]:
        """For each example its rationales: one for each bin, or its own."""
        features = trial.bench.erasures.space.features
        table = []
        for i, allowed in enumerate(features):
            words = words_of(trial, i)
            if tuple(words) != tuple(allowed):
                raise InputError(
                    f"{self.name}: {trial.method or 'the method'} explains other words of "
                    f"{trial.bench.examples[i].where()} (number {i}) than can be erased: {len(words)} against "
                    f"{len(allowed)}; take them from model.words(example)"
                )
            own = own_selection(trial, i)
            if own is not None:
                table.append([own])
                continue
            places = ranks(scores_of(trial, i))
            table.append([places < top_count(b, len(places), self.rounding) for b in self.bins])
        return table
