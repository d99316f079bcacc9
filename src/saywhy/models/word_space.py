"""The space of words that may be erased."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from saywhy.errors import OptionError
from saywhy.models.attention_door import weigh_pieces
from saywhy.models.black_box import BlackBox
from saywhy.models.differentiate import Loss
from saywhy.models.embedding_door import look_up, replace_embeddings
from saywhy.models.encoding import Encoded, Row, collate
from saywhy.models.erasures import CONTINUOUS, check_erasure, default_erasure, erase_row, erase_text
from saywhy.models.mask_space import MaskSpace, RowSpace
from saywhy.models.text_model import TextModel
from saywhy.types import Example, Word

__all__ = ["MaskSpace", "WordSpace"]


class WordSpace(RowSpace):
    """Words of texts that may be erased.

    Words of the fields that an example's ``meta["fixed"]`` numbers, such as the question about a document, stay
    whatever a mask says, and have no gradient.

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

    name = "words"

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
        super().__init__(
            model, examples, erasure=erasure, batch_size=batch_size, truncation=truncation, encoded=encoded
        )
        self.continuous = erasure in CONTINUOUS and not isinstance(model, BlackBox)
        self._fixed = {
            number: [i for i, word in enumerate(item.words) if word.field in item.example.meta["fixed"]]
            for number, item in enumerate(self.encoded)
            if item.example.meta.get("fixed")
        }

    def _features(self, item: Encoded) -> tuple[Word, ...]:
        return item.words

    def _shown(self, row: Row, mask: np.ndarray) -> np.ndarray:
        return np.asarray(mask[row.pieces.word])

    def _erased(self, number: int, row: Row, mask: np.ndarray) -> Row:
        return erase_row(self.model, row, mask, self.erasure)

    def _collected(self, row: Row, gradient: np.ndarray) -> np.ndarray:
        return row.pieces.word_scores(gradient[: len(row)])

    def _check_continuous(self) -> None:
        check_erasure(self.model, self.erasure, continuous=True)

    def _outputs(self, owner: np.ndarray, keep: np.ndarray) -> Tensor:
        if isinstance(self.model, BlackBox):
            return self._black_box(self.model, owner, keep)
        return super()._outputs(owner, keep)

    def value_and_grad(  # noqa: D102 - as in the base class
        self, owner: np.ndarray, keep: np.ndarray, loss: Loss
    ) -> tuple[Tensor, Tensor, np.ndarray]:
        scores, values, gradient = super().value_and_grad(owner, keep, loss)
        for row, number in enumerate(np.asarray(owner).tolist()):
            gradient[row, self._fixed.get(number, [])] = 0.0
        return scores, values, gradient

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

        with weigh_pieces(network, keep):
            return self.model.task.raw(network, batch), keep

    def _black_box(self, model: BlackBox, owner: np.ndarray, keep: np.ndarray) -> Tensor:
        token = model.mask_token if self.erasure == "mask-token" else None
        texts = [
            erase_text(self.encoded[n].example, self.encoded[n].words, mask[: len(self.encoded[n].words)], token)
            for n, mask in zip(owner, keep, strict=True)
        ]
        first: dict[tuple[tuple[str, ...], tuple[str, ...]], int] = {}
        for e, n in zip(texts, owner, strict=True):
            first.setdefault((e.texts, e.choices), int(n))
        np.add.at(self.spent, list(first.values()), 1)
        different = list(first)
        place = {key: i for i, key in enumerate(different)}
        scores = model.scores([Encoded(Example(t, choices=c), (), ()) for t, c in different], self.batch_size)
        return scores[[place[e.texts, e.choices] for e in texts]]

    def _check(self, owner: np.ndarray, keep: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        owner, keep = super()._check(owner, keep)
        if not self.continuous and not np.isin(keep, (0.0, 1.0)).all():
            raise OptionError(
                f"erasure {self.erasure!r} keeps a word or not; for degrees in between use {' or '.join(CONTINUOUS)}"
            )
        if self._fixed:
            keep = keep.copy()
            for row, number in enumerate(owner.tolist()):
                keep[row, self._fixed.get(number, [])] = 1.0
        return owner, keep
