"""Occlusion: cover a window, or a sentence, and see what happens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from saywhy.errors import OptionError
from saywhy.explainers.base import Explainer, Request, register
from saywhy.explainers.inquiry import Inquiry, open_space
from saywhy.explainers.removal import values_without
from saywhy.models import Encoded
from saywhy.types import Explanation, Word

__all__ = ["Occlusion"]

UNITS = ("window", "sentence", "word")
_ENDS = frozenset(".!?…。！？")
_CLOSING = frozenset("\"'”’»)]")


@register
@dataclass(frozen=True)
class Occlusion(Explainer):
    """The drop of the target when a window around a feature is erased: one model call a window.

    Reference: Zeiler and Fergus: Visualizing and Understanding Convolutional Networks, ECCV 2014, section 4.2; windows
    of words take the place of patches. On single words it is leave-one-out.

    A word's score is the mean drop over the windows that cover it. No window reaches from one text into another. On
    alignments windows are blocks: some words of the first text by some words of the second.

    Options:
        unit: ``window`` (default), ``sentence`` or ``word``. Sentences are those of ``Example.meta["sentences"]`` where
            the data have them; otherwise a sentence ends at a line's end, or with a full stop, question or exclamation
            mark that no lower-case word follows.
        window: words in a window.
        stride: words from one window to the next, at most ``window``; the last window ends with the text.
        output: ``probability`` (default) or ``logit`` of the target.
        space: ``words`` (default) or ``alignments``.
        erasure: what erasing means; by default ``delete``, or ``mask-token`` where positions must stay.
    """

    name: ClassVar[str] = "occlusion"
    family: ClassVar[str] = "perturbation"
    needs: ClassVar[tuple[str, ...]] = ("outputs",)
    spaces: ClassVar[tuple[str, ...]] = ("words", "alignments")
    paper: ClassVar[str] = "Zeiler and Fergus 2014"

    unit: str = "window"
    window: int = 3
    stride: int = 1
    output: str = "probability"
    space: str = "words"
    erasure: str | None = None

    def explain(self, request: Request) -> list[Explanation]:  # noqa: D102
        self._check()
        space = open_space(request, self.space, self.erasure)
        inquiry = Inquiry(request, space, self.output)
        windows = [self._windows(item) for item in space.encoded]
        owner = np.repeat(np.arange(len(windows)), [len(own) for own in windows])
        left = values_without(inquiry, owner, [window for own in windows for window in own])
        drops = np.split(inquiry.whole()[owner] - left, np.cumsum([len(own) for own in windows])[:-1])
        scores = []
        for size, own, drop in zip(inquiry.sizes.tolist(), windows, drops, strict=True):
            covered = np.concatenate([np.zeros(0, dtype=np.int64), *own])
            total = np.bincount(covered, np.repeat(drop, [len(window) for window in own]), minlength=size)
            scores.append(total / np.bincount(covered, minlength=size))
        return self.word_scores(
            request, space.encoded, inquiry.scores(), scores, costs=inquiry.costs(), erasure=space.erasure
        )

    def _windows(self, item: Encoded) -> list[np.ndarray]:
        """The features of each window of an input."""
        numbers = np.asarray([word.field for word in item.words])
        fields = [np.flatnonzero(numbers == field) for field in np.unique(numbers)]
        parts = [[field[a:b] for a, b in self._cuts(item, [item.words[i] for i in field])] for field in fields]
        if self.space == "words":
            return [part for own in parts for part in own]
        if len(fields) < 2:
            return []  # an empty text has nothing to align
        premise, hypothesis = parts
        wide, first = len(fields[1]), len(fields[0])
        return [(p[:, None] * wide + (h - first)[None, :]).ravel() for p in premise for h in hypothesis]

    def _cuts(self, item: Encoded, words: Sequence[Word]) -> list[tuple[int, int]]:
        """From which to which word of a text its windows reach."""
        if self.unit == "sentence":
            return _sentences(item, words)
        size, stride = (1, 1) if self.unit == "word" else (min(self.window, len(words)), self.stride)
        last = len(words) - size
        starts = [*range(0, last, stride), last]
        return [(start, start + size) for start in starts]

    def _check(self) -> None:
        if self.unit not in UNITS:
            raise OptionError(f"unknown unit {self.unit!r}; use one of {', '.join(UNITS)}")
        if self.window < 1:
            raise OptionError(f"window must be at least 1, not {self.window}")
        if not 1 <= self.stride <= self.window:
            raise OptionError(f"stride must be between 1 and the window of {self.window}, not {self.stride}")


def _sentences(item: Encoded, words: Sequence[Word]) -> list[tuple[int, int]]:
    example, field = item.example, words[0].field
    # The data's sentences are those of the one text that is not fixed, such as a question.
    fixed = set(example.meta.get("fixed", ()))
    open_texts = [i for i in range(len(example.fields)) if i not in fixed]
    if example.meta.get("sentences") and open_texts == [field]:
        starts = np.sort([start for start, _ in example.meta["sentences"]])
        number = np.searchsorted(starts, [word.start for word in words], side="right")
        new = np.diff(number) > 0
    else:
        text = example.fields[field]
        new = np.asarray(
            [
                ("\n" in text[words[i - 1].end : word.start] or (_ended(words, i) and not word.text[:1].islower()))
                and not (_closes(words, i) or set(word.text) <= _ENDS)
                for i, word in enumerate(words)
                if i > 0
            ],
            dtype=bool,
        )
    breaks = [0, *(np.flatnonzero(new) + 1).tolist()]
    return list(zip(breaks, [*breaks[1:], len(words)], strict=True))


def _ended(words: Sequence[Word], i: int) -> bool:
    """Whether the words before number i end a sentence: marks, and what closes quotes and brackets after them."""
    at = i - 1
    while at > 0 and _closes(words, at):
        at -= 1
    return set(words[at].text[-1:]) <= _ENDS


def _closes(words: Sequence[Word], i: int) -> bool:
    """Whether word number i is a mark that closes what comes right before it."""
    return words[i].start == words[i - 1].end and set(words[i].text) <= _CLOSING
