"""What the page says about an explanation in words, so that its words are those of notebooks, terminals and reports."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from saywhy.display.parts import linked_boxes, rationale_sentence, settles
from saywhy.display.verdict import judgement, verdict_sentences
from saywhy.types import Alignments, FreeText, explanation_from_dict

__all__ = ["told"]


def told(data: Mapping[str, Any]) -> dict[str, Any]:
    """Sentences for an explanation as a dict: its verdict, and what its kind has to say.

    Returns:
        ``judgement`` and ``sentences`` of the verdict where there is one; ``links`` (boxes with scores) and
        ``rationale`` of alignments; ``settles`` of a sentence whose label's evolution is known.
    """
    explanation = explanation_from_dict(data)
    said: dict[str, Any] = {}
    if explanation.verdict is not None:
        said |= {"judgement": judgement(explanation), "sentences": verdict_sentences(explanation)}
    if isinstance(explanation, Alignments):
        said |= {"links": linked_boxes(explanation), "rationale": rationale_sentence(explanation)}
    if isinstance(explanation, FreeText) and explanation.steps:
        said["settles"] = settles(explanation)
    return said
