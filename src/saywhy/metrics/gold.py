"""What annotators marked, in words: one gold selection, or one for each annotator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from saywhy.data.words import span_mask
from saywhy.ops.overlap import runs
from saywhy.types import Example, Word

__all__ = ["ANNOTATORS", "Gold", "gold_choices"]

ANNOTATORS = ("union", "majority", "best")


@dataclass(frozen=True)
class Gold:
    """Gold words as a mask, and as half-open ranges of word numbers."""

    mask: NDArray[np.bool_]
    ranges: tuple[tuple[int, int], ...]


def _marked(words: Sequence[Word], example: Example) -> list[Gold]:
    found = []
    for spans in example.rationales:
        ranges = set()
        for span in spans:
            touched = np.flatnonzero(span_mask(words, [span]))
            if len(touched):
                ranges.add((int(touched[0]), int(touched[-1]) + 1))
        mask = np.zeros(len(words), dtype=bool)
        for start, end in ranges:
            mask[start:end] = True
        found.append(Gold(mask, tuple(sorted(ranges))))
    return found


def gold_choices(words: Sequence[Word], example: Example, annotators: str) -> list[Gold]:
    """The gold selections an explanation of the example may be compared with.

    ``union``: one, the words any annotator marked. ``majority``: one, the words more than half of the annotators
    marked. ``best``: one for each annotator who marked something; the metric takes the one that agrees most. The
    ranges are the spans as they were marked where one annotator counts, else the runs of the joint mask.

    Returns:
        An empty list where the example has no gold words: not annotated, nothing marked, or no majority for any word.
    """
    marked = _marked(words, example)
    if annotators == "best" or len(marked) <= 1:
        return [gold for gold in marked if gold.mask.any()]
    votes = np.sum([gold.mask for gold in marked], axis=0)
    mask = votes > (0 if annotators == "union" else len(marked) / 2)
    if not mask.any():
        return []
    return [Gold(mask, tuple(runs(mask, [word.field for word in words])))]
