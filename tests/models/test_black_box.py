from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import saywhy
from saywhy.errors import CapabilityError, InputError, LoadError, OptionError
from saywhy.models import BlackBox
from saywhy.models.word_space import WordSpace
from saywhy.types import Example, as_example
from tests import zoo


def loud(texts: list[str]) -> list[list[float]]:
    return [[t.count("!") / (1 + t.count("!")), 1 / (1 + t.count("!"))] for t in texts]


def longest(questions: list[tuple[str, tuple[str, ...]]]) -> list[list[float]]:
    sizes = [[1 + len(c) for c in choices] for _, choices in questions]
    return [[s / sum(own) for s in own] for own in sizes]


def box(function: Any = loud, **options: Any) -> BlackBox:
    return BlackBox(function, ["loud", "quiet"], **options)


def test_it_offers_outputs_and_nothing_else() -> None:
    model = box()
    assert model.capabilities == {"outputs"}
    assert model.predict("Hey! You!")[0].label == "loud"
    with pytest.raises(CapabilityError, match="no network"):
        model.module  # noqa: B018
    with pytest.raises(OptionError, match="cannot be saved"):
        model.save("anywhere")
    with pytest.raises(OptionError, match="span-qa"):
        box(task="span-qa")


def test_fingerprint_follows_the_answers() -> None:
    answers = {"p": 0.3}

    def function(texts: list[str]) -> list[list[float]]:
        return [[answers["p"], 1 - answers["p"]] for _ in texts]

    model = box(function)
    before = model.fingerprint
    assert len(before) == 16
    assert model.fingerprint == before == box(function).fingerprint
    answers["p"] = 0.4
    assert model.fingerprint != before
    answers["p"] = 0.3
    assert BlackBox(function, ["a", "b"]).fingerprint != before


@pytest.mark.parametrize(
    "answer",
    [None, [[1.0]], [[0.5, 0.6]], [[1.5, -0.5]], [[float("nan"), 1.0]], [0.5, 0.5], [["a", "b"]], [[2.0, -1.0]]],
)
def test_tables_that_are_no_probabilities_are_refused(answer: Any) -> None:
    with pytest.raises(InputError, match="prediction function"):
        box(lambda texts: answer).predict("film")


def test_ragged_tables_are_refused() -> None:
    with pytest.raises(InputError, match="prediction function"):
        box(lambda texts: [[0.5, 0.5], [1.0]]).predict(["a", "b"])


def test_a_call_has_at_most_batch_size_texts() -> None:
    sizes: list[int] = []

    def function(texts: list[str]) -> list[list[float]]:
        sizes.append(len(texts))
        return loud(texts)

    model = box(function)
    model.predict(["a!", "b", "c!!"] * 4, batch_size=5)
    assert sizes == [5, 5, 2]
    sizes.clear()
    space = WordSpace(model, [Example(("one two three four five",))], batch_size=2)
    space.outputs(np.zeros(6, dtype=int), np.vstack([np.ones(5), 1 - np.eye(5)]))
    assert sum(sizes) == space.calls == 6
    assert max(sizes) == 2


def test_words_are_cut_out_of_the_text_and_equal_texts_asked_once() -> None:
    seen: list[str] = []

    def function(texts: list[str]) -> list[list[float]]:
        seen.extend(texts)
        return loud(texts)

    space = WordSpace(box(function), [Example(("Oh wow !",))])
    keep = np.asarray([[1, 1, 1], [0, 1, 1], [1, 0, 1], [1, 1, 0], [0, 0, 0], [1, 1, 1]])
    found = space.probabilities(np.zeros(6, dtype=int), keep)
    assert seen == ["Oh wow !", "wow !", "Oh !", "Oh wow", ""]
    np.testing.assert_allclose(found[:, 0], [0.5, 0.5, 0.5, 0.0, 0.0, 0.5], atol=1e-9)
    masked = WordSpace(box(function, mask_token="_"), [Example(("Oh wow !",))], erasure="mask-token")
    seen.clear()
    masked.outputs(np.zeros(1, dtype=int), np.asarray([[1, 0, 1]]))
    assert seen == ["Oh _ !"]


def test_only_what_a_text_allows_can_be_erased() -> None:
    with pytest.raises(CapabilityError, match="it can by delete"):
        WordSpace(box(), [Example(("a",))], erasure="mask-token")
    with pytest.raises(CapabilityError):
        WordSpace(box(), [Example(("a",))], erasure="zero-embedding")


def test_choices_of_different_number() -> None:
    model = saywhy.load(longest, task="choices")
    examples = [as_example(q) for q in zoo.QUESTIONS]
    predictions = model.predict(examples)
    assert [p.label for p in predictions] == ["run away", "You sleep through most of it"]
    assert [len(p.probabilities) for p in predictions] == [3, 2]
    for together, example in zip(predictions, examples, strict=True):
        assert model.predict(example)[0] == together
        assert sum(together.probabilities) == pytest.approx(1)


def test_pairs_come_as_tuples() -> None:
    def same(pairs: list[tuple[str, str]]) -> list[list[float]]:
        return [[float(a == b), float(a != b)] for a, b in pairs]

    model = saywhy.load(same, labels=["same", "different"], task="pair")
    assert [p.label for p in model.predict([("a", "a"), ("a", "b")])] == ["same", "different"]
    assert len(model.fingerprint) == 16


def test_a_function_needs_labels() -> None:
    with pytest.raises(LoadError, match=r"labels=\[...\]"):
        saywhy.load(loud)
