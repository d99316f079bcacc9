"""Attributions that guide training: as targets of attention, and as a ranking of what may be masked."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from saywhy.errors import CapabilityError, OptionError
from saywhy.explainers.attention import default_query, tapped_calls
from saywhy.explainers.base import aggregate
from saywhy.models import Batch, Encoded, Row, TextModel
from saywhy.models.attention_door import AttentionCall
from saywhy.models.difference_space import DifferenceSpace
from saywhy.models.embedding_space import EmbeddingSpace
from saywhy.models.encoding import content_mask
from saywhy.models.erasures import erase_row
from saywhy.ops.quadrature import gauss_legendre
from saywhy.ops.ranking import ranks, top_count

__all__ = ["AGGREGATIONS", "ATTRIBUTIONS", "MASKS", "Guide"]

ATTRIBUTIONS = ("integrated-gradients", "gradient", "input-x-gradient", "deeplift")
AGGREGATIONS = ("l2", "mean")
MASKS = ("mask-token", "pad", "random")

Target = tuple[NDArray[np.float16], ...]
"""For each row of an example how the attribution is spread over its pieces, (L,): sums to 1, or 0 where it is flat."""


class Guide:
    """What explanation-guided training asks of an attribution.

    Attributions are those of the gold label's logit, taken in evaluation mode and held fixed. Where embeddings are
    layer-normed before anything else, a piece's gradients sum to zero over its dimensions, so that ``gradient`` with
    ``mean`` is nothing but rounding there.

    Args:
        model: the model that is trained, with attention.
        attribution: one of `ATTRIBUTIONS`.
        aggregation: of a piece's embedding dimensions: ``l2``, or ``mean`` (its absolute value).
        points: of the path of integrated gradients.
        mask_ratio: share of an example's words to mask.
        mask: what stands in for a masked word: the ``mask-token``, the ``pad`` token, or ``random`` tokens.
        refresh: epochs that an example's attribution is kept for.
    """

    def __init__(
        self,
        model: TextModel,
        *,
        attribution: str = "integrated-gradients",
        aggregation: str = "l2",
        points: int = 4,
        mask_ratio: float = 0.15,
        mask: str = "mask-token",
        refresh: int = 1,
    ) -> None:
        _check("attribution", attribution, ATTRIBUTIONS)
        _check("aggregation", aggregation, AGGREGATIONS)
        _check("mask", mask, MASKS)
        if points < 1 or refresh < 1:
            raise OptionError(f"points and refresh must be at least 1, not {points} and {refresh}")
        if not 0 < mask_ratio < 1:
            raise OptionError(f"mask_ratio must lie between 0 and 1, not at {mask_ratio}")
        if "attention" not in model.capabilities:
            raise CapabilityError(
                f"attention cannot be guided: {model.no_attention or 'the network has none'}; "
                "set guidance_weight=0 to train without guidance"
            )
        if mask != "random" and getattr(model.tokenizer, f"{mask.split('-')[0]}_token_id") is None:
            raise CapabilityError(f"the tokenizer has no {mask.split('-')[0]} token; use mask='random'")
        self.model, self.attribution, self.aggregation, self.points = model, attribution, aggregation, points
        self.mask_ratio, self.mask, self.refresh = mask_ratio, mask, refresh
        self.calls = tapped_calls(model, "last")
        self._query = default_query(model)
        self._known: dict[str, tuple[int, Target]] = {}
        special = set(model.tokenizer.all_special_ids)
        self._ordinary = np.asarray([i for i in range(len(model.tokenizer)) if i not in special])

    def targets(self, items: Sequence[Encoded], epoch: int = 0) -> list[Target]:
        """How the attribution of each example is spread over its pieces."""
        if self.refresh == 1:
            return self._attribute(items)
        keys = [self._key(item) for item in items]
        # Each example's own age counts: where terms are not in every batch, it may be met in any epoch.
        missing = [
            i for i, key in enumerate(keys) if key not in self._known or epoch - self._known[key][0] >= self.refresh
        ]
        for i, target in zip(missing, self._attribute([items[i] for i in missing]) if missing else [], strict=True):
            self._known[keys[i]] = epoch, target
        return [self._known[key][1] for key in keys]

    def masked(
        self, items: Sequence[Encoded], targets: Sequence[Target], rng: np.random.Generator | None = None
    ) -> list[Encoded]:
        """The examples with the words of the lowest attribution masked."""
        return [
            self._masked(item, target, rng or np.random.default_rng(0))
            for item, target in zip(items, targets, strict=True)
        ]

    def lowest(self, item: Encoded, target: Target) -> NDArray[np.bool_]:
        """Which words are to be masked: the lowest ``mask_ratio`` of those the network sees, at least one.

        Rows without an attribution, such as those of choices other than the gold one, count only if no row has one.
        """
        score, seen = np.zeros(len(item.words)), np.zeros(len(item.words), dtype=bool)
        flat = not any(own.any() for own in target)
        for row, own in zip(item.rows, target, strict=True):
            score += row.pieces.word_scores(own.astype(np.float64))
            seen[row.pieces.word] |= bool(flat or own.any())
        fixed = item.example.meta.get("fixed", ())
        may = np.asarray([word.field not in fixed for word in item.words], dtype=bool)
        free = np.flatnonzero(seen & may)
        chosen = np.zeros(len(item.words), dtype=bool)
        if len(free):
            chosen[free[ranks(-score[free]) < top_count(self.mask_ratio, len(free), "ceil")]] = True
        return chosen

    def attention(self, call: AttentionCall, batch: Batch) -> Tensor:
        """How the position that decides spreads its attention over the pieces of words, rows x L, in the graph."""
        table = call.softmax().mean(dim=1)
        lengths = batch.lengths.to(table.device)
        if self._query == "mean":
            real = torch.arange(table.shape[1], device=table.device) < lengths.unsqueeze(1)
            spread = (table * real.unsqueeze(-1)).sum(1) / lengths.unsqueeze(1)
        else:
            places = torch.zeros_like(lengths) if self._query == "first" else lengths - 1
            spread = table[torch.arange(len(table), device=table.device), places]
        spread = spread * content_mask(batch)
        return spread / spread.sum(-1, keepdim=True).clamp_min(1e-12)

    def state(self) -> dict[str, dict[str, Any]]:
        """The attributions that later epochs will use again, and the epochs they are of."""
        return {
            key: {"epoch": epoch, "rows": [base64.b64encode(row.tobytes()).decode() for row in target]}
            for key, (epoch, target) in self._known.items()
        }

    def load_state(self, state: Mapping[str, Mapping[str, Any]]) -> None:
        """Take back what `state` gave."""
        self._known = {
            key: (kept["epoch"], tuple(np.frombuffer(base64.b64decode(row), dtype=np.float16) for row in kept["rows"]))
            for key, kept in state.items()
        }

    def _attribute(self, items: Sequence[Encoded]) -> list[Target]:
        gold = np.asarray([self.model.task.gold(item.example) for item in items])

        def loss(scores: Tensor, owner: NDArray[np.int64]) -> Tensor:
            return scores.gather(1, torch.from_numpy(gold[owner]).to(scores.device).unsqueeze(1)).squeeze(1)

        size = sum(len(item.rows) for item in items)
        if self.attribution == "deeplift":
            space = DifferenceSpace(self.model, items, batch_size=2 * size)
            made = [found.rows for found in space.contributions(loss, lambda way: way)]
        else:
            nodes, weights = np.ones(1), np.ones(1)
            if self.attribution == "integrated-gradients":
                nodes, weights = gauss_legendre(self.points)
            alone = self.attribution == "gradient"
            owner, at = np.repeat(np.arange(len(items)), len(nodes)), np.tile(nodes, len(items))
            points = EmbeddingSpace(self.model, items, batch_size=size).gradients(
                owner, at, loss, lambda grad, way: grad if alone else grad * way
            )
            groups = [points[start : start + len(nodes)] for start in range(0, len(points), len(nodes))]
            made = [
                tuple(
                    np.asarray(sum(w * row for w, row in zip(weights, rows, strict=True)))
                    for rows in zip(*(point.rows for point in group), strict=True)
                )
                for group in groups
            ]
        return [
            tuple(self._spread(row, own) for row, own in zip(item.rows, rows, strict=True))
            for item, rows in zip(items, made, strict=True)
        ]

    def _spread(self, row: Row, pieces: np.ndarray) -> NDArray[np.float16]:
        size = aggregate(pieces.astype(np.float64), self.aggregation) * row.pieces.owned()
        total = size.sum()
        return (size / total if total > 0 else size).astype(np.float16)

    def _masked(self, item: Encoded, target: Target, rng: np.random.Generator) -> Encoded:
        keep = ~self.lowest(item, target)
        if self.mask != "random":
            return replace(item, rows=tuple(erase_row(self.model, row, keep, self.mask) for row in item.rows))
        rows = []
        for row in item.rows:
            gone = row.pieces.keep_pieces(keep) == 0.0
            ids = row.ids.copy()
            ids[gone] = rng.choice(self._ordinary, size=int(gone.sum()))
            rows.append(replace(row, ids=ids))
        return replace(item, rows=tuple(rows))

    def _key(self, item: Encoded) -> str:
        digest = hashlib.blake2b(str(self.model.task.gold(item.example)).encode(), digest_size=8)
        for row in item.rows:
            digest.update(row.ids.tobytes() + b"|")
        return digest.hexdigest()


def _check(option: str, value: str, allowed: Sequence[str]) -> None:
    if value not in allowed:
        raise OptionError(f"{option} must be one of {', '.join(allowed)}, not {value!r}")
