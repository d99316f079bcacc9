"""Spaces of things that may be removed: what does the model say when a part of the input is kept to degree z?

Leave-one-out, LIME, SHAP, BackSelect, gradients on masks, AREC and the faithfulness metrics all ask this one question.
It is answered here once, with equal masks evaluated once, shortest inputs first, and memory bounded by the batch size.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from saywhy.errors import OptionError
from saywhy.models.differentiate import Loss, differentiate, group_by_length
from saywhy.models.encoding import Encoded, Row
from saywhy.models.text_model import TextModel
from saywhy.ops.batching import length_batches, rows_that_fit
from saywhy.types import Example

__all__ = ["MaskSpace", "RowSpace"]


class MaskSpace(Protocol):
    """A batch of inputs, each with its own features, any of which can be removed."""

    name: str
    erasure: str
    features: list[tuple[Any, ...]]
    encoded: list[Encoded]
    continuous: bool

    def outputs(self, owner: np.ndarray, keep: np.ndarray) -> Tensor:
        """Scores N x K of inputs ``owner`` (N,) with features kept to the degree ``keep`` (N, F)."""
        ...

    def probabilities(self, owner: np.ndarray, keep: np.ndarray) -> np.ndarray:
        """The same as probabilities, N x K."""
        ...

    def value_and_grad(self, owner: np.ndarray, keep: np.ndarray, loss: Loss) -> tuple[Tensor, Tensor, np.ndarray]:
        """Scores (N x K), losses (N,) and their gradients with respect to ``keep`` (N, F)."""
        ...


@dataclass
class _Plan:
    """The different rows that some masks need, and which of them make up each mask's input."""

    rows: list[Row]
    index: np.ndarray  # of the row, for each row of each item
    owner: np.ndarray  # the item it belongs to


