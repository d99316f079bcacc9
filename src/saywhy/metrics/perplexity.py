"""Perplexity: how fluent sentences are, by a language model of what people wrote."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from saywhy.errors import OptionError
from saywhy.metrics.base import register
from saywhy.metrics.parts import Contributions, Parts
from saywhy.metrics.sentences import SentenceMetric, sentences_of
from saywhy.metrics.trial import Trial
from saywhy.ops.language_model import NgramModel

__all__ = ["Perplexity"]


@register
@dataclass(frozen=True, kw_only=True)
class Perplexity(SentenceMetric):
    """Perplexity a word of the sentences under an n-gram model of human explanations; low is fluent.

    Reference: MPII, section 3.3, which uses an n-gram model of text that it does not name: its figures and these cannot
    be compared. Here it is a trigram model with interpolated Kneser-Ney smoothing, learned from all the explanations
    that people wrote for one split of a dataset. As there, the end of a sentence counts as a prediction and not as a
    word, and capitals are read as small letters.

    Options:
        data: the dataset whose explanations are learned.
        split: of it; ``train`` if it has one, else ``dev``. Never the one that is measured on.
        order: words the model looks at.
    """

    name: ClassVar[str] = "perplexity"

    data: str = "esnli"
    split: str | None = None
    order: int = 3

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.order < 1:
            raise OptionError(f"{self.name}: order must be at least 1, not {self.order}")

    @property
    def higher_is_better(self) -> bool:
        """Low is fluent."""
        return False

    @property
    def range(self) -> tuple[float, float]:
        """From 1 on."""
        return (1.0, float("inf"))

    def measure(self, trial: Trial) -> Parts:
        """Log-probability and words of each sentence that has some."""
        model = _learn(self.data, self.split, self.order)
        found = [sentence.lower().split() for sentence in sentences_of(trial)]
        index = np.flatnonzero([bool(words) for words in found])
        table = np.asarray([[model.log_probability(found[i]), len(found[i])] for i in index], dtype=np.float64)
        return Parts(index, {"counts": table.reshape(-1, 2)}, len(found))

    def contributions(self, parts: Parts) -> Contributions:
        """The perplexity over the corpus, of which every sentence has a share."""
        notes = (f"language model of order {self.order} learned from the explanations of {self.data}",)
        return Contributions(parts.columns["counts"], _perplexity, notes=notes)


def _perplexity(means: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.exp(-means[:, 0] / means[:, 1])


@lru_cache(maxsize=4)
def _learn(data: str, split: str | None, order: int) -> NgramModel:
    """Learning takes seconds, and a corpus is measured in many blocks."""
    from saywhy.data import load_dataset

    found = load_dataset(data)
    chosen = split or ("train" if "train" in found.splits else "dev")
    sentences = [s.lower().split() for example in found[chosen] for s in example.explanations]
    if not sentences:
        raise OptionError(f"perplexity: {data} has no explanations in {chosen} to learn a language model from")
    return NgramModel(sentences, order)
