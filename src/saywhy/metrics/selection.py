"""Reading explanations: scores of words or word pairs, what they select, and clear errors where there are none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saywhy.errors import InputError, OptionError
from saywhy.metrics.trial import Trial
from saywhy.ops.ranking import ranks, top_count
from saywhy.types import Alignments, Explanation, Rationale, Word, WordScores

__all__ = [
    "Ranking",
    "distribution_of",
    "explanation_scores",
    "features_of",
    "free_of",
    "own_selection",
    "ranking_of",
    "read_of",
    "require_explanations",
    "scores_of",
    "selected_features",
    "selected_words",
    "words_of",
]

_KINDS: dict[str, tuple[type[Explanation], ...]] = {"words": (WordScores, Rationale), "alignments": (Alignments,)}
_NAMES = {"words": "scores or rationales over words", "alignments": "scores of alignments"}


@dataclass(frozen=True, eq=False)
class Ranking:
    """The order in which an explanation selects features.

    Attributes:
        places: place of each feature from the top; those that may not be selected, or are not read, come last.
        size: how many may be selected.
    """

    places: NDArray[np.intp]
    size: int

    def first(self, k: int) -> NDArray[np.bool_]:
        """The k best features."""
        return self.places < min(k, self.size)

    def top(self, share: float, rounding: str) -> NDArray[np.bool_]:
        """The best share of the features; ties go to the earlier one."""
        return self.first(top_count(share, self.size, rounding))


def require_explanations(metric: str, trial: Trial) -> bool:
    """Raise unless there are explanations over what the bench erases, all of one kind; True if they are rationales."""
    if not trial.explanations:
        raise OptionError(f"{metric} measures a method's explanations, and none were given; name a method")
    space = trial.bench.space
    kinds = {type(e) for e in trial.explanations}
    for kind in kinds:
        if not issubclass(kind, _KINDS[space]):
            raise OptionError(
                f"{metric} measures {_NAMES[space]}, but {trial.method or 'the method'} gives {kind.kind}"
            )
    if len(kinds) > 1:
        raise InputError(f"{metric}: the explanations mix word scores and rationales; measure them apart")
    if issubclass(kinds.pop(), Rationale):
        return True
    selecting = [bool(getattr(e, "selected", ())) for e in trial.explanations]
    if any(selecting) and not all(selecting):
        raise InputError(f"{metric}: some of the explanations select alignments and some do not; measure them apart")
    return all(selecting)


def words_of(trial: Trial, i: int) -> tuple[Word, ...]:
    """The words explanation i is about."""
    explanation = trial.explanations[i]
    if isinstance(explanation, Alignments):
        return explanation.premise + explanation.hypothesis
    assert isinstance(explanation, WordScores | Rationale)
    return explanation.words


def features_of(trial: Trial, i: int) -> tuple[Any, ...]:
    """What explanation i is about: words, or pairs of a word of the first and one of the second text, row by row."""
    return _features(trial.explanations[i])


def _features(explanation: Explanation) -> tuple[Any, ...]:
    if isinstance(explanation, Alignments):
        return tuple((p, h) for p in explanation.premise for h in explanation.hypothesis)
    assert isinstance(explanation, WordScores | Rationale)
    return explanation.words


def scores_of(trial: Trial, i: int) -> NDArray[np.float64]:
    """Scores of the features of explanation i; a rationale without scores ranks its words by being selected."""
    where = f"{trial.method or 'the method'}, {trial.bench.examples[i].where()} (number {i})"
    return explanation_scores(trial.explanations[i], where)


def explanation_scores(explanation: Explanation, where: str) -> NDArray[np.float64]:
    """Scores of an explanation's features, which must be numbers; ``where`` names it in errors."""
    if isinstance(explanation, Alignments):
        wanted = (len(explanation.premise), len(explanation.hypothesis))
        shape = (len(explanation.scores), *{len(row) for row in explanation.scores})
        if shape != wanted and not (wanted[0] == 0 and shape == (0,)):
            raise InputError(f"{where}: alignments of the shape {shape} for {wanted[0]} x {wanted[1]} words")
        scores = np.asarray(explanation.scores, dtype=np.float64).reshape(-1)
    else:
        assert isinstance(explanation, WordScores | Rationale)
        given: tuple[float, ...] | tuple[bool, ...] = explanation.scores
        if isinstance(explanation, Rationale) and not explanation.scores:
            given = explanation.selected
        scores = np.asarray(given, dtype=np.float64)
        if scores.shape != (len(explanation.words),):
            raise InputError(f"{where}: {len(scores)} scores for {len(explanation.words)} words")
    bad = np.flatnonzero(~np.isfinite(scores))
    if len(bad):
        feature = _features(explanation)[int(bad[0])]
        shown = repr(feature.text) if isinstance(feature, Word) else " and ".join(repr(w.text) for w in feature)
        raise InputError(
            f"{where}: the score of {shown} is {scores[bad[0]]}, so its words cannot be ranked; "
            "check the model's outputs and gradients on this text"
        )
    return scores


