"""The features of an input that can change anything, as the players of a game."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from saywhy.explainers.inquiry import Inquiry

__all__ = ["Players"]


class Players:
    """An inquiry about only those features that the model reads and that may be erased.

    Words beyond a cut, and those of fields that are fixed, change nothing whatever is drawn: sampling them would give
    them noise for a score, and take samples from the others.

    Args:
        inquiry: about all features.

    Attributes:
        sizes: how many such features each input has; at least one.
        widest: the most of them.
    """

    def __init__(self, inquiry: Inquiry) -> None:
        self.inquiry = inquiry
        self._live = [self._find(number) for number in range(len(inquiry.sizes))]
        self.sizes = np.asarray([len(live) for live in self._live])
        self.widest = int(self.sizes.max(initial=1))

    def values(self, owner: np.ndarray | Sequence[int], keep: np.ndarray) -> np.ndarray:
        """What the target is worth, (N,), for inputs ``owner`` (N,) of which the players ``keep`` (N, P) are left."""
        owner = np.asarray(owner, dtype=np.int64)
        if (self.sizes == self.inquiry.sizes).all():
            return self.inquiry.values(owner, keep)
        table = np.ones((len(owner), self.inquiry.widest), dtype=bool)
        for number in np.unique(owner):
            rows, live = np.flatnonzero(owner == number), self._live[number]
            table[np.ix_(rows, live)] = keep[rows, : len(live)]
        return self.inquiry.values(owner, table)

    def spread(self, scores: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Scores of all features from those of the players: the others have none."""
        found = []
        for size, live, own in zip(self.inquiry.sizes, self._live, scores, strict=True):
            # One place more than there are features, if there are none: for the player that stands for them.
            every = np.zeros(max(1, size))
            every[live] = own
            found.append(every[:size])
        return found

    def _find(self, number: int) -> np.ndarray:
        space = self.inquiry.space
        item, words = space.encoded[number], space.encoded[number].words
        read = np.zeros(len(words), dtype=bool)
        for row in item.rows:
            read[row.pieces.word] = True
        # A function of texts has no rows, and reads everything.
        read |= not item.rows
        if space.name == "words":
            read &= ~np.isin([word.field for word in words], list(item.example.meta.get("fixed", ())))
        else:
            first = np.asarray([word.field == 0 for word in words])
            read = (read[first][:, None] & read[~first][None, :]).ravel()
        live = np.flatnonzero(read)
        # Where there is none, one that changes nothing stands for all.
        return live if len(live) else np.zeros(1, dtype=np.int64)
