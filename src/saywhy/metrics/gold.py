"""What annotators marked, in words or word pairs: one gold selection, or one for each annotator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from saywhy.data.words import span_mask
from saywhy.ops.overlap import runs
from saywhy.types import Example, Word

__all__ = ["ANNOTATORS", "Gold", "gold_cells", "gold_choices"]

ANNOTATORS = ("union", "majority", "best")


@dataclass(frozen=True)
class Gold:
    """Gold words (or word pairs) as a mask, and as half-open ranges of word numbers.

    ``whole`` says that there is nothing else: every word that may be selected is gold.
    """

    mask: NDArray[np.bool_]
    ranges: tuple[tuple[int, int], ...]
    whole: bool = False


def _marked(words: Sequence[Word], example: Example, fixed: Sequence[int]) -> list[Gold]:
    found = []
    free = np.asarray([word.field not in fixed for word in words], dtype=bool)
    for spans in example.rationales:
        ranges = set()
        for span in spans:
            if span.field in fixed:
                continue
            touched = np.flatnonzero(span_mask(words, [span]))
            if len(touched):
                ranges.add((int(touched[0]), int(touched[-1]) + 1))
        mask = np.zeros(len(words), dtype=bool)
        for start, end in ranges:
            mask[start:end] = True
        found.append(Gold(mask, tuple(sorted(ranges)), bool(mask[free].all())))
    return found


def gold_cells(premise: Sequence[Word], hypothesis: Sequence[Word], example: Example) -> list[Gold]:
    """The gold word pairs of an example, row by row; an empty list where it has none."""
    table = np.zeros((len(premise), len(hypothesis)), dtype=bool)
    for first, second in example.alignments:
        table |= np.outer(span_mask(premise, [first]), span_mask(hypothesis, [second]))
    return [Gold(table.reshape(-1), (), bool(table.all()))] if table.any() else []


def gold_choices(words: Sequence[Word], example: Example, annotators: str, fixed: Sequence[int] = ()) -> list[Gold]:
    """The gold selections an explanation of the example may be compared with.

    ``union``: one, the words any annotator marked. ``majority``: one, the words more than half of the annotators
    marked. ``best``: one for each annotator who marked something; the metric takes the one that agrees most. The
    ranges are the spans as they were marked where one annotator counts, else the runs of the joint mask. What was
    marked in ``fixed`` fields does not count.

    Returns:
        An empty list where the example has no gold words: not annotated, nothing marked, or no majority for any word.
    """
    marked = _marked(words, example, fixed)
    if annotators == "best" or len(marked) <= 1:
        return [gold for gold in marked if gold.mask.any()]
    votes = np.sum([gold.mask for gold in marked], axis=0)
    mask = votes > (0 if annotators == "union" else len(marked) / 2)
    if not mask.any():
        return []
    free = np.asarray([word.field not in fixed for word in words], dtype=bool)
    return [Gold(mask, tuple(runs(mask, [word.field for word in words])), bool(mask[free].all()))]
