"""Words chosen by an attribution of another model: the first half of a select-then-predict model."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from saywhy.data.words import example_words
from saywhy.errors import CapabilityError, InputError, OptionError
from saywhy.explainers.run import check_capabilities, explain, make_explainer
from saywhy.models import TextModel, load
from saywhy.models.selecting import selectors
from saywhy.ops.ranking import top_mask, window_mask
from saywhy.types import Example, WordScores

__all__ = ["SaliencySelector"]

SUPPORT = "support"


@selectors.register("saliency")
class SaliencySelector:
    """The best share of the words by a method's scores for another model's prediction.

    Args:
        support: the model that is explained.
        method: name of a method that scores words.
        top: share of the words, rounded up.
        contiguous: the best run of so many words instead of the best words.
        method_options: of the method.
        batch_size: the most rows the support model sees at a time.
    """

    name: ClassVar[str] = "saliency"

    def __init__(
        self,
        support: TextModel,
        method: str = "scaled-attention",
        *,
        top: float = 0.2,
        contiguous: bool = False,
        method_options: Mapping[str, Any] | None = None,
        batch_size: int = 32,
    ) -> None:
        if not 0 < top <= 1:
            raise OptionError(f"top must lie between 0 and 1, not at {top}")
        self.support, self.method, self.top, self.contiguous = support, method, top, contiguous
        self.method_options, self.batch_size = dict(method_options or {}), batch_size
        check_capabilities(support, make_explainer(method, self.method_options))

    def select(self, examples: Sequence[Example], truncation: str) -> list[NDArray[np.bool_]]:
        """For each example which of its words are read; fields in ``meta["fixed"]`` are read as a whole.

        Words beyond the end of a text that is cut are never chosen, and do not count.
        """
        words = [example_words(example, self.support.splitter) for example in examples]
        chosen = [np.ones(len(own), dtype=bool) for own in words]
        some = [i for i, own in enumerate(words) if own]
        made = explain(
            self.support,
            [examples[i] for i in some],
            self.method,
            batch_size=self.batch_size,
            truncation=truncation,
            verdict=False,
            **self.method_options,
        )
        for i, why in zip(some, made, strict=True):
            if not isinstance(why, WordScores) or len(why.words) != len(words[i]):
                raise InputError(f"{self.method} does not score the words of {examples[i].where()}")
            fixed = examples[i].meta.get("fixed", ())
            chosen[i] = np.asarray([word.field in fixed for word in why.words])
            free = np.flatnonzero(~chosen[i] & self._seen(examples[i], len(why.words), truncation))
            if len(free):
                best = window_mask if self.contiguous else top_mask
                chosen[i][free] = best(np.asarray(why.scores)[free], self.top)
        return chosen

    def _seen(self, example: Example, words: int, truncation: str) -> NDArray[np.bool_]:
        """Which words the support model reads at all."""
        seen = np.ones(words, dtype=bool)
        if self.support.network is not None:
            seen[:] = False
            for row in self.support.encode([example], truncation)[0].rows:
                seen[row.pieces.word] = True
        return seen

    @property
    def fingerprint(self) -> str:
        """Of the support model and the settings."""
        facts = json.dumps([self.support.fingerprint, self._settings()], sort_keys=True, default=str)
        return hashlib.blake2b(facts.encode(), digest_size=8).hexdigest()

    def save(self, folder: Path) -> dict[str, Any]:
        """The support model goes into a folder of its own inside the model's."""
        if self.support.network is None:
            raise CapabilityError("a model whose words a black box chooses cannot be saved")
        self.support.save(folder / SUPPORT)
        return self._settings()

    @classmethod
    def open(cls, folder: Path, settings: Mapping[str, Any]) -> SaliencySelector:
        """Read back what `save` wrote."""
        known = ("top", "contiguous", "method_options")
        return cls(load(folder / SUPPORT), settings["method"], **{key: settings[key] for key in known})

    def _settings(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "method": self.method,
            "top": self.top,
            "contiguous": self.contiguous,
            "method_options": self.method_options,
        }
