"""Models of which only the predictions can be seen."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from saywhy.data.words import example_words
from saywhy.errors import InputError, OptionError
from saywhy.models.encoding import Encoded, check_truncation
from saywhy.models.tasks import make_task
from saywhy.models.text_model import TextModel
from saywhy.types import Example

__all__ = ["BlackBox"]


class BlackBox(TextModel):
    """A prediction function and nothing else: texts in, probabilities out.

    Args:
        function: takes a list of texts (pairs as tuples of two strings, questions with choices as tuples of the
            question and a tuple of choices) and returns an N x K table of probabilities.
        labels: names of the K classes.
        task: ``text``, ``pair`` or ``choices``.
        mask_token: stands in for a word under the erasure ``mask-token``.
    """

    def __init__(
        self,
        function: Callable[[list[Any]], Any],
        labels: Sequence[str],
        task: str = "text",
        *,
        splitter: str = "unicode",
        mask_token: str | None = None,
    ) -> None:
        if task == "span-qa":
            raise OptionError("a black box cannot do span-qa: it returns probabilities of classes, not of spans")
        self.function = function
        self.mask_token = mask_token
        self.network = None
        self.tokenizer = None
        self.splitter = splitter
        self.task = make_task(task, labels, 0)
        self.labels = self.task.labels
        self.attention_kinds = ()
        self.no_attention = "a black box shows its outputs only"

    @property
    def capabilities(self) -> frozenset[str]:
        """Outputs only."""
        return frozenset({"outputs"})

    @property
    def fingerprint(self) -> str:
        """Sixteen hex digits of what it answers to three fixed texts, and of its labels: its code cannot be seen."""
        probes = ("good", "a bad day", "nobody knows why")
        examples = [Example((t,)) for t in probes]
        if self.task.name == "pair":
            examples = [Example((t, probes[0])) for t in probes]
        elif self.task.name == "choices":
            # How many choices it takes is not known: its name must do.
            examples = []
        answers = np.round(self.call(examples), 6) if examples else np.zeros(0)
        facts = json.dumps([answers.tolist(), self.labels, self.task.name, self.splitter])
        return hashlib.blake2b(facts.encode(), digest_size=8).hexdigest()

    def call(self, examples: Sequence[Example], batch_size: int = 32) -> np.ndarray:
        """Ask for probabilities, N x K; at most batch_size texts a call.

        Questions with fewer choices than others have 0 in the columns beyond their own.
        """
        widths = np.asarray([len(self.labels) or len(example.choices) for example in examples])
        table = np.zeros((len(examples), int(widths.max(initial=0))))
        for width in np.unique(widths):
            same = np.flatnonzero(widths == width)
            for start in range(0, len(same), batch_size):
                some = same[start : start + batch_size]
                table[some, :width] = self._ask([examples[i] for i in some], int(width))
        return table

    def _ask(self, examples: Sequence[Example], width: int) -> np.ndarray:
        given: list[Any] = []
        for example in examples:
            if example.choices:
                given.append((example.texts[0], example.choices))
            else:
                given.append(example.texts[0] if len(example.texts) == 1 else example.texts)
        answer = self.function(given)
        try:
            table = np.asarray(answer, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise InputError(f"the prediction function must return a table of numbers: {error}") from error
        if table.shape != (len(given), width):
            raise InputError(
                f"the prediction function returned shape {table.shape} for {len(given)} texts; "
                f"expected {(len(given), width)}: one row per text, one column per label"
            )
        if not np.isfinite(table).all() or (table < -1e-6).any() or (np.abs(table.sum(1) - 1) > 1e-3).any():
            raise InputError("the prediction function must return probabilities: rows of numbers >= 0 that sum to 1")
        return table

    def encode(self, examples: Sequence[Example], truncation: str = "error") -> list[Encoded]:
        """Words only: there are no pieces, and no limit of length is known."""
        check_truncation(truncation)
        for example in examples:
            self.task.check(example)
        return [Encoded(example, example_words(example, self.splitter), ()) for example in examples]

    def prepare(self, examples: Sequence[Example], truncation: str = "error", batch_size: int = 32) -> list[Encoded]:
        """The same: nothing depends on the model's own answer."""
        if batch_size < 1:
            raise OptionError(f"batch_size must be at least 1, not {batch_size}")
        return self.encode(examples, truncation)

    def scores(self, encoded: Sequence[Encoded], batch_size: int = 32) -> Tensor:
        """Logarithms of the probabilities, N x K."""
        table = self.call([item.example for item in encoded], batch_size)
        scores = np.log(np.clip(table, 1e-12, None))
        for row, item in zip(scores, encoded, strict=True):
            # Where others have more choices, this one has no probability at all.
            row[len(self.labels) or len(item.example.choices) :] = -np.inf
        return torch.from_numpy(scores)

    def save(self, folder: str | os.PathLike[str]) -> None:
        """A function cannot be saved."""
        raise OptionError("a black box cannot be saved; save the model behind it")
