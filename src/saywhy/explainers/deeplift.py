"""DeepLift, with rules for everything that transformers are made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from saywhy.errors import OptionError
from saywhy.explainers.base import AGGREGATIONS, Explainer, Request, aggregate, check_output, register
from saywhy.models.difference_space import Difference, DifferenceSpace
from saywhy.ops.quadrature import completeness_error
from saywhy.types import Explanation

__all__ = ["DeepLift"]

# Above this share of the gain a note says that the scores do not add up.
TOLERANCE = 0.01


@register
@dataclass(frozen=True)
class DeepLift(Explainer):
    """What each word contributes to the difference from a reference, by rules that add up in every operation.

    Reference: Shrikumar, Greenside, Kundaje: Learning Important Features Through Propagating Activation Differences,
    ICML 2017, sections 3.1 (summation to delta), 3.2 (multipliers) and 3.5.2 (rescale rule).

    The input and a reference run side by side, once forward and once backward. The backward pass carries multipliers:
    the change of an operation's result over the change of its arguments, instead of its derivative. The scores of the
    words sum to what the target gains over the reference, as those of integrated gradients do, for the price of two
    gradients. How far they miss that is reported as ``error``, relative to the gain.

    Options:
        baseline: ``zero`` embeddings as the reference (default), or those of the tokenizer's ``pad`` or ``mask`` token.
        aggregation: of a piece's embedding dimensions: ``sum`` (default), ``l2`` or ``mean``.
        output: ``logit`` (default) or ``probability`` of the target.

    Departures: the paper has rules for element-wise functions and linear layers. Where others fall back to gradients
    (and, on a transformer, to gradient times input as a whole) there are rules here for products of activations,
    softmax, layer norm, attention, maxima and recurrent cells; see `saywhy.ops.multipliers`. There is no RevealCancel.
    Special tokens, positions and types are the same in the reference, so that all of the gain belongs to words. An
    operation without a rule keeps its ordinary gradient, and a note names it.

    Example:
        ``saywhy.explain(model, "A gripping film.", method="deeplift").error`` is about 1e-6.
    """

    name: ClassVar[str] = "deeplift"
    family: ClassVar[str] = "gradient"
    needs: ClassVar[tuple[str, ...]] = ("gradients", "embeddings")
    paper: ClassVar[str] = "Shrikumar et al. 2017"

    baseline: str = "zero"
    aggregation: str = "sum"
    output: str = "logit"

    def explain(self, request: Request) -> list[Explanation]:  # noqa: D102
        check_output(self.output)
        if self.aggregation not in AGGREGATIONS:
            raise OptionError(f"unknown aggregation {self.aggregation!r}; use one of {', '.join(AGGREGATIONS)}")
        encoded = request.prepare()
        space = DifferenceSpace(request.model, encoded, baseline=self.baseline, batch_size=request.batch_size)

        def loss(scores: Tensor, owner: np.ndarray) -> Tensor:
            # The input says which label is explained, and the reference is asked about the same one.
            size = len(owner) // 2
            chosen, _ = request.targets(scores[:size], owner[:size])
            return request.value(scores, owner, self.output, torch.cat([chosen, chosen]))

        def keep(way: Tensor) -> Tensor:
            return way.sum(dim=-1, keepdim=True) if self.aggregation == "sum" else way

        found = space.contributions(loss, keep)
        words = [
            space.word_scores(i, [aggregate(row, self.aggregation) for row in one.rows]) for i, one in enumerate(found)
        ]
        errors = [completeness_error(one.total, one.gain) for one in found]
        costs = [{"gradients": 2 * len(item.rows)} for item in encoded]
        notes = [_notes(one, error) for one, error in zip(found, errors, strict=True)]
        return self.word_scores(request, encoded, [one.scores for one in found], words, errors, costs, notes)


def _notes(found: Difference, error: float) -> tuple[str, ...]:
    notes = []
    if found.unknown:
        notes.append(f"no rule for {', '.join(found.unknown)}: the ordinary gradient stands in there")
    if error > TOLERANCE:
        notes.append(f"the scores miss {error:.1%} of what the target gains over the baseline")
    return tuple(notes)
