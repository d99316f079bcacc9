"""LIME: a linear model of the model, around one input."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from saywhy.errors import OptionError
from saywhy.explainers.base import Explainer, Request, register
from saywhy.explainers.inquiry import Inquiry, open_space
from saywhy.explainers.players import Players
from saywhy.explainers.rounds import check_sampling, input_generator, sample_in_rounds, value_bounds
from saywhy.ops.least_squares import Fit, relative_error, ridge_fit
from saywhy.ops.subsets import every_subset, random_subsets, spread_sizes
from saywhy.ops.surrogate import Surrogate, fit_surrogate
from saywhy.types import Explanation

__all__ = ["Lime"]

SAMPLINGS = ("lime", "bernoulli")
DESIGNS = ("spread", "plain")
DISTANCES = ("cosine", "hamming")
KERNELS = ("exponential", "uniform")
# How many masks the stand-in is asked, which costs next to nothing, and from how many features on it would cost more.
FREE = 10_000
MOST_FEATURES = 512


@register
@dataclass(frozen=True)
class Lime(Explainer):
    """The weights of a linear model fitted to the target's values on randomly erased copies of the input.

    Reference: Ribeiro, Singh, Guestrin: "Why Should I Trust You?", KDD 2016, section 3.4 and algorithm 1; the defaults
    are those of the authors' package for text.

    Options:
        samples: erased copies at most.
        tolerance: stop when the estimated error is below it; None: draw all samples. The error is the root mean square
            of the scores' standard errors (jackknife), relative to the largest score.
        sampling: how many features are erased: ``lime``, any number from 1 to all with the same chance; ``bernoulli``,
            each feature with chance 1/2.
        kernel: the weight of a copy: ``exponential``, exp(-d^2 / (2 width^2)); ``uniform``, all the same.
        distance: d: ``cosine``, 100 (1 - cos) between the masks of copy and input; ``hamming``, the per cent erased.
        kernel_width: the width.
        alpha: the ridge. It counts as it does with all ``samples``, also where sampling stops early.
        design: ``spread``: copies are drawn more often the more they weigh and count the less for it, numbers of erased
            features come as evenly as possible, and where there are no more copies than ``samples`` each is taken
            once. ``plain``: drawn independently and weighted, as in the package.
        output: ``probability`` (default) or ``logit`` of the target.
        space: ``words`` (default) or ``alignments``.
        erasure: what erasing means; by default ``delete``, or ``mask-token`` where positions must stay.

    Departures: ``design="spread"`` has the same solution for infinitely many samples and a smaller error for few. Each
    occurrence of a word is a feature of its own (``bow=False`` in the package), and none is selected beforehand. The
    input itself counts as one copy, as in the package, but as samples / 2^n of n features where that is more: with
    fewer, a text of two words has no single solution.
    """

    name: ClassVar[str] = "lime"
    family: ClassVar[str] = "perturbation"
    needs: ClassVar[tuple[str, ...]] = ("outputs",)
    spaces: ClassVar[tuple[str, ...]] = ("words", "alignments")
    paper: ClassVar[str] = "Ribeiro et al. 2016"

    samples: int = 1000
    tolerance: float | None = 0.05
    sampling: str = "lime"
    kernel: str = "exponential"
    distance: str = "cosine"
    kernel_width: float = 25.0
    alpha: float = 1.0
    design: str = "spread"
    output: str = "probability"
    space: str = "words"
    erasure: str | None = None

    def explain(self, request: Request) -> list[Explanation]:  # noqa: D102
        self._check()
        space = open_space(request, self.space, self.erasure)
        inquiry = Inquiry(request, space, self.output)
        players = Players(inquiry)
        whole = inquiry.whole()
        local = [
            _Local(self, int(size), float(whole[i]), value_bounds(request, i, self.output), input_generator(request, i))
            for i, size in enumerate(players.sizes)
        ]
        errors = sample_in_rounds(players, local, self.samples, self.tolerance)
        return self.word_scores(
            request,
            space.encoded,
            inquiry.scores(),
            players.spread([item.scores() for item in local]),
            errors,
            inquiry.costs(),
            erasure=space.erasure,
        )

    def _check(self) -> None:
        check_sampling(self.samples, self.tolerance)
        for option, allowed in (
            ("sampling", SAMPLINGS),
            ("kernel", KERNELS),
            ("distance", DISTANCES),
            ("design", DESIGNS),
        ):
            if getattr(self, option) not in allowed:
                raise OptionError(f"unknown {option} {getattr(self, option)!r}; use one of {', '.join(allowed)}")
        if self.kernel_width <= 0:
            raise OptionError(f"kernel_width must be positive, not {self.kernel_width}")
        if self.alpha < 0:
            raise OptionError(f"alpha must not be negative, not {self.alpha}")

    def weight(self, erased: np.ndarray, features: int) -> np.ndarray:
        """What copies with so many features erased weigh."""
        if self.kernel == "uniform":
            return np.ones(np.shape(erased))
        if self.distance == "cosine":
            # The cosine between k ones among n and n ones; for no ones at all the distance is 1.
            far = 100 * (1 - np.sqrt((features - erased) / features))
        else:
            far = 100 * np.asarray(erased) / features
        return np.asarray(np.exp(-(far**2) / (2 * self.kernel_width**2)))

    def chances(self, features: int) -> np.ndarray:
        """The probability of each number of erased features, from none to all."""
        if self.sampling == "lime":
            return np.asarray([0.0] + [1 / features] * features)
        steps = np.arange(features)
        logs = np.concatenate([[0.0], np.cumsum(np.log((features - steps) / (steps + 1)))])
        return np.asarray(np.exp(logs - features * np.log(2)))


class _Local:
    """The linear model of one input."""

    def __init__(
        self,
        how: Lime,
        features: int,
        whole: float,
        bounds: tuple[float, float] | None,
        rng: np.random.Generator,
    ) -> None:
        self.how = how
        self.features = features
        self.taken = 0
        self.least = 3 * features
        self._rng = rng
        self._bounds = bounds if features <= MOST_FEATURES and how.design == "spread" else None
        self._start = float(rng.random())
        self._all = how.design == "spread" and features < 60 and 2**features <= how.samples
        # The input itself is the first copy.
        self._masks = [np.ones((1, features), dtype=bool)]
        self._values = [np.full(1, whole)]
        self._surrogate: Surrogate | None = None
        self._rest = np.zeros(features)

    def draw(self, count: int) -> np.ndarray:
        n, rng = self.features, self._rng
        if self._all:
            masks = every_subset(n)[:-1] if self.taken == 0 else np.zeros((0, n), dtype=bool)
        elif self.how.design == "plain":
            lime = self.how.sampling == "lime"
            masks = ~random_subsets(rng, n, rng.integers(1, n + 1, count) if lime else rng.binomial(n, 0.5, count))
        else:
            masks = ~random_subsets(rng, n, spread_sizes(self._start, self.taken, count, self._drawn()))
        self._masks.append(masks)
        self.taken += len(masks)
        return masks

    def learn(self, values: np.ndarray) -> None:
        self._values.append(values)

    def error(self) -> float:
        masks, values = np.concatenate(self._masks), np.concatenate(self._values)
        weights = self._weights(masks)
        groups = np.where(self._all | (np.arange(len(masks)) == 0), -1, np.arange(len(masks)))
        if self._bounds is not None and not self._all:
            self._surrogate = fit_surrogate(masks, values, weights, self._bounds)
        fit = ridge_fit(masks, values, weights, self.how.alpha, groups)
        if self._surrogate is not None:
            own = ridge_fit(masks, self._surrogate.values(masks), weights, self.how.alpha)
            self._surrogate = self._surrogate.share(fit.missed, own.missed)
            fit = ridge_fit(masks, values - self._surrogate.values(masks), weights, self.how.alpha, groups)
        self._rest = fit.coefficients
        if self._surrogate is None:
            return relative_error(self._rest, fit.errors)
        # A tenth of the free masks do to know how precise all of them are.
        own = self._simulated(self._surrogate, FREE // 10)
        errors = np.hypot(fit.errors * self._surrogate.inflation(len(values)), own.errors / np.sqrt(10))
        return relative_error(self._rest + own.coefficients, errors)

    def scores(self) -> np.ndarray:
        """The weights of the linear model."""
        return (
            self._rest if self._surrogate is None else self._rest + self._simulated(self._surrogate, FREE).coefficients
        )

    def _simulated(self, surrogate: Surrogate, count: int) -> Fit:
        """The linear model of the stand-in, from so many masks that cost nothing."""
        # A generator of its own: what is drawn for the model must not depend on when somebody looked.
        rng = np.random.default_rng(int(self._start * 2**53))
        masks = ~random_subsets(rng, self.features, spread_sizes(self._start, 0, count, self._drawn()))
        masks[0] = True
        return ridge_fit(masks, surrogate.values(masks), self._weights(masks), self.how.alpha)

    def _weights(self, masks: np.ndarray) -> np.ndarray:
        """What copies weigh, the first of which is the input itself."""
        erased, samples = self.features - masks.sum(axis=1), self.how.samples
        weights = self.how.weight(erased, self.features)
        if self.how.design == "plain":
            return weights
        chances = self.how.chances(self.features)
        if self._all:
            chances = chances / np.bincount(erased)
            weights = weights * chances[erased] * samples
        else:
            weights = weights * (chances / np.maximum(self._drawn(), 1e-300))[erased] * (samples / len(masks))
        # One copy of all, as in the package; in a short text at least as many as of any other.
        weights[0] = max(1.0, samples * 0.5**self.features)
        return weights

    def _drawn(self) -> np.ndarray:
        """With which chances numbers of erased features are drawn."""
        # Between what they come with and what they weigh: the linear model misses more of what is far, and what is far
        # is shorter and costs less.
        wanted = self.how.chances(self.features) * np.sqrt(self.how.weight(np.arange(self.features + 1), self.features))
        wanted[0] = 0.0
        return np.asarray(wanted / wanted.sum())
