"""BackSelect: take away what is missed least, again and again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from saywhy.errors import OptionError
from saywhy.explainers.base import Explainer, Request, register
from saywhy.explainers.inquiry import Inquiry, open_space
from saywhy.explainers.players import Players
from saywhy.explainers.removal import values_without
from saywhy.types import Explanation

__all__ = ["BackSelect"]

# Values closer than this are equal but for rounding; the earlier feature goes first.
_EQUAL = 1e-6


@register
@dataclass(frozen=True)
class BackSelect(Explainer):
    """The order in which features go if each time the one goes whose loss keeps the target highest.

    Reference: Carter, Mueller, Jain, Gifford: What made you do this? Understanding black-box decisions with sufficient
    input subsets, AISTATS 2019, section 3, procedure BackSelect; on alignments: AREC, section 4.1.

    A score is the place in that order, out of n: 1/n for the feature that goes first, 1 for the one that stays longest.
    Scores say which features matter more, not how much. Features that the model does not read have the score 0.

    Options:
        step: the share of an input's features that goes at a time, and at least one. With one at a time n features take
            n (n + 1) / 2 - 1 model calls; the default of 0.05 does so up to 39 features, and beyond takes about 10 n.
            Features that go together are ordered by what the target keeps without each. 0: always one at a time.
        output: ``probability`` (default) or ``logit`` of the target.
        space: ``words`` (default) or ``alignments``.
        erasure: what taking away means; by default ``delete``, or ``mask-token`` where positions must stay.

    Departures: ``step``; the paper takes one at a time.
    """

    name: ClassVar[str] = "back-select"
    family: ClassVar[str] = "perturbation"
    needs: ClassVar[tuple[str, ...]] = ("outputs",)
    spaces: ClassVar[tuple[str, ...]] = ("words", "alignments")
    paper: ClassVar[str] = "Carter et al. 2019"

    step: float = 0.05
    output: str = "probability"
    space: str = "words"
    erasure: str | None = None

    def explain(self, request: Request) -> list[Explanation]:  # noqa: D102
        if not 0 <= self.step <= 1:
            raise OptionError(f"step must be between 0 and 1, not {self.step}")
        space = open_space(request, self.space, self.erasure)
        # What is left is less each time, so no mask comes twice.
        inquiry = Inquiry(request, space, self.output, remember=False)
        players = Players(inquiry)
        sizes = players.sizes.tolist()
        kept = [np.ones(size, dtype=bool) for size in sizes]
        scores = [np.ones(size) for size in sizes]
        gone = [0] * len(sizes)
        while waiting := [i for i, size in enumerate(sizes) if size - gone[i] > 1]:
            # All inputs advance together, so that batches are full.
            rest = [np.flatnonzero(kept[i]) for i in waiting]
            owner = np.repeat(waiting, [len(own) for own in rest])
            values = values_without(players, owner, [own[j : j + 1] for own in rest for j in range(len(own))], kept)
            for i, own, left in zip(
                waiting, rest, np.split(values, np.cumsum([len(o) for o in rest])[:-1]), strict=True
            ):
                count = min(max(1, int(self.step * sizes[i])), len(own) - 1)
                leaving = own[_highest_first(left)[:count]]
                scores[i][leaving] = (gone[i] + np.arange(1, count + 1)) / sizes[i]
                kept[i][leaving] = False
                gone[i] += count
        return self.word_scores(
            request,
            space.encoded,
            inquiry.scores(),
            players.spread(scores),
            costs=inquiry.costs(),
            erasure=space.erasure,
        )


def _highest_first(values: np.ndarray) -> np.ndarray:
    """The order from the highest value to the lowest; equal ones, but for rounding, stay as they are."""
    order = np.argsort(-values, kind="stable")
    level = np.concatenate([[0], np.cumsum(-np.diff(values[order]) > _EQUAL)])
    return order[np.lexsort((order, level))]
