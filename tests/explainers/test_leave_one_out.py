from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import saywhy
from saywhy.errors import CapabilityError, InputError, OptionError
from saywhy.explainers import leave_one_out
from tests import zoo


def counting(texts: list[str]) -> list[list[float]]:
    """Likes what is good, dislikes what is bad, and knows nothing else."""
    table = []
    for text in texts:
        words = text.split()
        good, bad = 1 + words.count("good"), 1 + words.count("bad")
        table.append([bad / (good + bad), good / (good + bad)])
    return table


MODEL = saywhy.load(counting, labels=["bad", "good"])


def scores(*args: Any, **options: Any) -> list[float]:
    return list(saywhy.explain(*args, "leave-one-out", **options).scores)


def test_the_drop_of_the_target_by_hand() -> None:
    assert scores(MODEL, "good old bad good") == pytest.approx([3 / 5 - 2 / 4, 0, 3 / 5 - 3 / 4, 3 / 5 - 2 / 4])
    assert scores(MODEL, "good old", target="bad") == pytest.approx([1 / 3 - 1 / 2, 0])
    assert scores(MODEL, "good old", target="good", against="bad") == pytest.approx([1 / 3, 0])
    logits = scores(MODEL, "good old", output="logit")
    assert logits == pytest.approx([np.log(2 / 3) - np.log(1 / 2), 0])


def test_the_target_is_that_of_the_whole_text() -> None:
    # Without "good" the prediction is a tie, without both it would be the other label.
    why: Any = saywhy.explain(MODEL, "good good bad", "leave-one-out")
    assert why.target == "good"
    assert why.scores[0] == pytest.approx(3 / 5 - 2 / 4)


def test_a_contrast_that_wins_when_a_word_is_gone_is_no_mistake() -> None:
    flipping = saywhy.load(lambda ts: [[0.2, 0.8] if "good" in t else [0.9, 0.1] for t in ts], labels=["bad", "good"])
    assert scores(flipping, "good film", against="bad") == pytest.approx([0.6 + 0.8, 0])
    with pytest.raises(InputError, match="a contrast needs two labels"):
        scores(flipping, "good film", against="good")


@pytest.mark.parametrize("erasure", ["delete", "mask-token", "pad", "attention-mask", "zero-embedding"])
def test_equals_predictions_on_each_text_without_a_word(erasure: str) -> None:
    model = zoo.shared()
    why: Any = saywhy.explain(model, zoo.TEXTS[0], "leave-one-out", erasure=erasure, target=0)
    assert why.header.erasure == erasure
    space = saywhy.models.word_space.WordSpace(model, [saywhy.Example((zoo.TEXTS[0],))], erasure=erasure)
    n = len(why.words)
    table = space.probabilities(np.zeros(n + 1, dtype=int), np.vstack([np.ones(n), 1 - np.eye(n)]))[:, 0]
    np.testing.assert_allclose(why.scores, table[0] - table[1:], atol=1e-5)
    assert why.cost == {"forwards": n + 1}


def test_deleting_equals_the_shorter_text() -> None:
    model = zoo.shared()
    text = "dull film that never lets go"
    whole = model.predict(text)[0]
    words = text.split()
    expected = [
        whole.probability - model.predict(" ".join(words[:i] + words[i + 1 :]))[0].probabilities[whole.index]
        for i in range(len(words))
    ]
    np.testing.assert_allclose(scores(model, text), expected, atol=1e-5)


def test_many_masks_are_evaluated_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = saywhy.explain(zoo.shared(), zoo.TEXTS, "leave-one-out", against="negative", target="positive")
    monkeypatch.setattr(leave_one_out, "_CELLS", 60)
    parts = saywhy.explain(zoo.shared(), zoo.TEXTS, "leave-one-out", against="negative", target="positive")
    for one, other in zip(whole, parts, strict=True):
        np.testing.assert_allclose(one.scores, other.scores, atol=1e-5)  # type: ignore[attr-defined]


def test_erasures_that_cannot_be() -> None:
    with pytest.raises(OptionError, match="unknown erasure"):
        scores(MODEL, "good", erasure="burn")
    with pytest.raises(CapabilityError, match="it can by mask-token"):
        scores(zoo.shared_reader(), zoo.CONTEXTS[0], erasure="delete")
