"""The sentence by which a model explains itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from saywhy.errors import OptionError
from saywhy.explainers.base import Explainer, Request, register
from saywhy.models.sentences import speak
from saywhy.types import Explanation, FreeText

__all__ = ["Sentence"]


@register
@dataclass(frozen=True)
class Sentence(Explainer):
    """The sentence that an MPII network (or another that speaks) wrote while it decided, and how the label moved.

    Reference: MPII, sections 2.2 and 3.4, figure 4.

    The sentence is the same for every target: it was written on the way to the prediction.

    Options:
        beams: sentences that are kept at every step; 1 (default) is greedy, as in the paper and as `predict` does. With
            more, the label is the one that the best sentence ends in.
    """

    name: ClassVar[str] = "sentence"
    family: ClassVar[str] = "self-explaining"
    needs: ClassVar[tuple[str, ...]] = ("sentences",)
    tasks: ClassVar[tuple[str, ...]] = ("text", "pair", "choices")
    spaces: ClassVar[tuple[str, ...]] = ("sentences",)
    fitted: ClassVar[bool] = True
    paper: ClassVar[str] = "MPII"

    beams: int = 1

    def __post_init__(self) -> None:
        if self.beams < 1:
            raise OptionError(f"beams must be at least 1, not {self.beams}")

    def explain(self, request: Request) -> list[Explanation]:  # noqa: D102
        encoded, fingerprint = request.prepare(), request.model.fingerprint
        options = {"beams": self.beams} if self.beams > 1 else {}
        made: list[Explanation] = []
        for number, (item, said) in enumerate(
            zip(encoded, speak(request.model, encoded, request.batch_size, **options), strict=True)
        ):
            header = self.header(request, number, item, said.scores, fingerprint, space="sentences")
            made.append(FreeText(header, sentence=said.sentence, steps=said.steps))
        return made
