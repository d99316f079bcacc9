"""Perplexity: how fluent sentences are, by a language model of what people wrote."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from saywhy.data.corpus import text_key
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

    Text that was learned from looks far more fluent than it is: a note says how many of the examples that is true of.

    Options:
        learned_from: the dataset whose explanations are learned, or one of its splits (``esnli:test``); ``train`` if it
            has one, else ``dev``.
        order: words the model looks at.
    """

    name: ClassVar[str] = "perplexity"

    learned_from: str = "esnli"
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
        model, known = _learn(self.learned_from, self.order)
        found = [sentence.lower().split() for sentence in sentences_of(trial)]
        index = np.flatnonzero([bool(words) for words in found])
        table = np.asarray([[model.log_probability(found[i]), len(found[i])] for i in index], dtype=np.float64)
        met = sum(text_key(example) in known for example in trial.bench.examples)
        return Parts(index, {"counts": table.reshape(-1, 2)}, len(found), {"met": met})

    def contributions(self, parts: Parts) -> Contributions:
        """The perplexity over the corpus, of which every sentence has a share."""
        note = f"by a language model of order {self.order} of the explanations of {self.learned_from}"
        if parts.counts["met"]:
            note += f", which learned from {parts.counts['met']} of these {parts.seen} examples: it is too low"
        return Contributions(parts.columns["counts"], _perplexity, notes=(note,))


def _perplexity(means: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.exp(-means[:, 0] / means[:, 1])


@lru_cache(maxsize=4)
def _learn(learned_from: str, order: int) -> tuple[NgramModel, frozenset[str]]:
    """The model, and what it learned from; learning takes seconds, and a corpus is measured in many blocks."""
    from saywhy.data import load_dataset

    data, _, split = learned_from.partition(":")
    found = load_dataset(data)
    chosen = split or ("train" if "train" in found.splits else "dev")
    examples = [example for example in found[chosen] if example.explanations]
    if not examples:
        raise OptionError(f"perplexity: {data} has no explanations in {chosen} to learn a language model from")
    sentences = [s.lower().split() for example in examples for s in example.explanations]
    return NgramModel(sentences, order), frozenset(map(text_key, examples))