class RowSpace(ABC):
    """Base of the spaces whose inputs are rows of pieces of one network.

    Subclasses say what features there are, what a row looks like under a mask, and how it is run.

    Args:
        model: any `TextModel`.
        examples: the inputs.
        erasure: what removing a feature means.
        batch_size: the most rows the network sees at a time.
        truncation: what to do with texts that are too long.
        encoded: the examples as `TextModel.prepare` encodes them, if that was done already.
    """

    name: str
    continuous: bool

    def __init__(
        self,
        model: TextModel,
        examples: Sequence[Example],
        *,
        erasure: str,
        batch_size: int = 32,
        truncation: str = "error",
        encoded: Sequence[Encoded] | None = None,
    ) -> None:
        if batch_size < 1:
            raise OptionError(f"batch_size must be at least 1, not {batch_size}")
        self.model = model
        self.erasure = erasure
        self.batch_size = batch_size
        self.encoded = list(encoded) if encoded is not None else model.prepare(examples, truncation, batch_size)
        self.features: list[tuple[Any, ...]] = [self._features(item) for item in self.encoded]
        self.spent = np.zeros(len(self.encoded), dtype=np.int64)
        """How many rows the model has been given so far, for each input."""

    @property
    def calls(self) -> int:
        """How many rows the model has been given so far."""
        return int(self.spent.sum())

    @abstractmethod
    def _features(self, item: Encoded) -> tuple[Any, ...]:
        """What may be removed from an input."""

    @abstractmethod
    def _shown(self, row: Row, mask: np.ndarray) -> np.ndarray:
        """The part of a mask that a row depends on: rows for which it is equal are run once."""

    @abstractmethod
    def _erased(self, number: int, row: Row, mask: np.ndarray) -> Row:
        """A row of input ``number`` under a mask."""

    @abstractmethod
    def _raw(self, network: nn.Module, rows: list[Row], grad: bool = False) -> tuple[Tensor, Tensor]:
        """Scores of erased rows, and the tensor of how far their parts are kept (rows x ...)."""

    @abstractmethod
    def _collected(self, row: Row, gradient: np.ndarray) -> np.ndarray:
        """From the gradient of what `_raw` kept of a row to that of features."""

    def _check_continuous(self) -> None:  # noqa: B027 - most spaces have them
        """Raise an error if there are no gradients with respect to masks here."""

    def outputs(self, owner: np.ndarray, keep: np.ndarray) -> Tensor:
        """Scores of inputs with features kept or removed.

        Args:
            owner: number of the example of each mask, (N,).
            keep: how far each feature is kept, (N, F); columns beyond an example's features are ignored.

        Returns:
            N x K; softmax gives probabilities.
        """
        owner, keep = self._check(owner, keep)
        if not len(owner):
            return torch.zeros(0, max(1, len(self.model.labels)))
        return self._outputs(owner, keep)

    def _outputs(self, owner: np.ndarray, keep: np.ndarray) -> Tensor:
        plan = self._plan(owner, keep)
        batches = length_batches([len(row) for row in plan.rows], self.batch_size)
        with self.model.evaluation() as network, torch.no_grad():
            parts = [self._raw(network, [plan.rows[i] for i in some])[0].float().cpu() for some in batches]
        raw = torch.cat(parts)[np.argsort(np.concatenate(batches))]
        return self.model.task.combine(raw[plan.index], torch.from_numpy(plan.owner), len(owner))

    def probabilities(self, owner: np.ndarray, keep: np.ndarray) -> np.ndarray:
        """The same as probabilities, N x K."""
        return self.model.task.probabilities(self.outputs(owner, keep)).numpy()

    def value_and_grad(self, owner: np.ndarray, keep: np.ndarray, loss: Loss) -> tuple[Tensor, Tensor, np.ndarray]:
        """Scores, losses and the losses' gradients with respect to how far features are kept.

        Args:
            owner: number of the example of each mask, (N,).
            keep: how far each feature is kept, (N, F), in [0, 1].
            loss: from scores n x K and owners (n,) to one number each (n,); called once or more per item.

        Returns:
            Scores N x K, losses (N,), gradients N x F.
        """
        self._check_continuous()
        owner, keep = self._check(owner, keep)
        if not len(owner):
            return self.outputs(owner, keep), torch.zeros(0), np.zeros(keep.shape)
        gradient = np.zeros(keep.shape, dtype=np.float64)
        scores: list[Tensor] = [torch.empty(0)] * len(owner)
        values = torch.zeros(len(owner))
        with self.model.evaluation() as network:
            # Masks of attention keep its tables for the gradient.
            for items in group_by_length(self.encoded, owner, self.batch_size, square=True):
                plan = self._plan(owner[items], keep[items], share=False)

                def run(rows: slice, grad: bool, plan: _Plan = plan) -> tuple[Tensor, Tensor, Tensor]:
                    raw, kept = self._raw(network, plan.rows[rows], grad)
                    return raw, kept, kept

                most = rows_that_fit(self.batch_size, max(len(row) for row in plan.rows), square=True)
                made, value, parts = differentiate(
                    self.model.task, run, torch.from_numpy(plan.owner), owner[items], loss, most
                )
                for place, item in enumerate(items):
                    scores[item], values[item] = made[place].float().cpu(), value[place].float().cpu()
                for rows, grad, _ in parts:
                    for row, index, own in zip(plan.rows[rows], plan.owner[rows], grad.cpu().numpy(), strict=True):
                        part = self._collected(row, own)
                        gradient[items[index], : len(part)] += part
        return torch.stack(scores), values, gradient

    def _plan(self, owner: np.ndarray, keep: np.ndarray, share: bool = True) -> _Plan:
        seen: dict[tuple[int, int, bytes], int] = {}
        rows: list[Row] = []
        index: list[int] = []
        items: list[int] = []
        for item, number in enumerate(owner):
            mask = keep[item, : len(self.features[number])]
            for place, row in enumerate(self.encoded[number].rows):
                # Rows are equal when the features they show are kept alike: a choice's words are in one row only.
                key = (int(number), place, self._shown(row, mask).tobytes())
                found = seen.get(key) if share else None
                if found is None:
                    found = seen[key] = len(rows)
                    rows.append(self._erased(int(number), row, mask))
                    self.spent[number] += 1
                index.append(found)
                items.append(item)
        return _Plan(rows, np.asarray(index), np.asarray(items))

    def _check(self, owner: np.ndarray, keep: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        owner, keep = np.asarray(owner, dtype=np.int64), np.asarray(keep, dtype=np.float32)
        widest = max((len(self.features[n]) for n in set(owner.tolist())), default=0)
        if keep.ndim != 2 or len(keep) != len(owner) or keep.shape[1] < widest:
            raise OptionError(
                f"keep has shape {keep.shape}; expected {(len(owner), widest)}: a row per mask, a column per feature"
            )
        return owner, keep
