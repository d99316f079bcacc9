"""Values of inputs without some of their features, for any number of such questions at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from saywhy.explainers.inquiry import Inquiry
from saywhy.explainers.players import Players

__all__ = ["values_without"]

# Masks are made in parts, so that their table stays small even for a text of many thousand words.
_CELLS = 16_000_000


def values_without(
    asked: Inquiry | Players,
    owner: np.ndarray,
    removed: Sequence[np.ndarray],
    kept: Sequence[np.ndarray] | None = None,
) -> np.ndarray:
    """What the target is worth, (N,), for inputs ``owner`` (N,) without the features ``removed`` (indices) of each.

    ``kept`` are masks (features,), one for each input, of what is there to begin with; all of it if None.
    """
    step, found = max(1, _CELLS // asked.widest), np.zeros(len(owner))
    for start in range(0, len(owner), step):
        some, gone = owner[start : start + step], removed[start : start + step]
        keep = np.ones((len(some), asked.widest), dtype=bool)
        if kept is not None:
            for row, number in enumerate(some):
                keep[row, : len(kept[number])] = kept[number]
        keep[np.repeat(np.arange(len(some)), [len(index) for index in gone]), np.concatenate(gone)] = False
        found[start : start + step] = asked.values(some, keep)
    return found
