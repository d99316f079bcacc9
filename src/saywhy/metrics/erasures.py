"""What a model says when words or alignments are gone: every mask asked for by any metric, evaluated once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["Answer", "Erasures", "Space"]

_CELLS = 5_000_000  # entries of one keep matrix; more rows than that go in several calls
_SMALLEST = 1e-12

Key = tuple[int, bytes]


class Space(Protocol):
    """The part of a mask space that metrics use.

    A space that also has ``outputs``, N x K scores before the softmax, is asked for these; for others the logarithms of
    the probabilities stand in where scores are compared.
    """

    @property
    def features(self) -> Sequence[Sequence[Any]]:
        """Per example, what may be erased."""
        ...

    def probabilities(self, owner: NDArray[np.intp], keep: NDArray[np.float32]) -> NDArray[np.float64]:
        """N owners and N x F degrees of keeping, to N x K probabilities."""
        ...


class Answer(NamedTuple):
    """What the model says about a partly erased input, compared with the full one.

    ``probability`` is that of the class predicted on the full input, ``same`` says whether it is still the predicted
    one, ``distance`` is the Euclidean distance between the scores of both inputs.
    """

    probability: float
    same: bool
    distance: float


class Erasures:
    """Answers about partly erased inputs.

    `request` collects masks and the first `answer` that is not known evaluates all of them in one call of the space
    (several where the keep matrix would be large), together with the full inputs where the prediction is not known yet.
    Equal masks of an example are evaluated once, whoever asked. Words of fixed fields are kept whatever a mask says.

    Args:
        space: examples with features that may be erased.
        target: the class to follow, where it is not the most probable one.
        to_probabilities: from scores, as the space's ``outputs`` gives them, to probabilities.
        fixed: per example, the fields whose words are never erased.
    """

    def __init__(
        self,
        space: Space,
        target: int | None = None,
        to_probabilities: Callable[[Any], Any] | None = None,
        fixed: Sequence[Sequence[int]] = (),
    ) -> None:
        self.space = space
        self._target = target
        self._to_probabilities = to_probabilities
        self._sizes = [len(features) for features in space.features]
        self._fixed = {
            owner: np.asarray([word.field in fields for word in space.features[owner]], dtype=bool)
            for owner, fields in enumerate(fixed)
            if fields
        }
        self._pending: dict[Key, None] = {}
        self._known: dict[Key, Answer] = {}
        self._classes: dict[int, int] = {}
        self._scores: dict[int, NDArray[np.float64]] = {}

    def full(self, owner: int) -> NDArray[np.bool_]:
        """The mask that keeps everything of an example."""
        return np.ones(self._sizes[owner], dtype=bool)

    def empty(self, owner: int) -> NDArray[np.bool_]:
        """The mask that keeps nothing."""
        return np.zeros(self._sizes[owner], dtype=bool)

    def request(self, owner: int, keep: NDArray[np.bool_]) -> None:
        """Ask for one mask to be evaluated with the next call."""
        key = self._key(owner, keep)
        if owner not in self._classes:
            self._pending.setdefault(self._key(owner, self.full(owner)))
        if key not in self._known:
            self._pending.setdefault(key)

    def answer(self, owner: int, keep: NDArray[np.bool_]) -> Answer:
        """What the model says when only the features of the mask are kept."""
        key = self._key(owner, keep)
        if key not in self._known:
            self.request(owner, keep)
            self._evaluate()
        return self._known[key]

    def probability(self, owner: int, keep: NDArray[np.bool_]) -> float:
        """Probability of the predicted class when only the features of the mask are kept."""
        return self.answer(owner, keep).probability

    def predicted(self, owner: int) -> int:
        """Index of the class that is followed: the one predicted on the full input."""
        if owner not in self._classes:
            self.answer(owner, self.full(owner))
        return self._classes[owner]

    def _key(self, owner: int, keep: NDArray[np.bool_]) -> Key:
        mask = np.asarray(keep, dtype=bool)
        if mask.shape != (self._sizes[owner],):
            raise ValueError(f"example {owner} has {self._sizes[owner]} words, its mask the shape {mask.shape}")
        if owner in self._fixed:
            mask = mask | self._fixed[owner]
        return owner, np.packbits(mask).tobytes()

    def _mask(self, key: Key) -> NDArray[np.bool_]:
        # Masks wait as packed bits: those that leave out each word of a long text would fill the memory.
        size = self._sizes[key[0]]
        return np.unpackbits(np.frombuffer(key[1], dtype=np.uint8), count=size).astype(bool)

    def _evaluate(self) -> None:
        pending, self._pending = self._pending, {}
        whole = {self._key(owner, self.full(owner)) for owner, _ in pending}
        # Full inputs first: they say which class the others are about.
        keys = sorted(pending, key=lambda key: (key not in whole, self._sizes[key[0]], key))
        for part in self._parts(keys):
            width = max(self._sizes[owner] for owner, _ in part)
            keep = np.zeros((len(part), width), dtype=np.float32)
            for row, key in enumerate(part):
                keep[row, : self._sizes[key[0]]] = self._mask(key)
            owner = np.asarray([key[0] for key in part], dtype=np.intp)
            scores, table = self._ask(owner, keep)
            for key, row_scores, row_probabilities in zip(part, scores, table, strict=True):
                number = key[0]
                best = int(row_probabilities.argmax())
                if key in whole and number not in self._classes:
                    self._classes[number] = best if self._target is None else self._target
                    self._scores[number] = row_scores
                followed = self._classes[number]
                self._known[key] = Answer(
                    float(row_probabilities[followed]), best == followed, _distance(self._scores[number], row_scores)
                )

    def _ask(
        self, owner: NDArray[np.intp], keep: NDArray[np.float32]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Scores and probabilities, N x K each."""
        outputs = getattr(self.space, "outputs", None)
        if outputs is None or self._to_probabilities is None:
            table = np.asarray(self.space.probabilities(owner, keep), dtype=np.float64)
            return np.log(np.maximum(table, _SMALLEST)), table
        scores = outputs(owner, keep)
        table = np.asarray(self._to_probabilities(scores), dtype=np.float64)
        return np.asarray(scores, dtype=np.float64), table

    def _parts(self, keys: Sequence[Key]) -> Iterator[list[Key]]:
        """Neighbouring keys whose keep matrix stays within bounds."""
        part: list[Key] = []
        width = 0
        for key in keys:
            width = max(width, self._sizes[key[0]])
            if part and (len(part) + 1) * width > _CELLS:
                yield part
                part, width = [], self._sizes[key[0]]
            part.append(key)
        if part:
            yield part


def _distance(full: NDArray[np.float64], left: NDArray[np.float64]) -> float:
    # An example with fewer choices than others has no score in the columns beyond its own.
    width = min(len(full), len(left))
    there = np.isfinite(full[:width]) & np.isfinite(left[:width])
    return float(np.linalg.norm(full[:width][there] - left[:width][there]))
