"""What metrics that ask about partly erased inputs have in common: checks, and how explanations become masks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from saywhy.errors import InputError, OptionError
from saywhy.metrics.base import Metric, check_option
from saywhy.metrics.erasures import Answer
from saywhy.metrics.parts import Parts
from saywhy.metrics.selection import features_of, own_selection, ranking_of, require_explanations
from saywhy.metrics.trial import Trial, Workbench
from saywhy.ops.ranking import ROUNDINGS

__all__ = ["BINS", "Cutting", "Erasing", "Keeping", "Selecting", "check_share"]

BINS = (0.01, 0.05, 0.1, 0.2, 0.5)

Mask = NDArray[np.bool_]


def check_share(metric: str, share: float) -> None:
    """Raise `OptionError` unless ``top`` is a share of the words."""
    if not 0 < share <= 1:
        raise OptionError(f"{metric}: top is a share of the words between 0 and 1, not {share}")


@dataclass(frozen=True, kw_only=True)
class Erasing(Metric):
    """Base of the metrics that ask the model about partly erased inputs, over words or over alignments."""

    spaces: ClassVar[tuple[str, ...]] = ("words", "alignments")

    @property
    def erases(self) -> bool:
        """It does."""
        return True

    def check_model(self, bench: Workbench) -> None:
        """Raise an error if the model's words, or alignments, cannot be erased in this way."""
        from saywhy.models.erasures import check_erasure
        from saywhy.models.text_model import TextModel

        super().check_model(bench)
        if not self.erases or not isinstance(bench.model, TextModel):
            return
        if bench.space == "alignments":
            from saywhy.models.alignment_space import check_alignments

            check_alignments(bench.model)
        else:
            check_erasure(bench.model, bench.erasure)

    def _check_features(self, trial: Trial) -> None:
        """Raise an error if explanations are of other words than can be erased."""
        for i, allowed in enumerate(trial.bench.erasures.space.features):
            given = features_of(trial, i)
            if given != tuple(allowed):
                raise InputError(
                    f"{self.name}: {trial.method or 'the method'} explains other {trial.bench.space} of "
                    f"{trial.bench.examples[i].where()} (number {i}) than can be erased: {len(given)} against "
                    f"{len(allowed)}; take them from model.words(example)"
                )


@dataclass(frozen=True, kw_only=True)
class Cutting(Erasing):
    """Base of the metrics that cut scores at several sizes; a rationale is its own and only cut.

    Attributes:
        bins: shares of the words (or of the pairs) that are taken as the rationale.
        rounding: of share times words: ``ceil`` and ``round`` take at least one word, ``floor`` may take none.
    """

    bins: tuple[float, ...] = BINS
    rounding: str = "ceil"

    bins_are: ClassVar[str] = "shares"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_option(self.name, "rounding", self.rounding, ROUNDINGS)
        given: Sequence[float] = self.bins
        shares = tuple(float(b) for b in given)
        if not shares or not all(0 <= b <= 1 for b in shares) or len(set(shares)) < len(shares):
            raise OptionError(f"{self.name}: bins must be different shares between 0 and 1, not {list(given)}")
        object.__setattr__(self, "bins", shares)

    def prepare(self, trial: Trial) -> None:
        """Announce the masks, so that several metrics' erasures go through one call of the space."""
        require_explanations(self.name, trial)
        for i, cuts in enumerate(self._cuts(trial)):
            for cut in cuts:
                trial.bench.erasures.request(i, self._keep(cut))

    def _keep(self, rationale: Mask) -> Mask:
        """What is left in the input for a rationale; by default all but it."""
        return ~rationale

    def _cuts(self, trial: Trial) -> list[list[Mask]]:
        """For each example its rationales: one for each bin, or its own."""
        self._check_features(trial)
        table = []
        for i in range(len(trial.explanations)):
            own = own_selection(trial, i)
            if own is not None:
                table.append([own])
                continue
            ranking = ranking_of(trial, i)
            table.append([ranking.top(b, self.rounding) for b in self.bins])
        return table

    def _bin_means(self, parts: Parts, values: NDArray[np.float64]) -> dict[str, float]:
        """The mean of N x B values at each size, by its name."""
        names = ["selected"] if parts.facts["rationales"] else [f"{b:g}" for b in self.bins]
        return dict(zip(names, values.mean(axis=0).tolist(), strict=True))


