"""A model whose alignments are guided by semantic roles, without any training."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

import numpy as np
from torch import Tensor

from saywhy.data.frames import Frame, read_frames, role_mask
from saywhy.errors import DataError
from saywhy.models.alignment_space import AlignmentSpace, check_alignments
from saywhy.models.encoding import Encoded
from saywhy.models.text_model import TextModel

__all__ = ["Frames", "GuidedModel", "given_frames"]

Frames = Callable[[Sequence[str]], list[tuple[Frame, ...]]]
"""The frames of each text: `RoleTagger.frames`, `given_frames`, or a function of your own."""


def given_frames(path: str | os.PathLike[str]) -> Frames:
    """The frames of a file, by text, as `read_frames` reads them.

    What it returns raises `DataError` for a text that is not in the file: that it has no frames must be said there.

    Example:
        >>> guided = GuidedModel(model, given_frames("frames.jsonl"))                          # doctest: +SKIP
    """
    known = read_frames(path)

    def frames(texts: Sequence[str]) -> list[tuple[Frame, ...]]:
        missing = [text for text in dict.fromkeys(texts) if text not in known]
        if missing:
            raise DataError(
                f"no frames of {missing[0]!r:.100}{f' and {len(missing) - 1} more' if missing[1:] else ''}; "
                'a text without any has "frames": []',
                file=str(path),
            )
        return [known[text] for text in texts]

    return frames


class GuidedModel(TextModel):
    """A classifier of pairs that may only align what plays the same role.

    Reference: AREC, section 4.2.3: co-attention is multiplied by a mask made of predicates and roles; see `role_mask`.

    It predicts and can be measured; to explain, take the model it was made of.

    Args:
        model: a pair classifier whose alignments can be masked.
        frames: gives the frames of texts.

    Example:
        >>> guided = GuidedModel(model, RoleTagger.load("runs/roles").frames)                  # doctest: +SKIP
        >>> saywhy.evaluate(guided, "hans", metrics="accuracy")                                # doctest: +SKIP
    """

    def __init__(self, model: TextModel, frames: Frames) -> None:
        check_alignments(model)
        self.__dict__.update(model.__dict__)
        self._unguided, self._frames = model, frames

    @property
    def capabilities(self) -> frozenset[str]:
        """None that explainers could use."""
        return frozenset()

    @property
    def fingerprint(self) -> str:
        """That of the model, marked."""
        return f"{self._unguided.fingerprint}-guided"

    def masks(self, encoded: Sequence[Encoded]) -> list[np.ndarray]:
        """Which alignments are allowed, |p| x |h| each."""
        texts = [item.example.texts for item in encoded]
        frames = self._frames([text for pair in texts for text in pair])
        found = []
        for i, item in enumerate(encoded):
            premise, hypothesis = ([word for word in item.words if word.field == field] for field in (0, 1))
            pair = (texts[i][0], texts[i][1])
            found.append(role_mask(pair, premise, hypothesis, frames[2 * i], frames[2 * i + 1]))
        return found

    def scores(self, encoded: Sequence[Encoded], batch_size: int = 32) -> Tensor:
        """Scores of encoded examples under their masks, N x K."""
        space = AlignmentSpace(
            self._unguided, [item.example for item in encoded], batch_size=batch_size, encoded=encoded
        )
        masks = self.masks(encoded)
        keep = np.zeros((len(masks), max(mask.size for mask in masks)), dtype=np.float32)
        for row, mask in zip(keep, masks, strict=True):
            row[: mask.size] = mask.reshape(-1)
        return space.outputs(np.arange(len(masks)), keep)
