"""Asking a model about masked inputs: which space, which value, every mask once."""

from __future__ import annotations

import numpy as np
import torch

from saywhy.errors import OptionError
from saywhy.explainers.base import Request, check_output
from saywhy.models.alignment_space import AlignmentSpace
from saywhy.models.mask_space import RowSpace
from saywhy.models.word_space import WordSpace

__all__ = ["SPACES", "Inquiry", "open_space"]

SPACES = ("words", "alignments")
# Masks go to the space in parts, so that their table stays small even for a text of many thousand words.
_CELLS = 4_000_000


def open_space(request: Request, space: str, erasure: str | None = None) -> RowSpace:
    """The space in which a request's inputs are masked.

    Args:
        request: what is asked.
        space: ``words`` or ``alignments``.
        erasure: what removing a feature means; the space's default if None.
    """
    if space not in SPACES:
        raise OptionError(f"unknown space {space!r}; use one of {', '.join(SPACES)}")
    kind = WordSpace if space == "words" else AlignmentSpace
    return kind(
        request.model,
        request.examples,
        erasure=erasure,
        batch_size=request.batch_size,
        encoded=request.prepare(),
    )


class Inquiry:
    """The value of the target for masked inputs; the label asked about is that of the whole input.

    The first question about an input brings along the whole of it, and equal masks are evaluated once, also when they
    are asked in different calls.

    Args:
        request: what is asked.
        space: where its inputs are masked.
        output: ``probability`` or ``logit`` of the target, less that of the contrast if there is one.
        remember: keep the values of masks between calls; without it a mask is only told from those of the same call.

    Attributes:
        sizes: how many features each input has; a pair with an empty text has no alignments.
        widest: the most features of an input, and at least one: the width of a table of masks.

    Example:
        >>> from saywhy.models import load
        >>> from saywhy.types import Example
        >>> fan = load(lambda ts: [[float("good" in t), float("good" not in t)] for t in ts], labels=["yes", "no"])
        >>> request = Request(fan, (Example(("A good film",)),), (None,), (None,))
        >>> inquiry = Inquiry(request, open_space(request, "words"), "probability")
        >>> inquiry.values([0, 0], [[True, False, True], [True, True, False]]).round(3).tolist()
        [0.0, 1.0]
        >>> inquiry.costs()
        [{'forwards': 3}]
    """

    def __init__(self, request: Request, space: RowSpace, output: str, *, remember: bool = True) -> None:
        check_output(output)
        self.request = request
        self.space = space
        self.output = output
        self.sizes = np.asarray([len(features) for features in space.features])
        self.widest = max(1, int(self.sizes.max(initial=0)))
        self._remember = remember
        self._known: dict[tuple[int, bytes], float] = {}
        self._scores: dict[int, np.ndarray] = {}
        self._targets: dict[int, int] = {}
        self._whole: dict[int, float] = {}

    def values(self, owner: np.ndarray | list[int], keep: np.ndarray | list[list[bool]]) -> np.ndarray:
        """What the target is worth, (N,), for inputs ``owner`` (N,) of which the features ``keep`` (N, F) are left."""
        owner, masks = np.asarray(owner, dtype=np.int64), np.asarray(keep, dtype=bool)
        if not len(owner):
            return np.zeros(0)
        # Beyond an input's own features there is nothing to keep, so that equal masks look equal.
        masks = masks & (np.arange(masks.shape[1]) < self.sizes[owner][:, None])
        packed = np.packbits(masks, axis=1)
        keys = [(int(number), row.tobytes().rstrip(b"\0")) for number, row in zip(owner, packed, strict=True)]
        asked: dict[tuple[int, bytes], int] = {}
        for place, key in enumerate(keys):
            if key not in self._known:
                asked.setdefault(key, place)
        known = self._ask(owner, masks, asked)
        found = np.asarray([known[key] if key in known else self._known[key] for key in keys])
        if self._remember:
            self._known.update(known)
        return found

    def whole(self) -> np.ndarray:
        """What the target is worth on the whole inputs, (inputs,)."""
        self._ask_whole(range(len(self.sizes)))
        return np.asarray([self._whole[i] for i in range(len(self.sizes))])

    def scores(self) -> list[np.ndarray]:
        """The model's scores on the whole inputs, (K,) each."""
        self._ask_whole(range(len(self.sizes)))
        return [self._scores[i] for i in range(len(self.sizes))]

    def costs(self) -> list[dict[str, int]]:
        """How many rows the model was given for each input so far."""
        return [{"forwards": int(spent)} for spent in self.space.spent]

    def _ask_whole(self, numbers: range) -> None:
        missing = [i for i in numbers if i not in self._whole]
        if missing:
            self._evaluate(np.asarray(missing), np.ones((len(missing), self.widest), dtype=bool))

    def _ask(
        self, owner: np.ndarray, keep: np.ndarray, asked: dict[tuple[int, bytes], int]
    ) -> dict[tuple[int, bytes], float]:
        known: dict[tuple[int, bytes], float] = {}
        if not asked:
            return known
        places = np.asarray(list(asked.values()))
        missing = np.asarray(sorted({int(n) for n in owner[places]} - self._whole.keys()), dtype=np.int64)
        step = max(1, _CELLS // max(1, keep.shape[1]))
        names = list(asked)
        for start in range(0, len(places), step):
            some = places[start : start + step]
            lead = missing if start == 0 else missing[:0]
            table = np.concatenate([np.ones((len(lead), keep.shape[1]), dtype=bool), keep[some]])
            values = self._evaluate(np.concatenate([lead, owner[some]]), table)[len(lead) :]
            known.update(zip(names[start : start + step], values.tolist(), strict=True))
        return known

    def _evaluate(self, owner: np.ndarray, keep: np.ndarray) -> np.ndarray:
        table = self.space.outputs(owner, keep)
        new = [row for row, number in enumerate(owner.tolist()) if number not in self._targets]
        # The whole input comes first wherever an input is new.
        first = {int(owner[row]): row for row in reversed(new)}
        if first:
            rows = list(first.values())
            targets, _ = self.request.targets(table[rows], owner[rows])
            for number, row, target in zip(first, rows, targets.tolist(), strict=True):
                self._targets[number] = target
                self._scores[number] = table[row].numpy()
        held = torch.tensor([self._targets[int(number)] for number in owner])
        values = self.request.value(table, owner, self.output, held).double().numpy()
        for number, row in first.items():
            self._whole[number] = float(values[row])
        return np.asarray(values)
