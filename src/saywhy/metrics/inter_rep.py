"""Inter-Rep: whether the explanations of different inputs repeat each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import xxhash

from saywhy.errors import OptionError
from saywhy.metrics.base import register
from saywhy.metrics.parts import Contributions, Parts
from saywhy.metrics.sentences import SentenceMetric, sentences_of
from saywhy.metrics.trial import Trial
from saywhy.ops.sentences import ngrams, pseudo_repetition

__all__ = ["InterRep"]


@register
@dataclass(frozen=True, kw_only=True)
class InterRep(SentenceMetric):
    """Repetition between sentences: the share of all their trigrams that came before in the corpus; low is diverse.

    Reference: MPII, section 3.3, which does not define it. One minus distinct-3 on words between spaces is the
    definition that gives its two human rows: 0.39 on e-SNLI's test pairs (0.40 there), 0.163 on the dev questions of
    CoS-E 1.11 (0.16). Capitals are read as small letters.

    It grows with the number of sentences: compare only figures of the same inputs. The interval is that of the
    jackknife's pseudo-values, because a resample repeats sentences by itself.

    Options:
        n: words of what is counted.
    """

    name: ClassVar[str] = "inter-rep"

    n: int = 3

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.n < 1:
            raise OptionError(f"{self.name}: n must be at least 1, not {self.n}")

    @property
    def higher_is_better(self) -> bool:
        """Repetition is bad."""
        return False

    def measure(self, trial: Trial) -> Parts:
        """The n-grams of each sentence, by their hashes: a corpus of sentences stays small."""
        sentences = sentences_of(trial)
        grams = np.empty(len(sentences), dtype=object)
        for i, sentence in enumerate(sentences):
            found = ngrams(sentence.lower().split(), self.n)
            grams[i] = [xxhash.xxh3_64_intdigest(" ".join(gram).encode()) for gram in found]
        return Parts(np.arange(len(sentences)), {"grams": grams}, len(sentences))

    def contributions(self, parts: Parts) -> Contributions:
        """The repetition over the corpus, of which every sentence has a share."""
        rows = pseudo_repetition(list(parts.columns["grams"]))
        return Contributions(rows, lambda means: np.clip(means[:, 0], 0.0, 1.0))
