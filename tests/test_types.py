from __future__ import annotations

import dataclasses
import itertools
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saywhy.errors import InputError
from saywhy.types import (
    Alignments,
    Example,
    Explanation,
    FreeText,
    Header,
    MetricResult,
    Prediction,
    Rationale,
    Span,
    Verdict,
    Word,
    WordScores,
    as_example,
    as_examples,
    explanation_from_dict,
)

HEADER = Header(
    method="lime", target="b", labels=("a", "b"), probabilities=(0.25, 0.75), texts=("Dull film",),
    parameters={"samples": 10}, notes=("cut",),
)  # fmt: skip
WORDS = (Word("Dull", 0, 4), Word("film", 5, 9))
VERDICT = Verdict(
    (0,), 2, 0.75, 0.5, 0.25, 0.125, (0.5, 0.375), (0.5, 0.625), better=True, erasure="delete", agreement=0.5, seeds=2,
    cost={"forwards": 6},
)  # fmt: skip
EXPLANATIONS: list[Explanation] = [
    WordScores(HEADER, WORDS, (0.5, -0.25), error=0.01, cost={"forwards": 3}),
    Rationale(HEADER, WORDS, (True, False), (1.0, 0.0)),
    Alignments(HEADER, WORDS[:1], WORDS[1:], ((0.5,),), (("Dull", "film", 0.5),)),
    FreeText(HEADER, "Because it is dull.", ((0.5, 0.5), (0.25, 0.75))),
    WordScores(HEADER, WORDS, (0.5, -0.25), verdict=VERDICT),
]


@pytest.mark.parametrize(
    ("given", "texts", "choices", "shape"),
    [
        ("a", ("a",), (), "text"),
        (("a", "b"), ("a", "b"), (), "pair"),
        (("a",), ("a",), (), "text"),
        ({"text": "a"}, ("a",), (), "text"),
        ({"text": "a", "text_pair": "b"}, ("a", "b"), (), "pair"),
        ({"text": "a", "text_pair": None}, ("a",), (), "text"),
        ({"premise": "a", "hypothesis": "b"}, ("a", "b"), (), "pair"),
        ({"question": "a", "context": "b"}, ("a", "b"), (), "pair"),
        ({"question": "a", "choices": ["b", "c"]}, ("a",), ("b", "c"), "choices"),
    ],
)
def test_inputs_in_all_the_forms_people_use(given: Any, texts: Any, choices: Any, shape: str) -> None:
    example = as_example(given)
    assert (example.texts, example.choices, example.shape) == (texts, choices, shape)
    assert example.fields == texts + choices
    assert as_example(example) is example
    assert as_examples(given) == ([example], True)
    assert as_examples([given, given]) == ([example, example], False)


def test_labels_come_along() -> None:
    assert as_example({"text": "a", "label": "good"}).label == "good"


@pytest.mark.parametrize(
    "given",
    [3, 2.5, ("a", "b", "c"), (1, "a"), {"premise": "a"}, {"question": "a"}, {"x": "a"}, {"text": 3}, {"text": None}],
)
def test_inputs_that_cannot_be_read(given: Any) -> None:
    with pytest.raises(InputError):
        as_example(given)


def test_an_example_says_where_it_comes_from() -> None:
    assert Example(("a",)).where() == "the example"
    assert Example(("a",), id="7").where() == "example 7"
    assert Example(("a",), source="f.csv", line=3).where() == "f.csv:3"
    assert Example(("a",), source="f.csv").where() == "f.csv"


@pytest.mark.parametrize("why", EXPLANATIONS, ids=lambda e: e.kind)
def test_explanations_survive_json(why: Explanation) -> None:
    data = json.loads(why.to_json())
    assert data["kind"] == why.kind
    assert data["schema"] == 1
    assert explanation_from_dict(data) == why
    assert (why.method, why.target, why.prediction.label) == ("lime", "b", "b")


def test_kinds_are_the_tags_of_a_union() -> None:
    assert len({why.kind for why in EXPLANATIONS}) == 4
    assert EXPLANATIONS[-1].to_dict()["verdict"]["better"] is True
    for data in ({}, {"kind": "word-scores"}, {"kind": "poem", "schema": 1}, {"kind": "word-scores", "schema": 99}):
        with pytest.raises(InputError, match="not an explanation"):
            explanation_from_dict(data)


def test_what_features_do_is_what_they_bring_alone_and_what_they_leave_behind() -> None:
    assert VERDICT.effect == 0.25
    assert VERDICT.random_effects == (0.0, -0.25)


def test_explanations_of_later_versions_can_be_read() -> None:
    data = EXPLANATIONS[-1].to_dict()
    data["verdict"]["mood"] = "good"
    data["header"]["weather"] = "bad"
    assert explanation_from_dict(data) == EXPLANATIONS[-1]
    del data["verdict"]
    assert explanation_from_dict(data).verdict is None


def test_everything_is_frozen() -> None:
    for thing in (*EXPLANATIONS, HEADER, VERDICT, WORDS[0], Example(("a",)), Prediction("a", 1.0, ("a",), (1.0,))):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(thing, dataclasses.fields(thing)[0].name, None)  # type: ignore[arg-type]


@given(st.lists(st.floats(-5, 5), min_size=1, max_size=8), st.integers(0, 10))
def test_the_top_words_are_the_best_in_order(scores: list[float], k: int) -> None:
    words = tuple(Word(str(i), i, i + 1) for i in range(len(scores)))
    best = WordScores(HEADER, words, tuple(scores)).top(k)
    assert len(best) == min(k, len(scores))
    assert [s for _, s in best] == sorted(scores, reverse=True)[:k]
    for (first, a), (second, b) in itertools.pairwise(best):
        assert a > b or first.start < second.start


def test_words_and_predictions_read_well() -> None:
    word = Word("film", 5, 9, 1)
    assert (str(word), word.span) == ("film", Span(1, 5, 9))
    assert str(Prediction("good", 0.756, ("bad", "good"), (0.244, 0.756))) == "good (0.76)"
    assert Prediction("good", 0.756, ("bad", "good"), (0.244, 0.756)).index == 1


def test_results_of_metrics_are_plain() -> None:
    result = MetricResult("sufficiency", 0.5, 0.4, 0.6, 10, values=(0.1, 0.9), bins={"10%": 0.2})
    assert str(result) == "sufficiency 0.500 [0.400, 0.600]"
    data = json.loads(json.dumps(result.to_dict()))
    assert data["kind"] == "metric"
    assert data["values"] == [0.1, 0.9]
