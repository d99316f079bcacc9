"""DiffMask over alignments: gates that were trained on many pairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch

from saywhy.errors import CapabilityError
from saywhy.explainers.alignments import Found, Pairs, alignment_rationales, pair_groups
from saywhy.explainers.base import Explainer, Request, register
from saywhy.models import TextModel
from saywhy.models.alignment_space import AlignmentSpace
from saywhy.models.attention_module import attached
from saywhy.models.diffmask import DiffMaskGates
from saywhy.types import Explanation

__all__ = ["DiffMask"]


@register
@dataclass(frozen=True)
class DiffMask(Explainer):
    """The alignments that gates trained by the objective `diffmask` keep open: no optimisation, three rows a pair.

    Reference: AREC, appendix C, after De Cao et al. 2020. A pair is selected where its gate is likelier 1 than 0; its
    score is the share of samples above one half, as in `arec`.

    Example:
        >>> saywhy.explain("runs/da-diffmask", ("People walk.", "People sit."), method="diffmask")  # doctest: +SKIP
    """

    name: ClassVar[str] = "diffmask"
    family: ClassVar[str] = "rationale"
    needs: ClassVar[tuple[str, ...]] = ("alignments", "embeddings")
    tasks: ClassVar[tuple[str, ...]] = ("pair",)
    spaces: ClassVar[tuple[str, ...]] = ("alignments",)
    fitted: ClassVar[bool] = True
    paper: ClassVar[str] = "De Cao et al. 2020"

    @property
    def space(self) -> str:
        """Alignments; there is no choice."""
        return "alignments"

    def lacks(self, model: TextModel) -> str:  # noqa: D102 - as in the base class
        if attached(model.network, DiffMaskGates) is not None:
            return ""
        return (
            "method 'diffmask' needs gates that were trained for the model: "
            "`saywhy train diffmask --data ... --model FOLDER` makes them"
        )

    def explain(self, request: Request) -> list[Explanation]:  # noqa: D102
        gates = attached(request.model.network, DiffMaskGates)
        if gates is None:
            raise CapabilityError(self.lacks(request.model))
        space = AlignmentSpace(
            request.model, request.examples, batch_size=request.batch_size, encoded=request.prepare()
        )
        found: dict[int, Found] = {}
        with request.model.evaluation() as network, torch.no_grad():
            for group in pair_groups(space, 1):
                pairs = Pairs(space, network, group)
                for number, table, (height, width) in zip(
                    group, gates(*pairs.word_vectors()), pairs.shapes, strict=True
                ):
                    log_alpha = table[:height, :width]
                    found[number] = pairs.judge(number, log_alpha > 0, log_alpha.sigmoid())
        return alignment_rationales(self, request, space, [found[i] for i in range(len(found))])
