"""What a model says when words are gone: every mask asked for by any metric of any method, evaluated once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from saywhy.types import Word

__all__ = ["Erasures", "Space"]

_CELLS = 20_000_000  # entries of one keep matrix; more rows than that go in several calls


class Space(Protocol):
    """The part of a mask space that metrics use."""

    @property
    def features(self) -> Sequence[Sequence[Word]]:
        """Per example, what may be erased."""
        ...

    def probabilities(self, owner: NDArray[np.intp], keep: NDArray[np.float32]) -> NDArray[np.float64]:
        """N owners and N x F degrees of keeping, to N x K probabilities."""
        ...


class Erasures:
    """Probabilities of the class predicted on the full input, for partly erased inputs.

    `request` collects masks and the first `probability` that is not known evaluates all of them in one call of the
    space (several where the keep matrix would be large), together with the full inputs where the prediction is not
    known yet. Equal masks of an example are evaluated once, whoever asked.

    Args:
        space: examples with features that may be erased.
        target: the class to follow, where it is not the most probable one.
    """

    def __init__(self, space: Space, target: int | None = None) -> None:
        self.space = space
        self._target = target
        self._sizes = [len(features) for features in space.features]
        self._pending: dict[tuple[int, bytes], NDArray[np.bool_]] = {}
        self._known: dict[tuple[int, bytes], float] = {}
        self._classes: dict[int, int] = {}

    def full(self, owner: int) -> NDArray[np.bool_]:
        """The mask that keeps all words of an example."""
        return np.ones(self._sizes[owner], dtype=bool)

    def empty(self, owner: int) -> NDArray[np.bool_]:
        """The mask that keeps none."""
        return np.zeros(self._sizes[owner], dtype=bool)

    def request(self, owner: int, keep: NDArray[np.bool_]) -> None:
        """Ask for one mask to be evaluated with the next call."""
        key = self._key(owner, keep)
        if owner not in self._classes:
            everything = self.full(owner)
            self._pending.setdefault(self._key(owner, everything), everything)
        if key not in self._known:
            self._pending.setdefault(key, np.array(keep, dtype=bool))

    def probability(self, owner: int, keep: NDArray[np.bool_]) -> float:
        """Probability of the predicted class when only the words of the mask are kept."""
        key = self._key(owner, keep)
        if key not in self._known:
            self.request(owner, keep)
            self._evaluate()
        return self._known[key]

    def predicted(self, owner: int) -> int:
        """Index of the class that is followed: the one predicted on the full input."""
        if owner not in self._classes:
            self.probability(owner, self.full(owner))
        return self._classes[owner]

    def _key(self, owner: int, keep: NDArray[np.bool_]) -> tuple[int, bytes]:
        mask = np.asarray(keep, dtype=bool)
        if mask.shape != (self._sizes[owner],):
            raise ValueError(f"example {owner} has {self._sizes[owner]} words, its mask the shape {mask.shape}")
        return owner, np.packbits(mask).tobytes()

    def _evaluate(self) -> None:
        pending, self._pending = self._pending, {}
        # Full inputs first: they say which class the others are about.
        keys = sorted(pending, key=lambda key: (not pending[key].all(), self._sizes[key[0]], key))
        for part in self._parts(keys):
            width = max(self._sizes[owner] for owner, _ in part)
            keep = np.zeros((len(part), width), dtype=np.float32)
            for row, key in enumerate(part):
                keep[row, : self._sizes[key[0]]] = pending[key]
            owner = np.asarray([key[0] for key in part], dtype=np.intp)
            table = np.asarray(self.space.probabilities(owner, keep), dtype=np.float64)
            for key, row_probabilities in zip(part, table, strict=True):
                if pending[key].all() and key[0] not in self._classes:
                    best = int(row_probabilities.argmax())
                    self._classes[key[0]] = best if self._target is None else self._target
                self._known[key] = float(row_probabilities[self._classes[key[0]]])

    def _parts(self, keys: Sequence[tuple[int, bytes]]) -> Iterator[list[tuple[int, bytes]]]:
        """Neighbouring keys whose keep matrix stays within bounds."""
        part: list[tuple[int, bytes]] = []
        width = 0
        for key in keys:
            width = max(width, self._sizes[key[0]])
            if part and (len(part) + 1) * width > _CELLS:
                yield part
                part, width = [], self._sizes[key[0]]
            part.append(key)
        if part:
            yield part