@dataclass(frozen=True, kw_only=True)
class Selecting(Erasing):
    """Base of the metrics of one selection: a rationale's own, or what scores select.

    Attributes:
        top: share of the words (or of the pairs) that scores select.
        rounding: of share times words: ``ceil`` and ``round`` take at least one word, ``floor`` may take none.
        until: if given, scores select in descending order until the `fidelity` is at most this, so that each example
            has the size it needs, which may be none; ``top`` does not apply. It costs a model call for each size tried.
            The name of another method of the run, such as ``arec``: until the fidelity is at most that of what this
            method selects, plus ``slack``, example by example.
        slack: what is allowed above the other method's fidelity.
    """

    top: float = 0.2
    rounding: str = "ceil"
    until: float | str | None = None
    slack: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        check_option(self.name, "rounding", self.rounding, ROUNDINGS)
        check_share(self.name, self.top)
        if not isinstance(self.until, str | None) and not self.until >= 0:
            raise OptionError(f"{self.name}: until is a distance of at least 0, not {self.until}")

    @property
    def compares(self) -> bool:
        """Where another method sets the bound."""
        return isinstance(self.until, str)

    def _selections(self, trial: Trial) -> list[Mask]:
        """What each explanation selects."""
        if not require_explanations(self.name, trial) and self.until is not None:
            return self._sufficient(trial, self._bounds(trial, self.until))
        found = []
        for i in range(len(trial.explanations)):
            own = own_selection(trial, i)
            found.append(ranking_of(trial, i).top(self.top, self.rounding) if own is None else own)
        return found

    def _bounds(self, trial: Trial, until: float | str) -> list[float]:
        """The largest distance allowed for each example."""
        if not isinstance(until, str):
            return [until] * len(trial.explanations)
        if until not in trial.rivals:
            raise OptionError(f"{self.name}: until={until!r} is not one of the other methods of the run")
        rival, erasures = trial.rival(until), trial.bench.erasures
        chosen = [own_selection(rival, i) for i in range(len(trial.explanations))]
        for i, mask in enumerate(chosen):
            if mask is None:
                raise OptionError(f"{self.name}: until={until!r} gives scores and selects nothing; name a rationale's")
            erasures.request(i, mask)
        return [erasures.answer(i, mask).distance + self.slack for i, mask in enumerate(chosen) if mask is not None]

    def _sufficient(self, trial: Trial, bounds: Sequence[float]) -> list[Mask]:
        """The shortest beginning of each ranking whose fidelity is at most the bound.

        Reference: AREC, section 4.1.2 and footnote 9; Carter et al., What made you do this? Understanding black-box
        decisions with sufficient input subsets, AISTATS 2019.
        """
        self._check_features(trial)
        erasures = trial.bench.erasures
        rankings = [ranking_of(trial, i) for i in range(len(trial.explanations))]
        found: dict[int, Mask] = {}
        start, step = 0, 4
        # Sizes are tried for all examples together, in growing steps: few calls, and at most about twice the masks.
        while len(found) < len(rankings):
            left = [i for i in range(len(rankings)) if i not in found]
            sizes = {i: range(start, min(start + step, rankings[i].size + 1)) for i in left}
            for i in left:
                for k in sizes[i]:
                    erasures.request(i, rankings[i].first(k))
            for i in left:
                masks = (rankings[i].first(k) for k in sizes[i])
                fit = next((m for m in masks if erasures.answer(i, m).distance <= bounds[i]), None)
                if fit is None and start + step > rankings[i].size:
                    fit = rankings[i].first(rankings[i].size)
                if fit is not None:
                    found[i] = fit
            start, step = start + step, 2 * step
        return [found[i] for i in range(len(rankings))]


@dataclass(frozen=True, kw_only=True)
class Keeping(Selecting):
    """Base of the metrics that ask what the model says of the selection alone, and of nothing."""

    def prepare(self, trial: Trial) -> None:
        """Announce the masks, where they do not depend on answers."""
        if require_explanations(self.name, trial) or self.until is None:
            self._check_features(trial)
            for i, mask in enumerate(self._selections(trial)):
                trial.bench.erasures.request(i, mask)
                trial.bench.erasures.request(i, trial.bench.erasures.empty(i))

    def _answers(self, trial: Trial) -> tuple[list[Answer], list[Answer]]:
        """For each example what the model says of the selection alone, and of nothing."""
        require_explanations(self.name, trial)
        self._check_features(trial)
        self.prepare(trial)
        erasures = trial.bench.erasures
        kept = [erasures.answer(i, mask) for i, mask in enumerate(self._selections(trial))]
        for i in range(len(kept)):
            erasures.request(i, erasures.empty(i))
        return kept, [erasures.answer(i, erasures.empty(i)) for i in range(len(kept))]
