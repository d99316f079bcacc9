"""Inputs beside their references, and what each piece contributes to the difference of their outputs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from saywhy.models.deeplift_rules import DeepLiftRules
from saywhy.models.differentiate import Loss, group_by_length
from saywhy.models.embedding_door import replace_embeddings
from saywhy.models.embedding_space import EmbeddingSpace
from saywhy.models.encoding import Row, collate
from saywhy.ops.batching import rows_that_fit

__all__ = ["Difference", "DifferenceSpace"]


@dataclass(frozen=True)
class Difference:
    """What is known of one input and its reference.

    ``scores`` (K,) are those of the input, ``gain`` is by how much its loss exceeds the reference's, ``total`` the sum
    of all contributions, ``rows`` what was kept of them for each row's pieces, (L, c), ``unknown`` names the operations
    without a rule.
    """

    scores: np.ndarray
    gain: float
    total: float
    rows: tuple[np.ndarray, ...]
    unknown: tuple[str, ...]


class DifferenceSpace(EmbeddingSpace):
    """The two ends of the paths of an `EmbeddingSpace`, run side by side under DeepLift's rules.

    Positions, types and special tokens are the same at both ends, so that all of the difference belongs to words. At
    most ``batch_size`` rows, inputs and references together, are run at a time, and no fewer than one of each.
    """

    def contributions(self, loss: Loss, keep: Callable[[Tensor], Tensor]) -> list[Difference]:
        """Explain the difference of every input's loss.

        Args:
            loss: from scores 2n x K and owners (2n,), inputs first and references after them, to one number each.
            keep: what to keep of the contributions of embedding dimensions: from rows x L x d to rows x L x c.

        Returns:
            A difference each.
        """
        found: dict[int, Difference] = {}
        everyone = np.arange(len(self.encoded))
        with self.model.evaluation() as network:
            for items in group_by_length(self.encoded, everyone, self._pairs, square=True):
                found.update(zip(items.tolist(), self._group(network, items, loss, keep), strict=True))
        return [found[number] for number in range(len(self.encoded))]

    @property
    def _pairs(self) -> int:
        return max(1, self.batch_size // 2)

    def _group(
        self, network: nn.Module, owner: np.ndarray, loss: Loss, keep: Callable[[Tensor], Tensor]
    ) -> list[Difference]:
        rows = [row for number in owner for row in self.encoded[number].rows]
        index = np.asarray([i for i, number in enumerate(owner) for _ in self.encoded[number].rows])
        most = rows_that_fit(self._pairs, max(len(row) for row in rows), square=True)
        size, many = len(owner), len(rows) > most
        self.calls += 2 * len(rows)
        unknown: set[str] = set()
        # Gradients are taken even where the caller has switched them off, as serving code does.
        with torch.inference_mode(False), torch.enable_grad():
            chunks = [slice(start, start + most) for start in range(0, len(rows), most)]
            runs = (self._run(network, rows[chunk], unknown, graph=not many) for chunk in chunks)
            if many:
                # One item with more rows than fit: first what the loss wants of each row, then the rows' own graphs.
                parts = [raw.chunk(2) for raw, _, _ in runs]
                raw = torch.cat([part[0] for part in parts] + [part[1] for part in parts]).requires_grad_()
            else:
                raw, leaf, difference = next(runs)
            both = torch.from_numpy(np.concatenate([index, index + size])).to(raw.device)
            given = raw.clone()  # the rules take leaves for parameters
            with DeepLiftRules(2 * size) as rules:
                scores = self.model.task.combine(given, both, 2 * size)
                value = loss(scores, np.concatenate([owner, owner]))
            unknown |= rules.unknown
            if many:
                (wanted,) = torch.autograd.grad(value[:size].sum(), raw)
                ways = []
                for chunk in chunks:
                    part, leaf, difference = self._run(network, rows[chunk], unknown, graph=True)
                    n = len(leaf)
                    (grad,) = torch.autograd.grad(part[:n], leaf, wanted[: len(rows)][chunk])
                    ways.append((grad, difference))
            else:
                ways = [(torch.autograd.grad(value[:size].sum(), leaf)[0], difference)]
        kept: list[list[np.ndarray]] = [[] for _ in owner]
        total = np.zeros(size)
        for chunk, (grad, difference) in zip(chunks, ways, strict=True):
            way = grad * difference
            sums, own = way.sum((1, 2), dtype=torch.float64).cpu().numpy(), keep(way).float().cpu().numpy()
            for row, item, number, piece in zip(rows[chunk], index[chunk], sums, own, strict=True):
                kept[item].append(piece[: len(row)])
                total[item] += number
        table, gains = scores[:size].detach().float().cpu().numpy(), (value[:size] - value[size:]).detach().cpu()
        names = tuple(sorted(unknown))
        return [Difference(table[i], float(gains[i]), float(total[i]), tuple(kept[i]), names) for i in range(size)]

    def _run(
        self, network: nn.Module, rows: list[Row], unknown: set[str], graph: bool
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Scores of rows and of their references, 2n x C, the embeddings (a leaf) and their differences, n x L x d."""
        batch = collate([*rows, *rows], range(2 * len(rows)), self.model.task.pad_id).to(self.model.device)
        ids = batch.inputs["input_ids"]
        embeddings, difference = self._ends(network, ids[: len(rows)], rows)
        leaf = embeddings.clone().requires_grad_(graph)
        with torch.set_grad_enabled(graph):
            pair = torch.cat([leaf, embeddings - difference])
            with replace_embeddings(network, ids, pair), DeepLiftRules(2 * len(rows)) as rules:
                raw = self.model.task.raw(network, batch)
        unknown |= rules.unknown
        return raw, leaf, difference
