"""What methods that select alignments share: groups of pairs, what a mask does, and how a rationale is written down."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn

from saywhy.explainers.base import Explainer, Request
from saywhy.models.alignment_space import AlignmentSpace
from saywhy.ops.batching import length_batches
from saywhy.ops.contiguity import rectangles
from saywhy.ops.mask_loss import distance
from saywhy.types import Alignments, Explanation, Word

__all__ = ["Found", "Pairs", "alignment_rationales", "pair_groups", "selected_alignments"]


@dataclass(frozen=True)
class Found:
    """What a method found for one pair of texts, and what the model says of it.

    Attributes:
        whole: the model's scores on the whole input, (K,).
        selected: which word pairs are kept, |p| x |h|.
        scores: how much speaks for each, |p| x |h|.
        fidelity: distance of the scores with the selected pairs alone.
        empty: distance with none.
        label: the class predicted from the selected pairs alone.
        cost: rows the model was given.
    """

    whole: np.ndarray
    selected: np.ndarray
    scores: np.ndarray
    fidelity: float
    empty: float
    label: int
    cost: dict[str, int] = field(default_factory=dict)


# What one more group costs, in pieces. With less the groups of small networks get too small; with more, pairs of
# different lengths go together, and most of a transformer's work is on padding.
_CALL_COST = 128


def pair_groups(space: AlignmentSpace, samples: int) -> list[list[int]]:
    """Numbers of pairs that are looked at together, of similar length, as many as the batch size has room for.

    Each pair brings ``samples`` times its rows; one that brings more than fit comes alone.
    """
    return length_batches(
        [max(len(row) for row in item.rows) for item in space.encoded],
        space.batch_size,
        rows=[samples * len(item.rows) for item in space.encoded],
        square=True,
        call_cost=_CALL_COST,
    )


class Pairs:
    """Some pairs of texts, ready to be asked about sampled masks.

    Args:
        space: the pairs' space.
        network: the model's network, in evaluation mode.
        group: numbers of the pairs.

    Attributes:
        shapes: words of the two texts of each.
        real: which cells there are, G x P x H.
        whole: scores of the whole inputs, G x K.
    """

    def __init__(self, space: AlignmentSpace, network: nn.Module, group: Sequence[int]) -> None:
        self.group, self.task = tuple(group), space.model.task
        self.device = space.model.device
        self.shapes = [space.shape(number) for number in group]
        rows = [row for number in group for row in space.encoded[number].rows]
        counts = [len(space.encoded[number].rows) for number in group]
        owner = np.repeat(np.arange(len(self.group)), counts)
        self.grid = space.grid(network, rows, [self.shapes[i] for i in owner])
        # Windows of one pair share its cells.
        first = np.concatenate([[0], np.cumsum(counts)[:-1]])
        self._rows = [torch.arange(start, start + n) for start, n in zip(first.tolist(), counts, strict=True)]
        self.real = self.grid.cells[torch.from_numpy(first).to(self.device)]
        self._single = len(rows) == len(self.group)
        with torch.no_grad():
            everything = torch.arange(len(self.group), device=self.device)
            self.whole = self.scores(everything, torch.ones_like(self.real, dtype=torch.float32).unsqueeze(1))[:, 0]

    def scores(self, which: Tensor, masks: Tensor) -> Tensor:
        """Scores, g x n x K, of the pairs ``which`` (g,) of the group under n masks each, g x n x P x H."""
        if self._single:
            return self.grid.scores_of_each(which, masks).float()
        samples = masks.shape[1]
        flat = masks.flatten(0, 1)
        parts = [self._rows[i] for i in which.tolist()]
        rows = torch.cat([own for own in parts for _ in range(samples)]).to(self.device)
        owner = torch.cat(
            [torch.full_like(own, i) for i, own in enumerate(own for own in parts for _ in range(samples))]
        )
        owner = owner.to(self.device)
        raw = self.grid.scores(rows, flat.index_select(0, owner))
        return self.task.combine(raw, owner, len(flat)).float().view(len(which), samples, -1)

    def word_vectors(self) -> tuple[Tensor, Tensor]:
        """The model's input vectors of the words of both texts, G x P x d and G x H x d.

        Of a pair in several windows, a word's vector is that of the window that shows most of it.
        """
        premise, hypothesis = (self._fullest(*found) for found in self.grid.word_vectors())
        return premise, hypothesis

    def _fullest(self, vectors: Tensor, pieces: Tensor) -> Tensor:
        """From rows x W x d vectors, each of a number of pieces (rows x W), those of most pieces, G x W x d."""
        if self._single:
            return vectors
        words = torch.arange(vectors.shape[1], device=vectors.device)
        best = [(own[0] + pieces[own].argmax(0).cpu()).to(vectors.device) for own in self._rows]
        return torch.stack([vectors[rows, words] for rows in best])

    def judge(self, number: int, selected: Tensor, scores: Tensor) -> Found:
        """What the model says of a selection, |p| x |h|, of pair ``number``."""
        place = self.group.index(number)
        height, width = self.shapes[place]
        masks = torch.zeros(1, 2, *self.real.shape[1:], device=self.device)
        masks[0, 0, :height, :width] = selected.to(masks.dtype)
        with torch.no_grad():
            made = self.scores(torch.tensor([place], device=self.device), masks)[0]
            moved = distance(self.whole[place], made).tolist()
        return Found(
            self.whole[place].cpu().numpy(),
            selected.cpu().numpy(),
            scores.double().cpu().numpy(),
            moved[0],
            moved[1],
            int(self.task.predicted(made[:1])),
            {"forwards": 3},
        )


def alignment_rationales(
    explainer: Explainer, request: Request, space: AlignmentSpace, found: Sequence[Found], **facts: Any
) -> list[Explanation]:
    """The explanations of what was found for each pair of a request."""
    notes = []
    for own in found:
        labels = request.model.labels
        lost = own.label != int(own.whole.argmax())
        notes.append((f"the selected alignments alone are predicted as {labels[own.label]}",) if lost else ())
    made = explainer.word_scores(
        request,
        space.encoded,
        [own.whole for own in found],
        [own.scores.reshape(-1) for own in found],
        costs=[own.cost for own in found],
        notes=notes,
        space=space.name,
        erasure=space.erasure,
        **facts,
    )
    return [
        replace(
            selected_alignments(cast(Alignments, why), own.selected),
            fidelity=own.fidelity,
            empty=own.empty,
            kept=own.label == int(own.whole.argmax()),
        )
        for why, own in zip(made, found, strict=True)
    ]


def selected_alignments(why: Alignments, selected: np.ndarray, **facts: Any) -> Alignments:
    """The same scores with the pairs that are selected, |p| x |h|, and the phrases they make up, best first."""
    table = np.asarray(why.scores, dtype=np.float64).reshape(len(why.premise), len(why.hypothesis))
    boxes = rectangles(np.asarray(selected, dtype=bool).reshape(table.shape))
    means = {box: float(table[box[0] : box[1] + 1, box[2] : box[3] + 1].mean()) for box in boxes}
    boxes.sort(key=lambda box: -means[box])
    phrases = tuple(
        (
            _phrase(why.header.texts[0], why.premise[box[0]], why.premise[box[1]]),
            _phrase(why.header.texts[1], why.hypothesis[box[2]], why.hypothesis[box[3]]),
            means[box],
        )
        for box in boxes
    )
    rows = tuple(tuple(row) for row in np.asarray(selected, dtype=bool).reshape(table.shape).tolist())
    return replace(why, selected=rows, phrases=phrases, boxes=tuple(boxes), **facts)


def _phrase(text: str, first: Word, last: Word) -> str:
    return text[first.start : last.end]
