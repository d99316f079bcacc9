"""Two models' explanations of one input, side by side."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

__all__ = ["compare_explanations"]

TOP = 0.2
"""Share of the words whose overlap is told, as for verdicts."""


def compare_explanations(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    """How far two explanations, as plain data, agree, and which words change their role.

    Words are matched by where they stand. Scores are relative to the largest of each explanation, because models'
    scores have no common unit.

    Example:
        >>> word = {"text": "good", "start": 0, "end": 4, "field": 0}
        >>> one = {"words": [word], "scores": [0.5]}
        >>> compare_explanations(one, {"words": [word], "scores": [-0.1]})["changed"][0]["b"]
        -1.0
    """
    a, b = _scores(first), _scores(second)
    shared = [place for place in a if place in b]
    if not shared:
        return {"agreement": {"kendall_tau": None, "top_k_overlap": None, "k": 0, "features": 0}, "changed": []}
    one, other = (np.asarray([table[place][1] for place in shared], dtype=np.float64) for table in (a, b))
    k = max(1, math.ceil(TOP * len(shared)))
    best = [set(np.argsort(-values, kind="stable")[:k].tolist()) for values in (one, other)]
    one, other = (values / (np.abs(values).max() or 1.0) for values in (one, other))
    order = np.argsort(-np.abs(one - other), kind="stable")
    changed = [
        {**a[shared[i]][0], "a": float(one[i]), "b": float(other[i])} for i in order.tolist() if one[i] != other[i]
    ]
    return {
        "agreement": {
            "kendall_tau": _tau(one, other),
            "top_k_overlap": len(best[0] & best[1]) / k,
            "k": k,
            "features": len(shared),
        },
        "changed": changed[:50],
    }


def _tau(one: np.ndarray, other: np.ndarray) -> float | None:
    from scipy.stats import kendalltau

    found = float(kendalltau(one, other).statistic) if len(one) > 1 else math.nan
    return None if math.isnan(found) else found


def _scores(why: Mapping[str, Any]) -> dict[Any, tuple[dict[str, Any], float]]:
    """Scores with what they are of, by place: words, or pairs of words. A sentence has none."""
    if why.get("kind") == "alignments":
        return {
            (_place(p), _place(h)): ({"word": f"{p['text']} / {h['text']}", "premise": p, "hypothesis": h}, score)
            for p, row in zip(why["premise"], why["scores"], strict=True)
            for h, score in zip(why["hypothesis"], row, strict=True)
        }
    words: Sequence[Mapping[str, Any]] = why.get("words", ())
    values = why.get("scores") or [float(s) for s in why.get("selected", ())]
    return {
        _place(w): ({"word": w["text"], "start": w["start"], "end": w["end"], "field": w["field"]}, v)
        for w, v in zip(words, values, strict=True)
    }


def _place(word: Mapping[str, Any]) -> tuple[int, int, int]:
    return (word["field"], word["start"], word["end"])
