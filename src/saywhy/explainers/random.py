"""Random scores: the floor that every other method must beat."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from saywhy.explainers.base import Explainer, Request, register
from saywhy.types import Explanation

__all__ = ["Random"]


@register
@dataclass(frozen=True)
class Random(Explainer):
    """Independent standard normal scores; a function of the seed and the words, not of the order of the texts.

    Words that the model does not read, because a text was cut, have 0 as from every other method.

    Options:
        space: ``words`` (default) or ``alignments``.
    """

    name: ClassVar[str] = "random"
    family: ClassVar[str] = "baseline"
    needs: ClassVar[tuple[str, ...]] = ("outputs",)
    spaces: ClassVar[tuple[str, ...]] = ("words", "alignments")

    space: str = "words"

    def explain(self, request: Request) -> list[Explanation]:  # noqa: D102
        encoded = request.prepare()
        scores = request.model.scores(encoded, request.batch_size).numpy()
        words = []
        for item in encoded:
            # numpy takes no negative seeds; two numbers keep them apart from the positive ones.
            entropy = [
                int(request.seed < 0),
                abs(request.seed),
                *(ord(c) for text in item.example.fields for c in text),
            ]
            first = sum(word.field == 0 for word in item.words)
            size = len(item.words) if self.space == "words" else first * (len(item.words) - first)
            read = item.read()
            if self.space != "words":
                read = np.outer(read[:first], read[first:]).reshape(-1)
            words.append(np.where(read, np.random.default_rng(entropy).standard_normal(size), 0.0))
        return self.word_scores(request, encoded, list(scores), words)
