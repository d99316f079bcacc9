"""Shapley values: exact for short inputs, from random orders for long ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from saywhy.errors import InputError, OptionError
from saywhy.explainers.base import Explainer, Request, register
from saywhy.explainers.inquiry import Inquiry, open_space
from saywhy.explainers.players import Players
from saywhy.explainers.rounds import check_sampling, input_generator, sample_in_rounds
from saywhy.ops.least_squares import relative_error
from saywhy.ops.shapley import random_orders, shapley_values
from saywhy.ops.subsets import every_subset
from saywhy.types import Explanation

__all__ = ["Shapley"]

# 2^20 masks are a million model calls; orders of more features than these take as much memory as calls.
_MOST_EXACT = 20
_MOST_FEATURES = 4096


@register
@dataclass(frozen=True)
class Shapley(Explainer):
    """What a feature adds to the target when features join one after the other, on average over all orders.

    Reference: Shapley: A Value for n-Person Games, 1953; Castro, Gomez, Tejada: Polynomial calculation of the Shapley
    value based on sampling, 2009, for orders; Mitchell et al.: Sampling Permutations for Shapley Value Estimation, JMLR
    2022, section 4.1, for drawing an order together with its reverse.

    The scores sum to the value of the whole input less that of the empty one, also when they are estimated.

    Options:
        exact: inputs of up to so many features are enumerated: 2^n model calls and no error.
        samples: masks at most for longer inputs; an order of n features takes n - 1, and two pairs of orders are drawn
            in any case.
        tolerance: stop when the estimated error is below it; None: draw all samples. The error is the root mean square
            of the scores' standard errors over pairs of orders, relative to the largest score.
        output: ``probability`` (default) or ``logit`` of the target.
        space: ``words`` (default) or ``alignments``.
        erasure: what leaving a feature out means; by default ``delete``, or ``mask-token`` where positions must stay.

    ``kernel-shap`` estimates the same values with fewer model calls; this is the plain estimate to check it by.
    """

    name: ClassVar[str] = "shapley"
    family: ClassVar[str] = "perturbation"
    needs: ClassVar[tuple[str, ...]] = ("outputs",)
    spaces: ClassVar[tuple[str, ...]] = ("words", "alignments")
    paper: ClassVar[str] = "Shapley 1953"

    exact: int = 12
    samples: int = 2000
    tolerance: float | None = 0.05
    output: str = "probability"
    space: str = "words"
    erasure: str | None = None

    def explain(self, request: Request) -> list[Explanation]:  # noqa: D102
        check_sampling(self.samples, self.tolerance)
        if not 0 <= self.exact <= _MOST_EXACT:
            raise OptionError(f"exact must be between 0 and {_MOST_EXACT}, not {self.exact}: it takes 2^n model calls")
        space = open_space(request, self.space, self.erasure)
        inquiry = Inquiry(request, space, self.output)
        players = Players(inquiry)
        if players.widest > _MOST_FEATURES:
            where = space.encoded[int(players.sizes.argmax())].example.where()
            raise InputError(
                f"{where}: {players.widest} features are too many to join one by one (at most {_MOST_FEATURES}); "
                "use kernel-shap"
            )
        numbers = np.arange(len(players.sizes))
        empty = players.values(numbers, np.zeros((len(numbers), players.widest), dtype=bool))
        whole = inquiry.whole()
        games: list[_All | _Orders] = []
        for i, size in enumerate(players.sizes):
            if size <= max(1, self.exact):
                games.append(_All(int(size), float(whole[i])))
            else:
                ends = float(empty[i]), float(whole[i])
                games.append(_Orders(int(size), ends, self.samples, input_generator(request, i)))
        errors = sample_in_rounds(players, games, self.samples, self.tolerance)
        return self.word_scores(
            request,
            space.encoded,
            inquiry.scores(),
            players.spread([game.scores for game in games]),
            errors,
            inquiry.costs(),
            erasure=space.erasure,
        )


class _All:
    """The Shapley values of an input with few features, from all masks."""

    def __init__(self, features: int, whole: float) -> None:
        self.features = features
        self.taken = 0
        self.least = 2**features
        self._whole = whole
        self.scores = np.zeros(features)

    def draw(self, count: int) -> np.ndarray:
        # The value of the last one, the whole input, is known.
        masks = every_subset(self.features)[: 0 if self.taken else -1]
        self.taken += len(masks)
        return masks

    def learn(self, values: np.ndarray) -> None:
        self.scores = shapley_values(np.append(values, self._whole))

    def error(self) -> float:
        return 0.0


class _Orders:
    """The Shapley values of an input with many features, from orders in which they join."""

    def __init__(self, features: int, ends: tuple[float, float], samples: int, rng: np.random.Generator) -> None:
        self.features = features
        self.taken = 0
        self._pair = 2 * (features - 1)
        self.least = 4 * self._pair
        self.scores = np.zeros(features)
        self._ends = ends
        self._samples = samples
        self._rng = rng
        self._orders = np.zeros((0, features), dtype=np.int64)
        self._gains: list[np.ndarray] = []

    def draw(self, count: int) -> np.ndarray:
        n = self.features
        pairs = count // self._pair
        if self.taken == 0:
            pairs = max(2, pairs)
        elif pairs == 0 and self.taken + self._pair <= self._samples:
            pairs = 1
        self._orders = random_orders(self._rng, n, 2 * pairs)
        ranks = self._orders.argsort(axis=1)
        masks = ranks[:, None, :] < np.arange(1, n)[None, :, None]
        self.taken += masks.shape[0] * masks.shape[1]
        return masks.reshape(-1, n)

    def learn(self, values: np.ndarray) -> None:
        inner = values.reshape(len(self._orders), -1)
        start, end = (np.full((len(inner), 1), value) for value in self._ends)
        joined = np.diff(np.concatenate([start, inner, end], axis=1), axis=1)
        gains = np.zeros(joined.shape)
        np.put_along_axis(gains, self._orders, joined, axis=1)
        # An order and its reverse were drawn together, and count as one.
        self._gains.append((gains[::2] + gains[1::2]) / 2)

    def error(self) -> float:
        gains = np.concatenate(self._gains)
        self.scores = gains.mean(axis=0)
        return relative_error(self.scores, gains.std(axis=0, ddof=1) / np.sqrt(len(gains)))
