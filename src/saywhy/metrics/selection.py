"""Reading explanations: the scores of words, the words they select, and clear errors where there are none."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from saywhy.errors import InputError, OptionError
from saywhy.metrics.trial import Trial
from saywhy.ops.ranking import top_mask
from saywhy.types import Rationale, Word, WordScores

__all__ = ["own_selection", "require_explanations", "scores_of", "selected_words", "words_of"]


def require_explanations(metric: str, trial: Trial) -> None:
    """Raise unless there are explanations over words, all of one kind."""
    if not trial.explanations:
        raise OptionError(f"{metric} measures a method's explanations, and none were given; name a method")
    kinds = {type(e) for e in trial.explanations}
    for kind in kinds:
        if not issubclass(kind, WordScores | Rationale):
            raise OptionError(
                f"{metric} measures scores or rationales over words, "
                f"but {trial.method or 'the method'} gives {kind.kind}"
            )
    if len(kinds) > 1:
        raise InputError(f"{metric}: the explanations mix word scores and rationales; measure them apart")


def words_of(trial: Trial, i: int) -> tuple[Word, ...]:
    """The words explanation i is about."""
    explanation = trial.explanations[i]
    assert isinstance(explanation, WordScores | Rationale)
    return explanation.words


def scores_of(trial: Trial, i: int) -> NDArray[np.float64]:
    """Scores of the words of explanation i; a rationale without scores ranks its words by being selected."""
    explanation = trial.explanations[i]
    assert isinstance(explanation, WordScores | Rationale)
    given: tuple[float, ...] | tuple[bool, ...] = explanation.scores
    if isinstance(explanation, Rationale) and not explanation.scores:
        given = explanation.selected
    scores = np.asarray(given, dtype=np.float64)
    where = f"{trial.method or 'the method'}, {trial.bench.examples[i].where()} (number {i})"
    if scores.shape != (len(explanation.words),):
        raise InputError(f"{where}: {len(scores)} scores for {len(explanation.words)} words")
    bad = np.flatnonzero(~np.isfinite(scores))
    if len(bad):
        word = explanation.words[int(bad[0])]
        raise InputError(
            f"{where}: the score of {word.text!r} is {scores[bad[0]]}, so its words cannot be ranked; "
            "check the model's outputs and gradients on this text"
        )
    return scores


def own_selection(trial: Trial, i: int) -> NDArray[np.bool_] | None:
    """The words a rationale selects, or None for word scores."""
    explanation = trial.explanations[i]
    if not isinstance(explanation, Rationale):
        return None
    if len(explanation.selected) != len(explanation.words):
        raise InputError(
            f"{trial.method or 'the method'}, {trial.bench.examples[i].where()} (number {i}): "
            f"{len(explanation.selected)} selections for {len(explanation.words)} words"
        )
    return np.asarray(explanation.selected, dtype=bool)


def selected_words(trial: Trial, i: int, top: float, rounding: str) -> NDArray[np.bool_]:
    """A rationale's own selection, or the ``top`` share of the words by score (ties to the earlier word)."""
    own = own_selection(trial, i)
    return top_mask(scores_of(trial, i), top, rounding) if own is None else own
