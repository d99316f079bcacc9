"""Label-follows: does a model decide by what it says?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from saywhy.errors import CapabilityError, OptionError
from saywhy.metrics.base import register
from saywhy.metrics.parts import Contributions, Parts
from saywhy.metrics.sentences import SentenceMetric, labels_of, sentences_of
from saywhy.metrics.trial import Trial, Workbench

__all__ = ["LabelFollows"]


@register
@dataclass(frozen=True, kw_only=True)
class LabelFollows(SentenceMetric):
    """Share of the examples whose label becomes that of another explanation when this is put into the model's mouth.

    The other explanation is the one that the model wrote for the next example with another label. A model whose label
    comes from its explanation follows it; one that decides first and talks afterwards does not: `transformer-mlp` has
    0. ``bins["changed"]`` counts any change of the label.
    """

    name: ClassVar[str] = "label-follows"
    bins_are: ClassVar[str] = "parts"

    def check_model(self, bench: Workbench) -> None:
        """Raise an error for a model that does not speak, or whose labels differ by example."""
        super().check_model(bench)
        if bench.task == "choices":
            raise OptionError(f"{self.name} needs labels that all examples share; choices differ by example")
        if bench.task and not getattr(getattr(bench.model, "network", None), "speaks", False):
            raise CapabilityError(f"{self.name} asks a model that speaks, such as one trained by mpii")

    def measure(self, trial: Trial) -> Parts:
        """The label before, that of the other sentence, and the one after."""
        from saywhy.models.sentences import follow

        bench, sentences = trial.bench, sentences_of(trial)
        model: Any = bench.model
        before = np.asarray([model.label_index(label) for label in labels_of(trial)])
        donors = [next((j for j in _after(i, len(before)) if before[j] != before[i]), None) for i in range(len(before))]
        index = [i for i, donor in enumerate(donors) if donor is not None]
        encoded = model.prepare([bench.examples[i] for i in index], bench.truncation, bench.batch_size)
        given = [sentences[donors[i] or 0] for i in index]
        after = [int(found.scores.argmax()) for found in follow(model, encoded, given, bench.batch_size)]
        columns = {
            "before": before[index],
            "other": np.asarray([before[donors[i] or 0] for i in index]),
            "after": np.asarray(after),
        }
        return Parts(np.asarray(index, dtype=np.intp), columns, len(before))

    def contributions(self, parts: Parts) -> Contributions:
        """The share that followed, and the share that changed at all."""
        after = parts.columns["after"]
        changed = float((after != parts.columns["before"]).mean())
        return Contributions.mean(after == parts.columns["other"], bins={"changed": changed})


def _after(i: int, n: int) -> list[int]:
    """Numbers behind i, then those before it."""
    return [(i + step) % n for step in range(1, n)]
