"""How much a selector selects: a controller that holds it where it was asked for, and signs that the game collapsed."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from torch import Tensor

from saywhy.loop import Step

__all__ = ["SparsityControl", "find_collapse", "position_agreement"]

TOLERANCE = 0.02
"""The share selected may be off by so much."""
GAIN = 0.05
"""How far alpha moves in a step for each unit by which the share is off."""
START = 0.9
"""Where alpha comes down from."""
MEMORY = 0.9
"""What is kept of the running share from step to step."""
NOTHING, EVERYTHING = 0.005, 0.9
SAME_PLACES = 0.7


class SparsityControl:
    """Moves alpha, the share of words that the regulariser asks for, until the share that is selected is the target.

    The regulariser acts on what is *drawn*, but at test time the likelier choice is taken, which may be much less:
    words of probability 0.15 each make up 15 % of every draw, and none is ever the likelier choice. So it is the share
    of likelier choices in training batches, as a moving average, that is compared with the target; alpha integrates
    the difference. Without a target it stays.

    With ``anneal`` alpha comes down from nine tenths in that share of the steps: at first nearly everything is read, so
    that the predictor has something to learn from before the selector has to be choosy.

    Args:
        alpha: the share to ask for.
        target: the share to end at, or None.
        anneal: share of the steps in which alpha comes down.
    """

    def __init__(self, alpha: float, target: float | None, anneal: float = 0.0) -> None:
        self.target, self.anneal = target, anneal
        self.asked = self._first = alpha
        self._progress = 0.0
        self._average: float | None = None
        self._seen: list[tuple[float, float]] = []

    @property
    def alpha(self) -> float:
        """The share that the regulariser asks for now."""
        if self._progress >= self.anneal:
            return self.asked
        return self.asked + (START - self.asked) * (1 - self._progress / self.anneal)

    def observe(self, selected: Tensor, real: Tensor) -> None:
        """Take note of what is selected in a batch, N x W of 0 and 1."""
        if self.target is not None:
            self._seen.append((float(selected.sum()), float(real.sum())))

    def update(self, step: Step) -> None:
        """Move alpha, once a step."""
        self._progress = (step.index + 1) / max(1, step.total)
        if self.target is None or not self._seen or self._progress < self.anneal:
            self._seen.clear()
            return
        chosen, words = (sum(column) for column in zip(*self._seen, strict=True))
        self._seen.clear()
        share = chosen / max(1.0, words)
        self._average = share if self._average is None else MEMORY * self._average + (1 - MEMORY) * share
        moved = self.asked + GAIN * (self.target - self._average)
        # Never so far that the regulariser asks for nothing, or for nearly everything.
        self.asked = float(np.clip(moved, 0.3 * self._first, min(3.0 * self._first, 0.95)))

    def reached(self, share: float) -> bool:
        """Whether a share is near enough to the target; always without one."""
        return self.target is None or abs(share - self.target) <= TOLERANCE

    def score(self, accuracy: float, share: float) -> float:
        """The accuracy; minus the distance from the target where that is too large, which is below any accuracy."""
        return accuracy if self.target is None or self.reached(share) else -abs(share - self.target)

    def state(self) -> dict[str, Any]:
        """What a checkpoint holds."""
        return {"asked": self.asked, "average": self._average, "progress": self._progress}

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Take it back."""
        self.asked, self._average, self._progress = float(state["asked"]), state["average"], float(state["progress"])


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


def find_collapse(share: float, agreement: float) -> str:
    """What went wrong with a selection, in words; empty if nothing did.

    Args:
        share: how much of the words is selected.
        agreement: `position_agreement` of the selections.
    """
    if share < NOTHING:
        return f"next to nothing is selected ({share:.1%} of the words)"
    if share > EVERYTHING:
        return f"nearly everything is selected ({share:.1%} of the words)"
    if agreement > SAME_PLACES:
        return f"the same places are selected in every text, whatever it says (agreement {agreement:.2f})"
    return ""
