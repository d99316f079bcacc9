"""Leave one word out and see what happens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch

from saywhy.explainers.base import Explainer, Request, check_output, register
from saywhy.models.word_space import WordSpace
from saywhy.types import Explanation

__all__ = ["LeaveOneOut"]

# Masks are made and evaluated in parts, so that their table stays small even for a text of many thousand words.
_CELLS = 4_000_000


@register
@dataclass(frozen=True)
class LeaveOneOut(Explainer):
    """The drop of the target when a word is erased: one model call a word.

    Reference: Li, Monroe, Jurafsky: Understanding Neural Networks through Representation Erasure, 2016, section 3.

    Options:
        erasure: what leaving out means; by default ``delete``, or ``mask-token`` where positions must stay.
        output: ``probability`` (default) or ``logit`` of the target.
    """

    name: ClassVar[str] = "leave-one-out"
    family: ClassVar[str] = "perturbation"
    needs: ClassVar[tuple[str, ...]] = ("outputs",)
    paper: ClassVar[str] = "Li et al. 2016"

    erasure: str | None = None
    output: str = "probability"

    def explain(self, request: Request) -> list[Explanation]:  # noqa: D102
        check_output(self.output)
        encoded = request.prepare()
        space = WordSpace(
            request.model, request.examples, erasure=self.erasure, batch_size=request.batch_size, encoded=encoded
        )
        width = max(len(item.words) for item in encoded)
        # The whole input first (word -1), then the input without each of its words.
        asked = [(i, word) for i, item in enumerate(encoded) for word in range(-1, len(item.words))]
        values: list[float] = []
        scores: dict[int, np.ndarray] = {}
        chosen: dict[int, int] = {}
        step = max(1, _CELLS // max(1, width))
        for start in range(0, len(asked), step):
            part = asked[start : start + step]
            owner = np.asarray([i for i, _ in part])
            keep = np.ones((len(part), width), dtype=np.float32)
            for row, (_, word) in enumerate(part):
                if word >= 0:
                    keep[row, word] = 0.0
            table = space.outputs(owner, keep)
            whole = [row for row, (_, word) in enumerate(part) if word < 0]
            if whole:
                targets, _ = request.targets(table[whole], owner[whole])
                for row, target in zip(whole, targets, strict=True):
                    scores[int(owner[row])] = table[row].numpy()
                    chosen[int(owner[row])] = int(target)
            held = torch.tensor([chosen[int(i)] for i in owner])
            values.extend(request.value(table, owner, self.output, held).tolist())
        words = []
        at = 0
        for item in encoded:
            whole_value, *rest = values[at : at + len(item.words) + 1]
            words.append(whole_value - np.asarray(rest))
            at += len(item.words) + 1
        costs = [{"forwards": (len(item.words) + 1) * max(1, len(item.rows))} for item in encoded]
        return self.word_scores(
            request, encoded, [scores[i] for i in range(len(encoded))], words, costs=costs, erasure=space.erasure
        )
