"""A rationalizer's own rationale."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from saywhy.explainers.base import Explainer, Request, register
from saywhy.models.rationales import read_rationales
from saywhy.types import Explanation
from saywhy.types import Rationale as RationaleExplanation

__all__ = ["Rationale"]


@register
@dataclass(frozen=True)
class Rationale(Explainer):
    """The words a rationalizer selected: all that its predictor read.

    Reference: Lei, Barzilay, Jaakkola: Rationalizing Neural Predictions, EMNLP 2016; VER, section 3.

    The scores are the selector's probabilities of selecting each word. The rationale is the same for every target: it
    is what any label was predicted from. Words that are never left out (``meta["fixed"]``) are not selected.

    Departures: nothing is drawn; the released code of VER still draws at test time.
    """

    name: ClassVar[str] = "rationale"
    family: ClassVar[str] = "self-explaining"
    needs: ClassVar[tuple[str, ...]] = ("rationale",)
    tasks: ClassVar[tuple[str, ...]] = ("text", "pair")
    paper: ClassVar[str] = "Lei et al. 2016; VER"

    def explain(self, request: Request) -> list[Explanation]:  # noqa: D102
        encoded, fingerprint = request.prepare(), request.model.fingerprint
        readings = read_rationales(request.model, encoded, request.batch_size)
        return [
            RationaleExplanation(
                self.header(request, number, item, reading.scores, fingerprint),
                words=item.words,
                selected=tuple(bool(s) for s in reading.selected),
                scores=tuple(float(p) for p in reading.probabilities),
            )
            for number, (item, reading) in enumerate(zip(encoded, readings, strict=True))
        ]