def distribution_of(trial: Trial, i: int) -> NDArray[np.float64]:
    """The size of the scores, without their signs, as a distribution over the words that were read, or all 0."""
    size = np.where(read_of(trial, i), np.abs(scores_of(trial, i)), 0.0)
    total = float(size.sum())
    return size / total if total > 0 else size


def read_of(trial: Trial, i: int) -> NDArray[np.bool_]:
    """The features of explanation i that the model reads: all, unless the text is too long for it."""
    explanation, read = trial.explanations[i], trial.bench.read[i]
    if read is None or len(read) != len(words_of(trial, i)):
        return np.ones(len(features_of(trial, i)), dtype=bool)
    if isinstance(explanation, Alignments):
        premise = len(explanation.premise)
        return np.outer(read[:premise], read[premise:]).reshape(-1)
    return read


def free_of(trial: Trial, i: int) -> NDArray[np.bool_]:
    """The features of explanation i that may be selected: those the model reads, but for words of fixed fields."""
    read, fixed = read_of(trial, i), trial.bench.fixed_fields(i)
    if not fixed:
        return read
    return read & np.asarray([word.field not in fixed for word in features_of(trial, i)], dtype=bool)


def ranking_of(trial: Trial, i: int) -> Ranking:
    """The order in which explanation i selects its features."""
    scores, free = scores_of(trial, i), free_of(trial, i)
    places = np.full(len(scores), len(scores), dtype=np.intp)
    places[free] = ranks(scores[free])
    return Ranking(places, int(free.sum()))


def own_selection(trial: Trial, i: int) -> NDArray[np.bool_] | None:
    """The words or pairs a rationale selects, without those of fixed fields, or None for scores."""
    explanation = trial.explanations[i]
    if not isinstance(explanation, Rationale) and not getattr(explanation, "selected", ()):
        return None
    given: Any = getattr(explanation, "selected", ())
    selected, wanted = np.asarray(given, dtype=bool).reshape(-1), len(features_of(trial, i))
    if len(selected) != wanted:
        raise InputError(
            f"{trial.method or 'the method'}, {trial.bench.examples[i].where()} (number {i}): "
            f"{len(selected)} selections for {wanted} {'words' if trial.bench.space == 'words' else 'word pairs'}"
        )
    return selected & free_of(trial, i)


def selected_words(trial: Trial, i: int, top: float, rounding: str) -> NDArray[np.bool_]:
    """The words that are selected; of alignments those of either text that are in a selected pair."""
    chosen = selected_features(trial, i, top, rounding)
    explanation = trial.explanations[i]
    if not isinstance(explanation, Alignments):
        return chosen
    table = chosen.reshape(len(explanation.premise), len(explanation.hypothesis))
    return np.concatenate([table.any(axis=1), table.any(axis=0)])


def selected_features(trial: Trial, i: int, top: float, rounding: str) -> NDArray[np.bool_]:
    """A rationale's own selection, or the ``top`` share of the features by score (ties to the earlier one)."""
    own = own_selection(trial, i)
    return ranking_of(trial, i).top(top, rounding) if own is None else own
