"""IvRA: attention that was trained to explain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor, nn

from saywhy.errors import CapabilityError
from saywhy.explainers.attention import read_words
from saywhy.explainers.base import Explainer, Request, register
from saywhy.models import Batch, TextModel
from saywhy.models.attention_module import AttentionModule, attached, explained_forward
from saywhy.models.interpretable_attention import InterpretableAttention
from saywhy.types import Explanation

__all__ = ["Ivra", "TrainedAttention"]


@dataclass(frozen=True)
class TrainedAttention(Explainer):
    """What a module inside the network makes of its queries and keys, in the one forward pass that predicts."""

    family: ClassVar[str] = "attention"
    needs: ClassVar[tuple[str, ...]] = ("attention",)
    fitted: ClassVar[bool] = True
    module: ClassVar[type[AttentionModule]]

    def lacks(self, model: TextModel) -> str:  # noqa: D102 - as in the base class
        if attached(model.network, self.module) is not None:
            return ""
        return (
            f"method {self.name!r} needs a model that was trained to explain: "
            f"`saywhy train {self.name} --data ... --model ...` makes one of any transformer"
        )

    def explain(self, request: Request) -> list[Explanation]:  # noqa: D102
        module = attached(request.model.network, self.module)
        if module is None:
            raise CapabilityError(self.lacks(request.model))

        def read(network: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
            return explained_forward(network, request.model.task, batch, module)

        encoded = request.prepare()
        scores, words = read_words(request, encoded, read)
        costs = [{"forwards": len(item.rows)} for item in encoded]
        return self.word_scores(request, encoded, scores, words, costs=costs, **module.options)


@register
@dataclass(frozen=True)
class Ivra(TrainedAttention):
    """The distribution over words that a model trained by the objective `ivra` gives beside its answer.

    Reference: IvRA, section 2.1. A word's score is the sum over its pieces (appendix H).

    Departures: see `saywhy.models.interpretable_attention.InterpretableAttention`. None of the target enters; the
    scores are the same for every label.

    Example:
        >>> saywhy.explain("runs/ivra", "A gripping film.", method="ivra")                     # doctest: +SKIP
    """

    name: ClassVar[str] = "ivra"
    module: ClassVar[type[AttentionModule]] = InterpretableAttention
    paper: ClassVar[str] = "Xie et al. 2024 (IvRA)"
