"""Spaces of things that may be removed: what does the model say when a part of the input is kept to degree z?

Leave-one-out, LIME, SHAP, BackSelect, gradients on masks and the faithfulness metrics all ask this one question. It is
answered here once, with equal masks evaluated once, shortest inputs first, and memory bounded by the batch size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from saywhy.errors import OptionError
from saywhy.models.attention_door import AttentionCall, AttentionTap, tap_attention
from saywhy.models.black_box import BlackBox
from saywhy.models.differentiate import Loss, differentiate, group_by_length
from saywhy.models.embedding_door import look_up, replace_embeddings
from saywhy.models.encoding import Encoded, Row, collate
from saywhy.models.erasures import CONTINUOUS, check_erasure, default_erasure, erase_row, erase_text
from saywhy.models.text_model import TextModel
from saywhy.types import Example, Word

__all__ = ["MaskSpace", "WordSpace"]


class MaskSpace(Protocol):
    """A batch of inputs, each with its own features, any of which can be removed."""

    features: list[tuple[Any, ...]]
    continuous: bool

    def outputs(self, owner: np.ndarray, keep: np.ndarray) -> Tensor:
        """Scores N x K of inputs ``owner`` (N,) with features kept to the degree ``keep`` (N, F)."""
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


class WordSpace:
    """Words of texts that may be erased.

    Args:
        model: any `TextModel`; black boxes have their words cut out of the text.
        examples: the inputs.
        erasure: what removing a word means; see `saywhy.models.erasures.ERASURES`. By default ``delete``, or
            ``mask-token`` where positions must stay.
        batch_size: the most rows the network sees at a time.
        truncation: what to do with texts that are too long.
        encoded: the examples as `TextModel.prepare` encodes them, if that was done already.

    Example:
        >>> from saywhy.models import load
        >>> shout = load(lambda ts: [[t.count("!") / 4, 1 - t.count("!") / 4] for t in ts], labels=["loud", "quiet"])
        >>> space = WordSpace(shout, [Example(("Wow ! Oh ?",))])
        >>> space.probabilities(np.array([0, 0]), np.array([[1, 1, 1, 1], [1, 0, 1, 1]]))[:, 0].round(2).tolist()
        [0.25, 0.0]
    """

    def __init__(
        self,
        model: TextModel,
        examples: Sequence[Example],
        *,
        erasure: str | None = None,
        batch_size: int = 32,
        truncation: str = "error",
        encoded: Sequence[Encoded] | None = None,
    ) -> None:
        erasure = erasure if erasure is not None else default_erasure(model)
        check_erasure(model, erasure)
        if batch_size < 1:
            raise OptionError(f"batch_size must be at least 1, not {batch_size}")
        self.model = model
        self.erasure = erasure
        self.batch_size = batch_size
        self.continuous = erasure in CONTINUOUS and not isinstance(model, BlackBox)
        self.encoded = list(encoded) if encoded is not None else model.prepare(examples, truncation, batch_size)
        self.features: list[tuple[Word, ...]] = [item.words for item in self.encoded]
        self.calls = 0
        """How many rows the model has been given so far."""

    def outputs(self, owner: np.ndarray, keep: np.ndarray) -> Tensor:
        """Scores of inputs with words kept or erased.

        Args:
            owner: number of the example of each mask, (N,).
            keep: how far each word is kept, (N, F); columns beyond an example's words are ignored.

        Returns:
            N x K; softmax gives probabilities.
        """
        owner, keep = self._check(owner, keep)
        if not len(owner):
            return torch.zeros(0, max(1, len(self.model.labels)))
        if isinstance(self.model, BlackBox):
            return self._black_box(self.model, owner, keep)
        plan = self._plan(owner, keep)
        parts, order = [], sorted(range(len(plan.rows)), key=lambda i: len(plan.rows[i]))
        with self.model.evaluation() as network, torch.no_grad():
            for start in range(0, len(order), self.batch_size):
                chunk = [plan.rows[i] for i in order[start : start + self.batch_size]]
                parts.append(self._raw(network, chunk)[0].float().cpu())
        raw = torch.cat(parts)[np.argsort(order)]
        self.calls += len(plan.rows)
        return self.model.task.combine(raw[plan.index], torch.from_numpy(plan.owner), len(owner))

    def probabilities(self, owner: np.ndarray, keep: np.ndarray) -> np.ndarray:
        """The same as probabilities, N x K."""
        return self.model.task.probabilities(self.outputs(owner, keep)).numpy()

    def value_and_grad(self, owner: np.ndarray, keep: np.ndarray, loss: Loss) -> tuple[Tensor, Tensor, np.ndarray]:
        """Scores, losses and the losses' gradients with respect to how far words are kept.

        Args:
            owner: number of the example of each mask, (N,).
            keep: how far each word is kept, (N, F), in [0, 1].
            loss: from scores n x K and owners (n,) to one number each (n,); called once or more per item.

        Returns:
            Scores N x K, losses (N,), gradients N x F.
        """
        check_erasure(self.model, self.erasure, continuous=True)
        owner, keep = self._check(owner, keep)
        if not len(owner):
            return self.outputs(owner, keep), torch.zeros(0), np.zeros(keep.shape)
        gradient = np.zeros(keep.shape, dtype=np.float64)
        scores: list[Tensor] = [torch.empty(0)] * len(owner)
        values = torch.zeros(len(owner))
        with self.model.evaluation() as network:
            for items in group_by_length(self.encoded, owner, self.batch_size):
                plan = self._plan(owner[items], keep[items], share=False)

                def run(rows: slice, grad: bool, plan: _Plan = plan) -> tuple[Tensor, Tensor, Tensor]:
                    raw, kept = self._raw(network, plan.rows[rows], grad)
                    return raw, kept, kept

                made, value, parts = differentiate(
                    self.model.task, run, torch.from_numpy(plan.owner), owner[items], loss, self.batch_size
                )
                for place, item in enumerate(items):
                    scores[item], values[item] = made[place].float().cpu(), value[place].float().cpu()
                for rows, grad, _ in parts:
                    for row, index, own in zip(plan.rows[rows], plan.owner[rows], grad.cpu().numpy(), strict=True):
                        words = row.pieces.word_scores(own[: len(row)])
                        gradient[items[index], : len(words)] += words
                self.calls += len(plan.rows)
        return torch.stack(scores), values, gradient

    def _raw(self, network: nn.Module, rows: list[Row], grad: bool = False) -> tuple[Tensor, Tensor]:
        """Scores of erased rows, and the tensor of how far their pieces are kept (rows x L)."""
        batch = collate(rows, range(len(rows)), self.model.task.pad_id).to(self.model.device)
        keep = torch.ones(batch.inputs["input_ids"].shape)
        if not grad and all(row.keep is None for row in rows):
            return self.model.task.raw(network, batch), keep
        for i, row in enumerate(rows):
            if row.keep is not None:
                keep[i, : len(row)] = torch.from_numpy(row.keep)
        keep = keep.to(self.model.device).requires_grad_(grad)
        if self.erasure == "zero-embedding":
            with torch.no_grad():
                embeddings = look_up(network, batch.inputs["input_ids"])
            embeddings = embeddings * keep.to(embeddings.dtype).unsqueeze(-1)
            with replace_embeddings(network, batch.inputs["input_ids"], embeddings):
                return self.model.task.raw(network, batch), keep

        # Not through the network's own attention mask: some networks also pool or count positions by it.
        def weigh(call: AttentionCall) -> Tensor:
            weights = keep
            if call.kind == "decoder":
                # The decoder of an encoder-decoder reads the same text one place to the right.
                weights = torch.cat([torch.ones_like(keep[:, :1]), keep[:, :-1]], dim=1)
            return weights[:, None, None, :]

        with tap_attention(network, AttentionTap(weigh=weigh)):
            return self.model.task.raw(network, batch), keep

    def _plan(self, owner: np.ndarray, keep: np.ndarray, share: bool = True) -> _Plan:
        seen: dict[tuple[int, int, bytes], int] = {}
        rows: list[Row] = []
        index: list[int] = []
        items: list[int] = []
        for item, number in enumerate(owner):
            encoded = self.encoded[number]
            mask = keep[item, : len(encoded.words)]
            for place, row in enumerate(encoded.rows):
                # Rows are equal when the words they show are kept alike: a choice's words are in one row only.
                key = (int(number), place, mask[row.pieces.word].tobytes())
                found = seen.get(key) if share else None
                if found is None:
                    found = seen[key] = len(rows)
                    rows.append(erase_row(self.model, row, mask, self.erasure))
                index.append(found)
                items.append(item)
        return _Plan(rows, np.asarray(index), np.asarray(items))

    def _black_box(self, model: BlackBox, owner: np.ndarray, keep: np.ndarray) -> Tensor:
        token = model.mask_token if self.erasure == "mask-token" else None
        texts = [
            erase_text(self.encoded[n].example, self.encoded[n].words, mask[: len(self.encoded[n].words)], token)
            for n, mask in zip(owner, keep, strict=True)
        ]
        different = list(dict.fromkeys((e.texts, e.choices) for e in texts))
        place = {key: i for i, key in enumerate(different)}
        self.calls += len(different)
        scores = model.scores([Encoded(Example(t, choices=c), (), ()) for t, c in different], self.batch_size)
        return scores[[place[e.texts, e.choices] for e in texts]]

    def _check(self, owner: np.ndarray, keep: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        owner, keep = np.asarray(owner, dtype=np.int64), np.asarray(keep, dtype=np.float32)
        widest = max((len(self.features[n]) for n in set(owner.tolist())), default=0)
        if keep.ndim != 2 or len(keep) != len(owner) or keep.shape[1] < widest:
            raise OptionError(
                f"keep has shape {keep.shape}; expected {(len(owner), widest)}: a row per mask, a column per word"
            )
        if not self.continuous and not np.isin(keep, (0.0, 1.0)).all():
            raise OptionError(
                f"erasure {self.erasure!r} keeps a word or not; for degrees in between use {' or '.join(CONTINUOUS)}"
            )
        return owner, keep
