"""Interaction: alignments of any classifier of pairs, from the joint effect of removing two words."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from saywhy.errors import OptionError
from saywhy.explainers.base import Explainer, Request, register
from saywhy.explainers.inquiry import Inquiry, open_space
from saywhy.ops.randomness import numpy_generator
from saywhy.types import Explanation

__all__ = ["Interaction"]


@register
@dataclass(frozen=True)
class Interaction(Explainer):
    """How much more two words of different texts do together than each by itself: black boxes included.

    Reference: Grabisch, Roubens: An axiomatic approach to the concept of interaction among players in cooperative
    games, 1999 (the Shapley interaction index of pairs); for alignments it is the future work that AREC's section 5
    names, explanations that do not depend on a model's co-attention.

    In a context, some of the words of both texts, the interaction of premise word i and hypothesis word j is
    v(all) - v(without i) - v(without j) + v(without both). The index is its mean over contexts: all sizes count alike,
    and all contexts of a size. Inputs of few words are computed exactly; for others contexts are drawn, and sizes of
    which none was drawn are left out of a pair's mean.

    Options:
        exact: most words of both texts together for which all contexts are tried, at 2^words rows.
        contexts: how many contexts are drawn beyond that, besides the whole input. A context of a and b words costs
            (1 + a) (1 + b) rows. 0 looks at the whole input only: what the two words do beside all others.
        output: ``logit`` (default) or ``probability`` of the target.
        erasure: what removing a word means; by default ``delete``, or ``mask-token`` where positions must stay.

    A positive score says that the two words speak for the target together, more than the sum of what each does alone.
    """

    name: ClassVar[str] = "interaction"
    family: ClassVar[str] = "perturbation"
    needs: ClassVar[tuple[str, ...]] = ("outputs",)
    tasks: ClassVar[tuple[str, ...]] = ("pair",)
    spaces: ClassVar[tuple[str, ...]] = ("alignments",)
    paper: ClassVar[str] = "Grabisch and Roubens 1999"

    exact: int = 8
    contexts: int = 12
    output: str = "logit"
    erasure: str | None = None

    def explain(self, request: Request) -> list[Explanation]:  # noqa: D102
        for name in ("exact", "contexts"):
            if getattr(self, name) < 0:
                raise OptionError(f"{name} must be at least 0, not {getattr(self, name)}")
        space = open_space(request, "words", self.erasure)
        inquiry = Inquiry(request, space, self.output)
        tables = []
        for number, item in enumerate(space.encoded):
            first = sum(word.field == 0 for word in item.words)
            tables.append(self._index(request, inquiry, number, first, len(item.words) - first).reshape(-1))
        return self.word_scores(
            request,
            space.encoded,
            inquiry.scores(),
            tables,
            costs=inquiry.costs(),
            space="alignments",
            erasure=space.erasure,
        )

    def _index(self, request: Request, inquiry: Inquiry, number: int, first: int, second: int) -> np.ndarray:
        """The interactions of one input, first x second."""
        words = first + second
        if not first or not second:
            return np.zeros((first, second))
        if words <= self.exact:
            contexts = [
                np.asarray([i in chosen for i in range(words)])
                for size in range(2, words + 1)
                for chosen in map(set, itertools.combinations(range(words), size))
            ]
        else:
            contexts = self._drawn(request, number, words)
        # Means by size first: each size of context counts alike.
        totals, counts = np.zeros((words + 1, first, second)), np.zeros((words + 1, first, second))
        for context in contexts:
            here, there = np.flatnonzero(context[:first]), np.flatnonzero(context[first:])
            if len(here) and len(there):
                cells = np.ix_(np.asarray([context.sum()]), here, there)
                totals[cells] += self._together(inquiry, number, context, here, first + there)
                counts[cells] += 1
        means = totals / np.maximum(counts, 1)
        return np.asarray(means.sum(0) / np.maximum((counts > 0).sum(0), 1))

    def _drawn(self, request: Request, number: int, words: int) -> list[np.ndarray]:
        texts = request.examples[number].texts
        rng = numpy_generator(request.seed, "interaction", *map(ascii, texts))
        contexts = [np.ones(words, dtype=bool)]
        # Sizes are spread evenly over what is possible, from the largest down, as small contexts hold few pairs.
        for step in range(self.contexts):
            size = max(2, words - 1 - math.floor(step * (words - 2) / max(1, self.contexts)))
            chosen = np.zeros(words, dtype=bool)
            chosen[rng.permutation(words)[:size]] = True
            contexts.append(chosen)
        return contexts

    @staticmethod
    def _together(
        inquiry: Inquiry, number: int, context: np.ndarray, here: np.ndarray, there: np.ndarray
    ) -> np.ndarray:
        """The joint effects in one context, len(here) x len(there)."""
        masks = [context]
        for gone in (*([i] for i in here), *([j] for j in there), *([i, j] for i in here for j in there)):
            mask = context.copy()
            mask[gone] = False
            masks.append(mask)
        values = inquiry.values(np.full(len(masks), number), np.stack(masks))
        alone, other = values[1 : 1 + len(here)], values[1 + len(here) : 1 + len(here) + len(there)]
        both = values[1 + len(here) + len(there) :].reshape(len(here), len(there))
        return np.asarray(values[0] - alone[:, None] - other[None, :] + both)
