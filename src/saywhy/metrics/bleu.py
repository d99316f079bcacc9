"""BLEU: how much of a sentence's wording people used too."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from saywhy.errors import DataError, OptionError
from saywhy.metrics.base import check_option, register
from saywhy.metrics.parts import Contributions, Parts
from saywhy.metrics.sentences import SentenceMetric, sentences_of
from saywhy.metrics.trial import Trial
from saywhy.ops.sentences import ORDERS, bleu_from_counts
from saywhy.types import Example

__all__ = ["Bleu"]

TOKENIZERS = ("none", "13a", "intl", "char")


@register
@dataclass(frozen=True, kw_only=True)
class Bleu(SentenceMetric):
    """BLEU-4 of the sentences against those that people wrote, over the corpus, 0 to 100.

    Reference: MPII, section 3.3; counts by sacrebleu. Like the script that the paper used it takes words as they stand
    between spaces and smooths nothing; capitals are read as small letters, as e-SNLI's authors do. On e-SNLI's test
    pairs the third human explanation against the first two has 22.5, as in the paper (22.7 with apostrophes split off).

    Options:
        references: at most so many of an example's explanations, the first ones; two, as is usual on e-SNLI.
        tokenize: how sacrebleu cuts words: ``none`` (at spaces, default), ``13a``, ``intl`` or ``char``.
        lowercase: whether capitals are read as small letters; yes by default.

    Examples have no values of their own; the interval resamples examples and computes the BLEU of each resample.
    """

    name: ClassVar[str] = "bleu"

    references: int = 2
    tokenize: str = "none"
    lowercase: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_option(self.name, "tokenize", self.tokenize, TOKENIZERS)
        if self.references < 1:
            raise OptionError(f"{self.name}: references must be at least 1, not {self.references}")

    @property
    def range(self) -> tuple[float, float]:
        """0 to 100."""
        return (0.0, 100.0)

    def usable(self, example: Example, space: str = "words") -> bool:
        """Whether people explained it."""
        return bool(example.explanations)

    def unusable(self, n: int) -> DataError:
        """The error for data without explanations."""
        return DataError(f"{self.name} needs explanations people wrote, and none of the {n} examples has one")

    def measure(self, trial: Trial) -> Parts:
        """Matching n-grams of each sentence, N x 10."""
        from sacrebleu.metrics import BLEU

        # Counts alone are read off, which the effective order does not change; without it sacrebleu warns.
        scorer = BLEU(tokenize=self.tokenize, lowercase=self.lowercase, smooth_method="none", effective_order=True)
        index, rows = [], []
        for i, (sentence, example) in enumerate(zip(sentences_of(trial), trial.bench.examples, strict=True)):
            if self.usable(example):
                found = scorer.sentence_score(sentence, list(example.explanations[: self.references]))
                index.append(i)
                rows.append([found.sys_len, found.ref_len, *found.counts, *found.totals])
        table = np.asarray(rows, dtype=np.float64).reshape(-1, 2 + 2 * ORDERS)
        return Parts(np.asarray(index, dtype=np.intp), {"counts": table}, len(trial.bench.examples))

    def contributions(self, parts: Parts) -> Contributions:
        """The corpus score, of which every sentence has a share."""
        return Contributions(parts.columns["counts"], bleu_from_counts)
