"""Kernel SHAP: Shapley values by weighted least squares on sampled masks."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb
from typing import ClassVar

import numpy as np

from saywhy.explainers.base import Explainer, Request, register
from saywhy.explainers.inquiry import Inquiry, open_space
from saywhy.explainers.players import Players
from saywhy.explainers.rounds import check_sampling, input_generator, sample_in_rounds, value_bounds
from saywhy.ops.least_squares import constrained_fit, relative_error
from saywhy.ops.shapley import shapley_of_surrogate, size_weights
from saywhy.ops.subsets import random_subsets, spread_sizes, subsets_of_size
from saywhy.ops.surrogate import Surrogate, fit_surrogate
from saywhy.types import Explanation

__all__ = ["KernelShap"]

# From how many features on a stand-in for the model would cost more than it saves.
MOST_FEATURES = 512


@register
@dataclass(frozen=True)
class KernelShap(Explainer):
    """Shapley values, found as the weights of a linear model that must explain the whole and the empty input exactly.

    Reference: Lundberg and Lee: A Unified Approach to Interpreting Model Predictions, NeurIPS 2017, theorem 2 and
    section 4.1; Covert and Lee: Improving KernelSHAP, AISTATS 2021, section 4, for drawing a mask together with its
    complement.

    Sizes of masks are taken from the outside in: all masks of a size where the samples suffice, then random ones of the
    sizes in between, each with its complement. The scores always sum to the value of the whole input less that of the
    empty one, and with 2^n - 2 samples for n features they are the Shapley values.

    Options:
        samples: masks at most, besides the whole and the empty one.
        tolerance: stop when the estimated error is below it; None: draw all samples. The error is the root mean square
            of the scores' standard errors (jackknife over pairs), relative to the largest score.
        output: ``probability`` (default) or ``logit`` of the target.
        space: ``words`` (default) or ``alignments``.
        erasure: what leaving a feature out means; by default ``delete``, or ``mask-token`` where positions must stay.

    Departures: the absent features are erased, not replaced by those of background data. What a model of the logit
    with a gain for each feature and each near pair explains of the probabilities is subtracted before the fit, and its
    Shapley values, which cost no model calls, are added after it: the same expectation with less noise.
    """

    name: ClassVar[str] = "kernel-shap"
    family: ClassVar[str] = "perturbation"
    needs: ClassVar[tuple[str, ...]] = ("outputs",)
    spaces: ClassVar[tuple[str, ...]] = ("words", "alignments")
    paper: ClassVar[str] = "Lundberg and Lee 2017"

    samples: int = 1000
    tolerance: float | None = 0.05
    output: str = "probability"
    space: str = "words"
    erasure: str | None = None

    def explain(self, request: Request) -> list[Explanation]:  # noqa: D102
        check_sampling(self.samples, self.tolerance)
        space = open_space(request, self.space, self.erasure)
        inquiry = Inquiry(request, space, self.output)
        players = Players(inquiry)
        numbers = np.arange(len(players.sizes))
        empty = players.values(numbers, np.zeros((len(numbers), players.widest), dtype=bool))
        whole = inquiry.whole()
        games = [
            _Game(
                int(size),
                (float(empty[i]), float(whole[i])),
                self.samples,
                value_bounds(request, i, self.output),
                input_generator(request, i),
            )
            for i, size in enumerate(players.sizes)
        ]
        errors = sample_in_rounds(players, games, self.samples, self.tolerance)
        return self.word_scores(
            request,
            space.encoded,
            inquiry.scores(),
            players.spread([game.scores() for game in games]),
            errors,
            inquiry.costs(),
            erasure=space.erasure,
        )


class _Game:
    """The Shapley values of one input's features."""

    def __init__(
        self,
        features: int,
        ends: tuple[float, float],
        samples: int,
        bounds: tuple[float, float] | None,
        rng: np.random.Generator,
    ) -> None:
        self.features = features
        self.taken = 0
        self._ends = ends
        self._bounds = bounds if features <= MOST_FEATURES else None
        self._rng = rng
        self._start = float(rng.random())
        self._surrogate: Surrogate | None = None
        self._rest = np.full(features, (ends[1] - ends[0]) / features)
        # Sizes up to the half; the others come with them, as complements.
        weights = size_weights(features)
        self._mass = np.asarray(
            [weights[s - 1] + weights[-s] * (2 * s != features) for s in range(1, features // 2 + 1)]
        )
        self._listed = self._affordable(samples)
        self._masks = [_of_size(features, size) for size in range(1, self._listed + 1)]
        self._first = sum(map(len, self._masks))
        self._values: list[np.ndarray] = []
        self.least = self._first + 2 * features

    def _affordable(self, samples: int) -> int:
        """Up to which size all masks are taken: as long as drawing would bring as many of them."""
        left = samples
        for place, mass in enumerate(self._mass):
            size = place + 1
            count = comb(self.features, size) * (1 if 2 * size == self.features else 2)
            if count > left * mass / self._mass[place:].sum() * (1 + 1e-9):
                return place
            left -= count
        return len(self._mass)

    def _drawn(self) -> np.ndarray:
        """With which chances the sizes are drawn of which not all masks are taken."""
        # Between what they weigh and all alike: the measured error was the least.
        wanted = np.sqrt(self._mass[self._listed :])
        return np.asarray(wanted / wanted.sum())

    def draw(self, count: int) -> np.ndarray:
        new = self._masks.copy() if self.taken == 0 else []
        pairs = (count - sum(map(len, new)) + 1) // 2
        if self._listed < len(self._mass) and pairs > 0:
            before = max(0, self.taken - self._first) // 2
            sizes = 1 + self._listed + spread_sizes(self._start, before, pairs, self._drawn())
            masks = random_subsets(self._rng, self.features, sizes)
            new.append(np.stack([masks, ~masks], axis=1).reshape(-1, self.features))
            self._masks.append(new[-1])
        self.taken += sum(map(len, new))
        return np.concatenate(new) if new else np.zeros((0, self.features), dtype=bool)

    def learn(self, values: np.ndarray) -> None:
        self._values.append(values)

    def error(self) -> float:
        masks, values = np.concatenate(self._masks), np.concatenate(self._values)
        groups = np.maximum(np.arange(len(masks)) - self._first, -2) // 2
        weights, (low, high) = self._weights(masks), self._ends
        fit = constrained_fit(masks, values - low, weights, high - low, groups)
        if self._bounds is not None and self._listed < len(self._mass):
            both = np.stack([np.zeros(self.features), np.ones(self.features)])
            every = np.concatenate([masks, both])
            found = fit_surrogate(every, np.append(values, self._ends), np.append(weights, [1.0, 1.0]), self._bounds)
            if found is not None:
                start, end = found.values(both)
                own = constrained_fit(masks, found.values(masks) - start, weights, end - start)
                found = found.share(fit.missed, own.missed)
                low, high = self._ends - found.values(both)
                fit = constrained_fit(masks, values - found.values(masks) - low, weights, high - low, groups)
            self._surrogate = found
        self._rest = fit.coefficients
        if self._surrogate is None:
            return relative_error(self._rest, fit.errors)
        simulated, free = self._simulated(self._surrogate)
        errors = np.hypot(fit.errors * self._surrogate.inflation(len(values)), free)
        return relative_error(self._rest + simulated, errors)

    def scores(self) -> np.ndarray:
        return self._rest if self._surrogate is None else self._rest + self._simulated(self._surrogate)[0]

    def _simulated(self, surrogate: Surrogate) -> tuple[np.ndarray, np.ndarray]:
        # A generator of its own: what is drawn for the model must not depend on when somebody looked.
        return shapley_of_surrogate(surrogate, np.random.default_rng(int(self._start * 2**53)))

    def _weights(self, masks: np.ndarray) -> np.ndarray:
        sizes = masks.sum(axis=1)
        small = np.minimum(sizes, self.features - sizes)
        # All masks of a size share what the size weighs; random ones share what is left, more where they are rare.
        counts = [comb(self.features, s) * (1 if 2 * s == self.features else 2) for s in range(1, self._listed + 1)]
        each = np.concatenate(
            [self._mass[: self._listed] / np.asarray(counts), np.zeros(len(self._mass) - self._listed)]
        )
        weights = each[small - 1]
        random = small > self._listed
        if random.any():
            rare = self._mass[small[random] - 1] / self._drawn()[small[random] - 1 - self._listed]
            weights[random] = rare * (self._mass[self._listed :].sum() / rare.sum())
        return weights


def _of_size(features: int, size: int) -> np.ndarray:
    """All masks of a size, and all that are their complements."""
    masks = subsets_of_size(features, size)
    return masks if 2 * size == features else np.concatenate([masks, ~masks])
