from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import saywhy
from saywhy.errors import SayWhyWarning
from saywhy.types import Example
from tests import zoo

METHODS = ["lime", "kernel-shap", "shapley", "back-select"]


def explain(model: Any, inputs: Any, method: str, **options: Any) -> Any:
    few = {} if method == "back-select" else {"samples": 60, "tolerance": None}
    return saywhy.explain(model, inputs, method, **few, **options)


@pytest.mark.parametrize("method", METHODS)
def test_words_that_are_not_read_or_not_erased_have_no_score(method: str) -> None:
    model = zoo.pair_classifier()
    texts = ("Dull film?", "It never lets go of you")
    asked = explain(model, Example(texts, meta={"fixed": (0,)}), method)
    scores = np.asarray(asked.scores)
    assert not scores[:3].any()
    assert scores[3:].any()
    with pytest.warns(SayWhyWarning, match="cut to the first"):
        cut = explain(zoo.shared(), "film " * 70, method, truncation="head")
    assert not np.asarray(cut.scores)[-5:].any()
    # Nothing at all may be erased.
    none = explain(model, Example(texts, meta={"fixed": (0, 1)}), method, target=0)
    assert not np.asarray(none.scores)[1:].any()


def test_alignments_of_words_that_are_not_read() -> None:
    long = "film " * 70
    with pytest.warns(SayWhyWarning, match="cut to the first"):
        why: Any = explain(zoo.pair_classifier(), ("Dull", long), "kernel-shap", space="alignments", truncation="head")
    scores = np.asarray(why.scores)[0]
    assert scores.shape == (70,)
    assert scores[:30].any()
    assert not scores[-5:].any()


@pytest.mark.parametrize("method", ["lime", "kernel-shap", "shapley"])
def test_games_with_fewer_players_are_those_of_the_rest(method: str) -> None:
    # The premise is empty of players: the same game as a function of the second text alone.
    texts = ("Dull film", "It sleeps through most")
    model = zoo.pair_classifier()
    why = saywhy.explain(model, Example(texts, meta={"fixed": (0,)}), method, target=1)
    space = saywhy.models.word_space.WordSpace(model, [Example(texts)])

    def second(given: list[str]) -> np.ndarray:
        words = texts[1].split()
        keep = [[True, True, *(word in text.split() for word in words)] for text in given]
        return space.probabilities(np.zeros(len(given), dtype=int), np.asarray(keep))

    alone: Any = saywhy.explain(saywhy.load(second, labels=zoo.LABELS), texts[1], method, target=1)
    np.testing.assert_allclose(np.asarray(why.scores)[2:], alone.scores, atol=1e-5)  # type: ignore[attr-defined]
