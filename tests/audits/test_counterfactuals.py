from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from saywhy.audits import counterfactual
from saywhy.errors import InputError, OptionError
from saywhy.models import TextModel, load
from saywhy.types import Example


def judge(weights: dict[str, float], level: float = 0.0) -> TextModel:
    """Says yes by the sum of its words' weights."""

    def probabilities(texts: list[str]) -> np.ndarray:
        sums = np.asarray([level + sum(weights.get(word, 0.0) for word in text.split()) for text in texts])
        yes = 1 / (1 + np.exp(-sums))
        return np.stack([yes, 1 - yes], axis=1)

    return load(probabilities, labels=["yes", "no"])


def test_one_word_turns_it() -> None:
    found = counterfactual(judge({"good": 3.0, "bad": -1.0}), "a good but bad film")
    assert found.new_texts == ("a but bad film",)
    assert (found.label, found.new_label) == ("yes", "no")
    assert [change.word.text for change in found.changes] == ["good"]
    assert found.changes[0].without == pytest.approx(found.probability)
    assert found.smallest


def test_the_smallest_of_several_and_each_is_needed() -> None:
    model = judge({"a": 1.0, "b": 1.0, "c": 1.0, "d": 2.6, "e": -2.2})
    found = counterfactual(model, "a b c d e")
    assert len(found.changes) == 2, "d and one of the others"
    assert "d" in [change.word.text for change in found.changes]
    for change in found.changes:
        assert change.without > 0.5
    assert found.smallest


@given(st.lists(st.sampled_from([-1.0, -0.5, 0.5, 1.0, 2.0]), min_size=1, max_size=6), st.integers(1, 40))
def test_what_is_returned_really_flips(weights: list[float], budget: int) -> None:
    names = [f"w{i}" for i in range(len(weights))]
    model = judge(dict(zip(names, weights, strict=True)), level=0.25)
    found = counterfactual(model, " ".join(names), budget=budget, most=len(names))
    seen = model.predict(found.new_texts[0])[0]
    assert found.asked <= budget + len(names)
    if found.flipped:
        assert seen.label == found.new_label != found.label
        for change in found.changes:
            kept = [c for c in found.changes if c is not change]
            text = " ".join(n for n in names if n not in {c.word.text for c in kept})
            assert model.predict(text)[0].label == found.label, "every change is needed"
    else:
        assert found.new_texts == found.texts
    if found.smallest and found.flipped and len(found.changes) > 1:
        for i in range(len(names)):
            text = " ".join(n for j, n in enumerate(names) if j != i)
            assert model.predict(text)[0].label == found.label, "no single change does it"


def test_a_small_budget_follows_a_beam_and_does_not_claim_to_be_smallest() -> None:
    names = [f"w{i}" for i in range(40)]
    model = judge(dict.fromkeys(names, 0.5) | {"w7": 4.0, "w9": 4.0, "w11": 4.0}, level=-19.0)
    found = counterfactual(model, " ".join(names), budget=700, beam=2)
    assert {change.word.text for change in found.changes} >= {"w7", "w9", "w11"} or len(found.changes) <= 4
    assert found.flipped
    assert found.asked < 800


def gone(text: str, *words: str) -> bool:
    return not set(words) & set(text.split())


def stubborn(other_way: bool) -> TextModel:
    """Turns without b and c (and a, where there is another way: x and y); a alone moves it most."""

    def probabilities(texts: list[str]) -> list[list[float]]:
        found = []
        for text in texts:
            turned = gone(text, "x", "y") or gone(text, "a", "b", "c") if other_way else gone(text, "b", "c")
            yes = 0.9 - 0.2 * gone(text, "a") - 0.05 * gone(text, "b") - 0.05 * gone(text, "c")
            found.append([0.3, 0.7] if turned else [yes, 1 - yes])
        return found

    return load(probabilities, labels=["yes", "no"])


MANY = "a b c x y d e f g h i j"


def test_what_the_beam_took_along_is_given_back() -> None:
    found = counterfactual(stubborn(other_way=False), MANY, budget=50, beam=1)
    assert {change.word.text for change in found.changes} == {"b", "c"}
    assert found.smallest, "all single changes were tried"


def test_what_the_beam_passed_by_is_not_denied() -> None:
    found = counterfactual(stubborn(other_way=True), MANY, budget=50, beam=1)
    assert {change.word.text for change in found.changes} == {"a", "b", "c"}
    assert not found.smallest, "x and y would have done"


def test_replacements() -> None:
    found = counterfactual(judge({"good": 2.0, "bad": -3.0}), "a good film", replace=["long", "bad"])
    assert found.new_texts in {("bad good film",), ("a bad film",), ("a good bad",)}
    assert found.changes[0].replacement == "bad"
    assert str(found.changes[0]).endswith("-> bad")


def test_a_label_to_reach() -> None:
    def three(texts: list[str]) -> list[list[float]]:
        return [[0.8, 0.1, 0.1] if "x" in t.split() else [0.0, 0.6, 0.4] if "y" in t.split() else [0.0, 0.4, 0.6]
                for t in texts]  # fmt: skip

    model = load(three, labels=["a", "b", "c"])
    assert counterfactual(model, "x y z").new_label == "b"
    reached = counterfactual(model, "x y z", target="c", most=2)
    assert reached.new_label == "c"
    assert reached.new_texts == ("z",)
    there = counterfactual(model, "x y z", target="a")
    assert not there.flipped
    assert there.notes == ("the model says a already",)


def test_nothing_turns_a_constant_model() -> None:
    found = counterfactual(load(lambda ts: [[0.7, 0.3]] * len(ts), labels=["yes", "no"]), "one two", most=2)
    assert not found.flipped
    assert found.smallest, "every set was tried"
    assert found.new_texts == found.texts


def test_pairs_choices_and_fields_that_are_fixed() -> None:
    def same(pairs: list[Any]) -> list[list[float]]:
        return [[0.9, 0.1] if set(p.split()) & set(h.split()) else [0.2, 0.8] for p, h in pairs]

    pair = load(same, labels=["same", "other"], task="pair")
    free = counterfactual(pair, ("one two", "two three"))
    assert free.changes[0].word.text == "two"
    held = counterfactual(pair, Example(("one two", "two three"), meta={"fixed": [0]}))
    assert held.new_texts == ("one two", "three")
    with pytest.raises(InputError, match="may be changed"):
        counterfactual(pair, Example(("one two", "two three"), meta={"fixed": [0, 1]}))

    def longest(asked: list[Any]) -> list[list[float]]:
        sizes = [[float(len(c.split())) for c in choices] for _, choices in asked]
        return [[size / sum(row) for size in row] for row in sizes]

    choices = load(longest, labels=[], task="choices")
    turned = counterfactual(choices, {"question": "which?", "choices": ["a b c", "d e"]}, most=3)
    assert turned.flipped
    assert turned.new_choices[1] == "d e"


def test_lists_and_options() -> None:
    model = judge({"good": 2.0}, level=-0.5)
    many = counterfactual(model, ["good film", "a film"])
    assert [each.flipped for each in many] == [True, False]
    assert [each.label for each in many] == ["yes", "no"]
    with pytest.raises(OptionError, match="at least 1"):
        counterfactual(model, "good", budget=0)


def test_the_terminal_says_what_was_found() -> None:
    from rich.console import Console

    console = Console(width=100, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    console.print(counterfactual(judge({"a": 1.0, "b": 1.0}, level=-0.5), "a b c"))
    console.print(counterfactual(judge({}), "a b c"))
    text = console.export_text()
    assert "the smallest change: - a" in text
    assert "turns" in text
