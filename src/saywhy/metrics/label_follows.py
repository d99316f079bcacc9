"""Label-follows: does a model decide by what it says?"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from saywhy.errors import CapabilityError
from saywhy.metrics.base import register
from saywhy.metrics.parts import Contributions, Parts
from saywhy.metrics.sentences import SentenceMetric, labels_of, sentences_of
from saywhy.metrics.trial import Trial, Workbench

__all__ = ["LabelFollows"]

_NOBODY, _ANY = -1, -2  # no example has another label; any other label will do


@register
@dataclass(frozen=True, kw_only=True)
class LabelFollows(SentenceMetric):
    """Share of the examples whose label becomes that of another explanation when this is put into the model's mouth.

    The other explanation is the one that the model wrote for the next example with another label. A model whose label
    comes from its explanation follows it; one that decides first and talks afterwards does not: `transformer-mlp` has
    0, as has a model that knows one label only. ``bins["changed"]`` counts any change of the label.

    Choices differ by example, so that there is no label to follow: there any change counts, by the explanation of the
    next question.
    """

    name: ClassVar[str] = "label-follows"
    bins_are: ClassVar[str] = "parts"

    def check_model(self, bench: Workbench) -> None:
        """Raise an error for a model that does not speak."""
        super().check_model(bench)
        if bench.task and not getattr(getattr(bench.model, "network", None), "speaks", False):
            raise CapabilityError(f"{self.name} asks a model that speaks, such as one trained by mpii")

    def measure(self, trial: Trial) -> Parts:
        """The label before, that of the other sentence, and the one after."""
        from saywhy.models.sentences import follow

        bench, sentences = trial.bench, sentences_of(trial)
        model: Any = bench.model
        choices, count = bench.task == "choices", len(sentences)
        told = zip(labels_of(trial), bench.examples, strict=True)
        before = np.asarray([model.label_index(label, example) for label, example in told])
        donors = [
            next((j for j in _after(i, count) if choices or before[j] != before[i]), _NOBODY) for i in range(count)
        ]
        asked = [i for i, donor in enumerate(donors) if donor != _NOBODY]
        other, after = np.full(count, _NOBODY), before.copy()
        if asked:
            encoded = model.prepare([bench.examples[i] for i in asked], bench.truncation, bench.batch_size)
            given = [sentences[donors[i]] for i in asked]
            heard = [int(found.scores.argmax()) for found in follow(model, encoded, given, bench.batch_size)]
            if choices:  # one that stands twice is the same answer
                heard = [model.label_index(e.choices[h], e) for e, h in zip(bench.examples, heard, strict=True)]
            after[asked] = heard
            other[asked] = _ANY if choices else before[[donors[i] for i in asked]]
        return Parts(np.arange(count), {"before": before, "other": other, "after": after}, count)

    def finish(self, parts: Parts, seed: int) -> Parts:
        """Without those that found no other label, unless nobody did."""
        asked = parts.columns["other"] != _NOBODY
        if asked.all() or not asked.any():
            return parts
        columns = {name: column[asked] for name, column in parts.columns.items()}
        return replace(parts, index=parts.index[asked], columns=columns)

    def contributions(self, parts: Parts) -> Contributions:
        """The share that followed, and the share that changed at all."""
        after, other = parts.columns["after"], parts.columns["other"]
        changed = after != parts.columns["before"]
        followed = np.where(other == _ANY, changed, after == other)
        alone = (other == _NOBODY).all()
        notes = ("no other label here that could be followed",) * bool(alone)
        return Contributions.mean(followed, bins={"changed": float(changed.mean())}, notes=notes)


def _after(i: int, n: int) -> list[int]:
    """Numbers behind i, then those before it."""
    return [(i + step) % n for step in range(1, n)]
