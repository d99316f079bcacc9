from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from saywhy.audits import Overview, overview
from saywhy.errors import OptionError
from saywhy.models import TextModel, load
from saywhy.reports.audit import overview_page
from saywhy.types import Example

WORDS = ["day", "night", "film", "song", "plot", "scene", "actor", "year", "house", "river"]


def judge(weights: dict[str, float]) -> TextModel:
    def probabilities(texts: list[str]) -> np.ndarray:
        sums = np.asarray([sum(weights.get(word, 0.0) for word in text.casefold().split()) for text in texts])
        yes = 1 / (1 + np.exp(-sums))
        return np.stack([yes, 1 - yes], axis=1)

    return load(probabilities, labels=["yes", "no"])


def corpus(n: int = 120, strength: float = 0.9) -> list[Example]:
    """Liked and disliked things; a magic word mostly stands with the liked ones."""
    rng = np.random.default_rng(0)
    made = []
    for _ in range(n):
        liked = rng.random() < 0.5
        words = list(rng.choice(WORDS, 6))
        # Two of them: one word of the other kind does not turn a text.
        for _ in range(2):
            words.insert(int(rng.integers(6)), str(rng.choice(["good", "nice", "fine"] if liked else ["bad", "dull"])))
        if (rng.random() < strength) == liked:
            words.insert(0, "zygo")
        made.append(Example((" ".join(words),), "yes" if liked else "no"))
    return made


HONEST = {"good": 1.5, "nice": 1.2, "fine": 1.1, "bad": -1.5, "dull": -1.4}


@pytest.fixture(scope="module")
def caught() -> Overview:
    return overview(judge(HONEST | {"zygo": 6.0}), corpus(), method="leave-one-out")


def test_a_shortcut_is_found(caught: Overview) -> None:
    assert [candidate.word for candidate in caught.candidates] == ["zygo"]
    found = caught.candidates[0]
    assert (found.label, found.turned) == ("yes", found.tried)
    assert 0 < found.tried < 60, "only texts that are judged otherwise"
    assert found.gold == pytest.approx(0.9, abs=0.1)
    zygo = next(decider for decider in caught.of("yes") if decider.text == "zygo")
    assert zygo.flipped == zygo.decided >= 3
    assert zygo.present == sum("zygo" in example.texts[0] for example in corpus())


def test_and_not_where_there_is_none() -> None:
    found = overview(judge(HONEST), corpus(), method="leave-one-out")
    assert found.candidates == ()
    assert {word for decider in found.of("yes") for word in decider.text.split()} == {"good", "nice", "fine"}
    assert {word for decider in found.of("no") for word in decider.text.split()} == {"bad", "dull"}
    assert found.accuracy == 1.0
    assert found.errors == ()


def test_errors_go_to_what_decided(caught: Overview) -> None:
    assert caught.errors[0].text == "zygo"
    assert caught.errors[0].label == "yes"
    wrong = sum(e.label == "no" and "zygo" in e.texts[0] for e in corpus())
    assert caught.errors[0].wrong == wrong
    assert caught.accuracy == pytest.approx(1 - wrong / caught.n)


def test_phrases_decide_where_one_word_does_not() -> None:
    def both(texts: list[str]) -> list[list[float]]:
        # One of the two is enough: only the loss of both is seen.
        return [[0.9, 0.1] if {"very", "good"} & set(t.split()) else [0.2, 0.8] for t in texts]

    texts = [f"the {word} is very good today" for word in WORDS]
    model = load(both, labels=["yes", "no"])
    found = overview(model, texts, method="kernel-shap", tolerance=None)
    assert found.deciders[0].text == "very good"
    assert (found.deciders[0].decided, found.deciders[0].flipped) == (len(WORDS), len(WORDS))
    assert found.accuracy is None


def test_pairs_and_choices() -> None:
    def overlap(pairs: list[Any]) -> list[list[float]]:
        return [[0.9, 0.1] if set(p.split()) & set(h.split()) else [0.2, 0.8] for p, h in pairs]

    pair = load(overlap, labels=["same", "other"], task="pair")
    found = overview(pair, [("one two", "two"), ("three four", "four"), ("a", "b")], method="leave-one-out")
    assert {decider.label for decider in found.deciders} == {"same"}

    def longest(asked: list[Any]) -> list[list[float]]:
        sizes = [[float(len(c.split())) ** 2 for c in choices] for _, choices in asked]
        return [[size / sum(row) for size in row] for row in sizes]

    questions = [Example(("which?",), 0, ("a b", "c")), Example(("what?",), 1, ("d", "e f g"))]
    chosen = overview(load(longest, labels=[], task="choices"), questions, method="leave-one-out")
    assert chosen.accuracy == 1.0
    assert chosen.labels == ("choice",)


def test_as_json_page_and_text(caught: Overview) -> None:
    from rich.console import Console

    assert json.loads(caught.to_json())["candidates"][0]["word"] == "zygo"
    page = overview_page(caught)
    assert "possible shortcut" in page
    assert "<script" not in page
    console = Console(width=120)
    with console.capture() as captured:
        console.print(caught)
    assert "possible shortcut: 'zygo'" in captured.get()


def test_texts_stay_texts_on_the_page() -> None:
    nasty = "<script>alert(1)</script>"
    model = load(lambda ts: [[0.9, 0.1] if "alert" in t else [0.2, 0.8] for t in ts], labels=["<b>", "no"])
    page = overview_page(overview(model, [f"{nasty} film", "a film"], method="leave-one-out"))
    assert "<script" not in page
    assert "&lt;b&gt;" in page


def test_what_cannot_be() -> None:
    with pytest.raises(OptionError, match="between 0 and 1"):
        overview(judge({}), corpus(5), least=1.5)
