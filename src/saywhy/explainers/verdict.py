"""The verdict: does an explanation name features that do more than random ones?"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from saywhy.errors import OptionError
from saywhy.explainers.base import Explainer, Request
from saywhy.explainers.inquiry import Inquiry, open_space
from saywhy.models import Encoded
from saywhy.ops.randomness import numpy_generator
from saywhy.registry import check_options
from saywhy.types import Alignments, Explanation, Rationale, Verdict, WordScores

__all__ = ["VerdictOptions", "judge", "named_features", "verdict_options"]

# Two digits are printed: what cannot be seen in them is no difference.
MARGIN = 0.01
# A score below this share of the largest one is what rounding left of zero.
ROUNDING = 1e-6
# A feature with this share of the largest score or less is not what the explanation names: with it the set would
# only be larger, and random sets of that size hit the feature that matters more often.
WEAK = 0.1
# Of the sets that are compared, the explanation's own included, at most this share may do as well.
LEVEL = 0.1


@dataclass(frozen=True)
class VerdictOptions:
    """How explanations are checked.

    Options:
        top: share of the features that counts as named, rounded up; only those with more than a tenth of the largest
            score, and at least one. A rationale's own selection takes its place.
        draws: how many sets of as many random features are tried; fewer where there are not so many sets.
        seeds: with how many other seeds the method is run again, to see which features stay. Each costs a whole run.
    """

    top: float = 0.2
    draws: int = 10
    seeds: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.top <= 1:
            raise OptionError(f"verdict: top is a share above 0 and at most 1, not {self.top}")
        if self.draws < 1 or self.seeds < 0:
            raise OptionError(f"verdict: draws must be at least 1 and seeds at least 0, not {self.draws}, {self.seeds}")


def verdict_options(given: bool | Mapping[str, Any] | VerdictOptions | None, single: bool) -> VerdictOptions | None:
    """What `explain` was told about verdicts, or None for none; by default a single input gets one."""
    if isinstance(given, VerdictOptions):
        return given
    if isinstance(given, Mapping):
        options = {str(key).replace("-", "_"): value for key, value in given.items()}
        check_options("verdict", VerdictOptions, options)
        return VerdictOptions(**options)
    if given is None:
        given = single
    if not isinstance(given, bool):
        raise OptionError(f"verdict is true, false or a dict of its options, not {given!r}")
    return VerdictOptions() if given else None


def judge(
    request: Request, explainer: Explainer, explanations: Sequence[Explanation], options: VerdictOptions
) -> list[Explanation]:
    """The explanations, each with its verdict; those without scores or a selection as they are.

    The named features are kept alone and are removed, and so are as many random ones, several times. Their *effect* is
    the target's probability with them alone less that without them. The explanation is better than random if its
    effect is larger than the random ones' mean by at least 0.01, and if at most one in ten of the sets compared, its
    own included, does as well; of fewer than ten sets it must be the best. So with the default of ten draws about one
    in eleven explanations passes that is random itself. No set is drawn twice, and where there are no more sets than
    draws all are tried.

    Features are erased as the explanation erased them, else by the model's default. Words that are never erased
    (``meta["fixed"]``) or that the model does not read are neither named nor drawn.

    All masks of all inputs are evaluated together: about 4 + 2 x draws short rows an input.

    Args:
        request: what was asked.
        explainer: what answered; run again where other seeds are to be tried.
        explanations: its answers, one for each of the request's examples.
        options: how to check.
    """
    encoded = request.prepare()
    open_to = [_candidates(why, item) for why, item in zip(explanations, encoded, strict=True)]
    named = [named_features(why, may, options.top) for why, may in zip(explanations, open_to, strict=True)]
    agreement = _agreement(request, explainer, explanations, open_to, named, options)
    groups: dict[tuple[str, str | None], list[int]] = {}
    for number, (why, may) in enumerate(zip(explanations, open_to, strict=True)):
        space, erasure = why.header.space, why.header.erasure
        if space == "alignments":
            # Found by whatever means, they can be checked only where they can be cut.
            erasure = None
            if space not in request.model.capabilities:
                continue
        if may.any():
            groups.setdefault((space, erasure), []).append(number)
    made = list(explanations)
    for (space, erasure), numbers in groups.items():
        inquiry = Inquiry(request, open_space(request, space, erasure), "probability", remember=False)
        trials = [_Trial.draw(request, encoded[n], named[n], open_to[n], options.draws) for n in numbers]
        tables = [trial.masks() for trial in trials]
        owner = np.repeat(numbers, [len(table) for table in tables])
        width = max(table.shape[1] for table in tables)
        keep = np.concatenate([np.pad(table, ((0, 0), (0, width - table.shape[1]))) for table in tables])
        values = np.split(inquiry.values(owner, keep), np.cumsum([len(table) for table in tables])[:-1])
        costs = inquiry.costs()
        for number, trial, found in zip(numbers, trials, values, strict=True):
            facts = {"erasure": inquiry.space.erasure, "cost": costs[number], **agreement[number]}
            made[number] = replace(made[number], verdict=replace(trial.verdict(found.tolist()), **facts))
    return made


def named_features(explanation: Explanation, may: np.ndarray, top: float) -> np.ndarray:
    """Places of the features an explanation names, best first.

    Args:
        explanation: scores on words or on word pairs, or a rationale.
        may: which features may be named, (features,).
        top: share of these that is named.

    Example:
        >>> from saywhy.types import Header, Word
        >>> words = tuple(Word(text, 2 * i, 2 * i + 1) for i, text in enumerate("abcd"))
        >>> why = WordScores(Header("", "", (), (), ("a b c d",)), words, (0.01, 0.9, -0.5, 0.2))
        >>> named_features(why, np.ones(4, dtype=bool), 0.5).tolist()
        [1, 3]
    """
    places = np.flatnonzero(may)
    selected = np.asarray(getattr(explanation, "selected", ()), dtype=bool).reshape(-1)
    if isinstance(explanation, Rationale) or len(selected):
        chosen = places[selected[places]]
        given = np.asarray(getattr(explanation, "scores", ()), dtype=np.float64).reshape(-1)
        return chosen[np.argsort(-given[chosen], kind="stable")] if len(given) else chosen
    scores = np.asarray(getattr(explanation, "scores", ()), dtype=np.float64).reshape(-1)
    order = places[np.argsort(-scores[places], kind="stable")][: math.ceil(round(top * len(places), 9))]
    least = max(ROUNDING * np.abs(scores).max(initial=0.0), WEAK * scores[order].max(initial=0.0))
    return order[: max(1, int((scores[order] > least).sum()))]


@dataclass(frozen=True)
class _Trial:
    """The sets of features that are tried on one input: the named ones first, then random ones."""

    sets: tuple[tuple[int, ...], ...]
    may: np.ndarray

    @classmethod
    def draw(cls, request: Request, item: Encoded, named: np.ndarray, may: np.ndarray, draws: int) -> _Trial:
        own, places = tuple(named.tolist()), np.flatnonzero(may)
        known = {tuple(sorted(own))}
        if math.comb(len(places), len(own)) - 1 <= draws:
            others = [s for s in itertools.combinations(places.tolist(), len(own)) if s not in known]
            return cls((own, *others), may)
        # A text's draws depend on the seed and on the text, not on its place among others.
        generator = numpy_generator(request.seed, "verdict", *(ascii(text) for text in item.example.fields))
        drawn: list[tuple[int, ...]] = []
        while len(drawn) < draws:
            one = tuple(sorted(generator.choice(places, size=len(own), replace=False).tolist()))
            if one not in known:
                known.add(one)
                drawn.append(one)
        return cls((own, *drawn), may)

    def masks(self) -> np.ndarray:
        """The whole input, nothing of it, then each set alone, then all but each set: (2 + 2 sets, features)."""
        inside = np.zeros((len(self.sets), len(self.may)), dtype=bool)
        for row, places in zip(inside, self.sets, strict=True):
            row[list(places)] = True
        whole = np.ones((1, len(self.may)), dtype=bool)
        return np.concatenate([whole, ~self.may[None], ~self.may | inside, ~inside])

    def verdict(self, values: Sequence[float]) -> Verdict:
        """From the values of the masks."""
        whole, empty, *others = values
        kept, removed = others[: len(self.sets)], others[len(self.sets) :]
        return Verdict(
            features=self.sets[0],
            total=int(self.may.sum()),
            whole=whole,
            kept=kept[0],
            removed=removed[0],
            empty=empty,
            random_kept=tuple(kept[1:]),
            random_removed=tuple(removed[1:]),
            better=_better([k - r for k, r in zip(kept, removed, strict=True)]),
        )


def _better(effects: Sequence[float]) -> bool | None:
    """Whether the first effect stands out among all."""
    own, others = effects[0], effects[1:]
    if not others:
        return None
    as_good = sum(other >= own for other in others)
    allowed = max(0, math.floor(LEVEL * len(effects)) - 1)
    return as_good <= allowed and own - sum(others) / len(others) >= MARGIN


def _candidates(explanation: Explanation, item: Encoded) -> np.ndarray:
    """Which features the model reads and may lose; none where an explanation has no features."""
    words = np.ones(len(item.words), dtype=bool)
    if item.rows:
        words[:] = False
        for row in item.rows:
            words[row.pieces.word] = True
    if isinstance(explanation, WordScores | Rationale):
        fixed = item.example.meta.get("fixed", ())
        return words & np.asarray([word.field not in fixed for word in item.words], dtype=bool)
    if isinstance(explanation, Alignments):
        premise = len(explanation.premise)
        return np.outer(words[:premise], words[premise:]).reshape(-1)
    return np.zeros(0, dtype=bool)


def _agreement(
    request: Request,
    explainer: Explainer,
    explanations: Sequence[Explanation],
    open_to: Sequence[np.ndarray],
    named: Sequence[np.ndarray],
    options: VerdictOptions,
) -> list[dict[str, Any]]:
    """How much of what is named stays with other seeds: of each explanation the mean Jaccard index, and how many."""
    found: list[list[float]] = [[] for _ in explanations]
    for step in range(options.seeds):
        again = explainer.explain(request.reseeded(request.seed + 1 + step))
        for number, (why, may) in enumerate(zip(again, open_to, strict=True)):
            if may.any():
                found[number].append(_jaccard(named[number], named_features(why, may, options.top)))
        if step == 0 and all(_same(a, b) for a, b in zip(explanations, again, strict=True)):
            break  # the method does not draw: other seeds cannot matter
    return [{"agreement": sum(values) / len(values), "seeds": len(values)} if values else {} for values in found]


def _same(one: Explanation, other: Explanation) -> bool:
    facts = ("scores", "selected")
    return all(getattr(one, fact, None) == getattr(other, fact, None) for fact in facts)


def _jaccard(one: np.ndarray, other: np.ndarray) -> float:
    union = np.union1d(one, other)
    return len(np.intersect1d(one, other)) / len(union) if len(union) else 1.0
