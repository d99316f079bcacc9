"""How much a selector selects: a controller that holds it where it was asked for, and signs that the game collapsed."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from saywhy.loop import Step

__all__ = ["START", "SparsityControl", "find_collapse", "position_agreement"]

TOLERANCE = 0.02
"""The share selected may be off by so much."""
START = 0.9
"""Where alpha comes down from."""
NOTHING, EVERYTHING = 0.005, 0.9
SAME_PLACES = 0.7
SAME_SCORES = 0.005


class SparsityControl:
    """Says how much the regulariser asks for, and holds the share that is selected at a target.

    The regulariser acts on what is *drawn*, but at test time the likelier choice is taken, which may be much less or
    more: words of probability 0.15 each make up 15 % of every draw, and none is ever the likelier choice. The papers
    tune alpha by hand, seed by seed. With a target, the selector's threshold is set, at every validation, to the logit
    that so many words of the held-out texts exceed; their labels are not looked at. (Training batches would not do:
    under dropout the logits spread more.) It is a part of the selector's state, and so of the trained model.

    With ``anneal`` alpha comes down from nine tenths in that share of the steps: at first nearly everything is read, so
    that the predictor has something to learn from before the selector has to be choosy.

    Args:
        alpha: the share to ask for.
        target: the share to select, or None for whatever is likelier selected than not.
        anneal: share of the steps in which alpha comes down.
    """

    def __init__(self, alpha: float, target: float | None, anneal: float = 0.0) -> None:
        self.asked, self.target, self.anneal = alpha, target, anneal
        self._progress = 0.0

    @property
    def alpha(self) -> float:
        """The share that the regulariser asks for now."""
        if self._progress >= self.anneal:
            return self.asked
        return self.asked + (START - self.asked) * (1 - self._progress / self.anneal)

    def threshold(self, probabilities: np.ndarray) -> float:
        """The logit above which the target share of words is selected, from their probabilities (words,).

        Example:
            >>> round(SparsityControl(0.5, 0.25).threshold(np.asarray([0.1, 0.2, 0.5, 0.9])), 3)
            0.405
        """
        assert self.target is not None
        chosen = float(np.quantile(np.clip(probabilities.astype(np.float64), 1e-6, 1 - 1e-6), 1 - self.target))
        return float(np.log(chosen / (1 - chosen)))

    def update(self, step: Step) -> None:
        """Take note of how far the run is, once a step."""
        self._progress = (step.index + 1) / max(1, step.total)

    def reached(self, share: float) -> bool:
        """Whether a share is near enough to the target; always without one."""
        return self.target is None or abs(share - self.target) <= TOLERANCE

    def score(self, accuracy: float, share: float | None) -> float:
        """The accuracy; minus the distance from the target where that is too large, which is below any accuracy.

        A ``share`` of None is one that no epoch can change.

        While alpha is still coming down everything is below that: the game is not yet the one that was asked for.
        """
        if self._progress < self.anneal:
            return accuracy - 2
        if self.target is None or share is None or self.reached(share):
            return accuracy
        return -abs(share - self.target)

    def state(self) -> dict[str, Any]:
        """What a checkpoint holds."""
        return {"progress": self._progress}

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Take it back."""
        self._progress = float(state["progress"])


def position_agreement(selections: Sequence[np.ndarray]) -> float:
    """How much the selections of neighbouring texts (by length) are at the same places: mean Jaccard index.

    A selector that looks at words selects other places in every text. Near 1, it looks at places only.

    Example:
        >>> same = np.asarray([True, False, True, False])
        >>> position_agreement([same, same, same]), position_agreement([same, ~same])
        (1.0, 0.0)
    """
    ordered = sorted((s for s in selections if s.any()), key=len)
    found = []
    for one, other in itertools.pairwise(ordered):
        size = min(len(one), len(other))
        union = int((one[:size] | other[:size]).sum())
        if union:
            found.append(int((one[:size] & other[:size]).sum()) / union)
    return float(np.mean(found)) if found else 0.0


def find_collapse(share: float, agreement: float, spread: float) -> str:
    """What went wrong with a selection, in words; empty if nothing did.

    Args:
        share: how much of the words is selected.
        agreement: `position_agreement` of the selections.
        spread: standard deviation of the words' probabilities of being selected.
    """
    if share < NOTHING:
        return f"next to nothing is selected ({share:.1%} of the words)"
    if share > EVERYTHING:
        return f"nearly everything is selected ({share:.1%} of the words)"
    if agreement > SAME_PLACES:
        return f"the same places are selected in every text, whatever it says (agreement {agreement:.2f})"
    if spread < SAME_SCORES:
        return f"every word is about as likely selected as any other (standard deviation {spread:.4f})"
    return ""
