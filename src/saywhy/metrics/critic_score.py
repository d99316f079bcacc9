"""Critic-Score: whether a critic finds that input, label and sentence belong together."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from saywhy.data.critic import critic_texts
from saywhy.errors import OptionError
from saywhy.metrics.base import register
from saywhy.metrics.parts import Contributions, Parts
from saywhy.metrics.sentences import SentenceMetric, labels_of, sentences_of
from saywhy.metrics.trial import Trial, Workbench
from saywhy.types import Example

__all__ = ["CriticScore", "LabelAccuracy"]


@dataclass(frozen=True, kw_only=True)
class _Judged(SentenceMetric):
    """Base of the metrics that ask another model about sentences."""

    judge: ClassVar[str]
    corpus: ClassVar[str]

    def check_model(self, bench: Workbench) -> None:
        """Raise an error if nobody is there to judge."""
        super().check_model(bench)
        if not getattr(self, self.judge):
            raise OptionError(
                f"{self.name} needs {self.judge}=..., a model trained on {self.corpus}: "
                f"`saywhy train plain --data {self.corpus} --model minilm --out runs/{self.judge}`"
            )

    def _asked(self, trial: Trial, examples: list[Example]) -> list[Any]:
        model = _load(getattr(self, self.judge))
        return model.predict(examples, batch_size=trial.bench.batch_size, truncation="head")

    def _parts(self, trial: Trial, fits: list[bool]) -> Parts:
        judged = [trial.bench.is_right(i, why.prediction) for i, why in enumerate(trial.explanations)]
        # 1: the model was right, 0: wrong, -1: nobody knows.
        right = [-1 if known is None else int(known) for known in judged]
        columns = {"fits": np.asarray(fits, dtype=np.float64), "right": np.asarray(right)}
        return Parts(np.arange(len(fits)), columns, len(fits))


@register
@dataclass(frozen=True, kw_only=True)
class CriticScore(_Judged):
    """Percentage of the examples whose input, predicted label and sentence a trained critic finds to belong together.

    Reference: MPII, section 3.4, Table 3. ``bins`` split it by whether the prediction was right or wrong, as Table 6
    does with people (Fidelity-C and -W).

    Departures: the paper does not say whether the critic's yes is counted or its probability averaged; counted here.

    Options:
        critic: folder of a model trained on ``critic-pairs``; its own accuracy there should be reported with this.
    """

    name: ClassVar[str] = "critic-score"
    bins_are: ClassVar[str] = "parts"
    judge: ClassVar[str] = "critic"
    corpus: ClassVar[str] = "critic-pairs"

    critic: str = ""

    @property
    def range(self) -> tuple[float, float]:
        """A percentage."""
        return (0.0, 100.0)

    def measure(self, trial: Trial) -> Parts:
        """Whether the critic says yes."""
        told = zip(trial.bench.examples, labels_of(trial), sentences_of(trial), strict=True)
        asked = [Example(critic_texts(example, label, sentence)) for example, label, sentence in told]
        return self._parts(trial, [found.label == "yes" for found in self._asked(trial, asked)])

    def contributions(self, parts: Parts) -> Contributions:
        """The percentage, also of right and of wrong predictions."""
        fits, right = 100.0 * parts.columns["fits"], parts.columns["right"]
        chosen = {"right": right == 1, "wrong": right == 0}
        bins = {name: float(fits[which].mean()) for name, which in chosen.items() if which.any()}
        return Contributions.mean(fits, bins=bins)


@register
@dataclass(frozen=True, kw_only=True)
class LabelAccuracy(_Judged):
    """Share of the sentences from which a reader that sees nothing else tells the label that the model predicted.

    Reference: MPII, Table 6 (LAcc), where people read. A sentence that gives away nothing has the reader's guesses; one
    that contradicts its label has less than that. Of a question with choices the reader sees the choices, too.

    Options:
        reader: folder of a model trained on ``explanations-alone``.
    """

    name: ClassVar[str] = "label-accuracy"
    judge: ClassVar[str] = "reader"
    corpus: ClassVar[str] = "explanations-alone"

    reader: str = ""

    def measure(self, trial: Trial) -> Parts:
        """Whether the reader finds the predicted label."""
        told = list(zip(trial.bench.examples, sentences_of(trial), strict=True))
        found = self._asked(trial, [Example((said,), choices=example.choices) for example, said in told])
        return self._parts(trial, [a.label == label for a, label in zip(found, labels_of(trial), strict=True)])

    def contributions(self, parts: Parts) -> Contributions:
        """The share."""
        return Contributions.mean(parts.columns["fits"])


@lru_cache(maxsize=2)
def _load(path: str) -> Any:
    """Loaded once for all blocks of a corpus."""
    from saywhy.models import load

    return load(path)
