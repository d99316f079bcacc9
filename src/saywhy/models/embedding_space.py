"""Points between a baseline and the input in the space of word embeddings, and the gradients there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from saywhy.errors import CapabilityError, OptionError
from saywhy.models.differentiate import Loss, differentiate, group_by_length
from saywhy.models.embedding_door import look_up, replace_embeddings
from saywhy.models.encoding import Encoded, Row, collate
from saywhy.models.text_model import TextModel
from saywhy.ops.batching import rows_that_fit

__all__ = ["BASELINES", "EmbeddingSpace", "Point"]

BASELINES = ("zero", "pad", "mask")

Reduce = Callable[[Tensor, Tensor], Tensor]
"""From gradients and differences to the baseline (both rows x L x d) to what is kept of them (rows x L x c)."""


@dataclass(frozen=True)
class Point:
    """What is known of one point: its scores (K,), the loss there, and what was kept of each row's pieces, (L, c)."""

    scores: np.ndarray
    value: float
    rows: tuple[np.ndarray, ...]


class EmbeddingSpace:
    """The straight paths from a baseline to the word embeddings of some inputs.

    Special tokens stay as they are on the whole path, so that all of the difference belongs to words.

    Args:
        model: a `TextModel` with embeddings.
        encoded: inputs as `TextModel.prepare` encodes them.
        baseline: ``zero``, or the embedding of the tokenizer's ``pad`` or ``mask`` token.
        batch_size: the most rows the network sees at a time.
    """

    def __init__(
        self, model: TextModel, encoded: Sequence[Encoded], *, baseline: str = "zero", batch_size: int = 32
    ) -> None:
        if baseline not in BASELINES:
            raise OptionError(f"unknown baseline {baseline!r}; use one of {', '.join(BASELINES)}")
        if batch_size < 1:
            raise OptionError(f"batch_size must be at least 1, not {batch_size}")
        self.model = model
        self.encoded = list(encoded)
        self.batch_size = batch_size
        self.calls = 0
        """How many rows went forward and backward so far."""
        self._baseline_id: int | None = None
        if baseline != "zero":
            self._baseline_id = getattr(model.tokenizer, f"{baseline}_token_id")
            if self._baseline_id is None:
                raise CapabilityError(f"the tokenizer has no {baseline} token; use baseline='zero'")

    def gradients(self, owner: np.ndarray, at: np.ndarray, loss: Loss, reduce: Reduce) -> list[Point]:
        """Scores, losses and gradients at points of the paths.

        Args:
            owner: number of the input of each point, (N,).
            at: how far along the path, (N,): 0 is the baseline, 1 the input.
            loss: from scores n x K and owners to one number each.
            reduce: what to keep of the gradients; the differences to the baseline are given beside them.

        Returns:
            A point each. Memory holds the gradients of one batch at a time.
        """
        points: list[Point | None] = [None] * len(owner)
        with self.model.evaluation() as network:
            for items in group_by_length(self.encoded, owner, self.batch_size):
                for item, point in zip(items, self._some(network, owner[items], at[items], loss, reduce), strict=True):
                    points[item] = point
        return [point for point in points if point is not None]

    def _some(self, network: nn.Module, owner: np.ndarray, at: np.ndarray, loss: Loss, reduce: Reduce) -> list[Point]:
        rows = [row for number in owner for row in self.encoded[number].rows]
        index = np.asarray([i for i, number in enumerate(owner) for _ in self.encoded[number].rows])
        self.calls += len(rows)

        def run(chunk: slice, grad: bool) -> tuple[Tensor, Tensor, Tensor]:
            return self._raw(network, rows[chunk], at[index[chunk]], grad)

        most = rows_that_fit(self.batch_size, max(len(row) for row in rows))
        scores, value, parts = differentiate(self.model.task, run, torch.from_numpy(index), owner, loss, most)
        found: list[list[np.ndarray]] = [[] for _ in owner]
        for chunk, grad, difference in parts:
            kept = reduce(grad, difference).float().cpu().numpy()
            for row, item, own in zip(rows[chunk], index[chunk], kept, strict=True):
                found[item].append(own[: len(row)])
        table, values = scores.float().cpu().numpy(), value.float().cpu().numpy()
        return [Point(table[i], float(values[i]), tuple(kept)) for i, kept in enumerate(found)]

    def word_scores(self, number: int, rows: Sequence[np.ndarray]) -> np.ndarray:
        """Sum the scores of pieces, (L,) for each row of input ``number``, into words, (words,)."""
        parts = [row.pieces.word_scores(own) for row, own in zip(self.encoded[number].rows, rows, strict=True)]
        return np.asarray(np.sum(parts, axis=0))

    def _raw(
        self, network: nn.Module, rows: list[Row], at: np.ndarray, grad: bool = True
    ) -> tuple[Tensor, Tensor, Tensor]:
        batch = collate(rows, range(len(rows)), self.model.task.pad_id).to(self.model.device)
        ids = batch.inputs["input_ids"]
        embeddings, difference = self._ends(network, ids, rows)
        back = torch.as_tensor(1.0 - at, dtype=embeddings.dtype, device=embeddings.device)
        leaf = embeddings - back[:, None, None] * difference
        leaf.requires_grad_(grad)
        with replace_embeddings(network, ids, leaf):
            return self.model.task.raw(network, batch), leaf, difference

    def _ends(self, network: nn.Module, ids: Tensor, rows: list[Row]) -> tuple[Tensor, Tensor]:
        """The embeddings of rows and what they differ from the baseline by, both rows x L x d; no graph."""
        with torch.no_grad():
            embeddings = look_up(network, ids)
            moves = torch.zeros(ids.shape)
            for i, row in enumerate(rows):
                moves[i, : len(row)] = torch.from_numpy(row.pieces.owned())
            reference = torch.zeros_like(embeddings[:1, :1])
            if self._baseline_id is not None:
                reference = look_up(network, torch.full_like(ids[:1, :1], self._baseline_id))
            return embeddings, (embeddings - reference) * moves.to(embeddings).unsqueeze(-1)
