"""ERASER's own two-document example: its files as our types, and the scores its published metrics print."""

from __future__ import annotations

import json
import os
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from saywhy.data.words import split_words
from saywhy.types import Example, Header, Rationale, Span, WordScores

__all__ = ["documents", "explanations", "scores"]

_ROOT = Path(__file__).resolve().parents[1]


def _folder() -> Path:
    folder = Path(os.environ.get("SAYWHY_GOLDEN", _ROOT.parent / "shared" / "golden")) / "eraser"
    if not folder.is_dir():
        pytest.skip(f"no golden values of ERASER in {folder.parent}; SAYWHY_GOLDEN says where they are")
    return folder


def _lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (_folder() / name).read_text().splitlines() if line.strip()]


@cache
def _scores() -> str:
    return (_folder() / "scores.json").read_text()


def scores() -> dict[str, Any]:
    """What ERASER's metrics print."""
    return json.loads(_scores())


def predictions() -> list[dict[str, Any]]:
    """The submitted predictions, as they are."""
    return _lines("predictions.jsonl")


def documents() -> list[Example]:
    """The annotated documents; all evidence of a document is of one annotator."""
    found = []
    for row in _lines("test.jsonl"):
        evidence = [e for group in row["evidences"] for e in group]
        text = (_folder() / "docs" / evidence[0]["docid"]).read_text()
        words = split_words(text, splitter="whitespace")
        spans = tuple(Span(0, words[e["start_token"]].start, words[e["end_token"] - 1].end) for e in evidence)
        for e, span in zip(evidence, spans, strict=True):
            assert text[span.start : span.end] == e["text"]
        found.append(Example((text,), label=row["classification"], rationales=(spans,), id=row["annotation_id"]))
    return found


def explanations(kind: str) -> list[Rationale] | list[WordScores]:
    """The predictions as rationales (``hard``) or as word scores (``soft``)."""
    hard, soft = [], []
    for example, row in zip(documents(), predictions(), strict=True):
        words = split_words(example.texts[0], splitter="whitespace")
        labels, probabilities = zip(*row["classification_scores"].items(), strict=True)
        header = Header("submitted", row["classification"], labels, probabilities, example.texts)
        (rationale,) = row["rationales"]
        inside = [range(r["start_token"], r["end_token"]) for r in rationale["hard_rationale_predictions"]]
        selected = tuple(any(i in r for r in inside) for i in range(len(words)))
        hard.append(Rationale(header, words=words, selected=selected))
        soft.append(WordScores(header, words=words, scores=tuple(rationale["soft_rationale_predictions"])))
    return hard if kind == "hard" else soft
