"""Inputs of a study with their explanations, on its page."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from saywhy.reports.study import study_page
from saywhy.reports.study_examples import ALIKE, ARTICLES, TOLD, _example, alike, examples, pairs
from saywhy.studies.work import _example as kept
from saywhy.types import Example, Span

from .conftest import Page
from .made import study


def test_examples_stand_side_by_side_with_prediction_and_gold(tmp_path: Path) -> None:
    result = study(tmp_path)
    words = Page(study_page(result)).words
    assert "first model says pos (0.80) label pos ✓ right reason planted random for pos" in words
    groups, left_out = examples(result)
    assert [(about, len(shown)) for about, shown in groups] == [("small on reviews", 1)]
    assert len(groups[0][1][0]["fragments"]) == 2
    assert left_out == 0


def test_models_explain_the_same_input_beside_each_other(tmp_path: Path) -> None:
    result = study(tmp_path, models={"plain": {}, "regex": {}})
    ((about, (shown,)),) = pairs(result)
    assert about == "reviews"
    told = [Page(fragment).words for fragment in shown["fragments"]]
    expected = ["lime · plain", "lime · regex", "random · plain", "random · regex"]
    assert [name for name, words in zip(expected, told, strict=True) if words.startswith(name)] == expected
    assert "Model by model" in Page(study_page(result)).words
    assert not pairs(study(tmp_path / "one"))


def test_many_models_leave_none_out_and_make_no_longer_page(tmp_path: Path) -> None:
    texts = [[f"input number {i}"] for i in range(6)]
    models: dict[str, dict[str, Any]] = {f"m{i}": {} for i in range(8)}
    for chosen, inputs in ((8, 2), (4, 4), (2, 4)):
        some = dict(list(models.items())[:chosen])
        ((_, shown),) = pairs(study(tmp_path / str(chosen), models=some, texts=texts, seeds=[0]))
        assert [len(one["fragments"]) for one in shown] == [2 * chosen] * inputs


QUESTIONS = [
    ["who sang first", "a long paragraph on songs"],
    ["nothing like it", "some other text"],
    ["when was it sung", "a long paragraph on songs"],
]


def steps_of(cells: Any, names: Mapping[str, str]) -> Any:
    """The same cells, those of each model in an evaluation step of their own."""
    return tuple(replace(c, facts={**c.facts, "step": names.get(c.facts["model"], c.facts["step"])}) for c in cells)


def test_alike_inputs_stand_beside_each_other_as_the_reference_and_trained_models_explain_them(tmp_path: Path) -> None:
    methods = {"random": 0.1, "lime": 0.2, "integrated-gradients": 0.6}
    result = study(tmp_path, models={"plain": {}, "cons": {}}, methods=methods, texts=QUESTIONS, reference="plain")
    ((about, (pair,)),) = alike(result)
    assert (about, pair["alike"]) == ("reviews", "the same hypothesis")
    told = [Page(fragment).words for fragment in pair["fragments"]]
    names = ["integrated-gradients · plain", "integrated-gradients · cons"]
    inputs = ["who sang", "when was"]  # the rest is cut by the gold span
    for words, (name, text) in zip(told, [(n, t) for n in names for t in inputs], strict=True):
        assert words.startswith(name)
        assert text in words
    read = Page(study_page(result))
    assert "first and third the same hypothesis labels pos and pos" in read.words
    assert "#alike" in {a["href"] for a in read.all("a")}
    # One model alone, or inputs that have nothing in common: no section.
    assert not alike(study(tmp_path / "one", texts=QUESTIONS))
    apart = study(tmp_path / "apart", models={"plain": {}, "cons": {}}, texts=[["one"], ["two"]])
    assert not alike(apart)
    assert 'id="alike"' not in study_page(apart)


def test_alike_inputs_are_joined_over_steps_and_told_by_what_models_say_of_themselves(tmp_path: Path) -> None:
    names = ["plain", *(f"m{i}" for i in range(5))]
    methods = {"random": 0.1, "gradient": 0.2, "ivra": 0.6}
    result = study(tmp_path, models={n: {} for n in names}, methods=methods, texts=QUESTIONS, reference="plain")
    cells = steps_of(result.plan.cells, {name: f"step of {name}" for name in names})
    # The reference cannot say what the others say of themselves, and they were not asked for its own method.
    absent = [c.name for c in cells if c.facts.get("method") == ("ivra" if c.facts["model"] == "plain" else "gradient")]
    results = {name: found for name, found in result.results.items() if name not in absent}
    result = replace(result, plan=replace(result.plan, cells=cells), results=results)
    ((_, (pair,)),) = alike(result)
    told = [Page(fragment).words for fragment in pair["fragments"]]
    expected = ["gradient · plain", "ivra · m0", "ivra · m2", "ivra · m4"]
    assert len(expected) == TOLD
    for number, name in enumerate(expected):
        assert all(words.startswith(name) for words in told[2 * number : 2 * number + 2])


def test_alike_are_equal_texts_before_common_words_and_not_too_many(tmp_path: Path) -> None:
    texts = [
        ["the same premise", "an outcome"],
        ["the same premise", "another end"],
        ["songs of the sea at night", "x"],
        ["Songs of the sea at noon", "y"],
        ["p", "one hypothesis"],
        ["q", "one hypothesis"],
        ["", "blank is no text"],
        ["", "and likes no other"],
    ]
    result = study(tmp_path, models={"plain": {}, "cons": {}}, texts=texts, seeds=[0])
    ((_, shown),) = alike(result)
    told = [(pair["alike"], pair["sides"][0]["id"]) for pair in shown]
    expected = [("the same hypothesis", "example 4"), ("the same premise", "first"), ("many words in common", "third")]
    assert told == expected
    more = [[f"word {i}", "one and the same"] for i in range(20)]
    many = study(tmp_path / "many", models={"plain": {}, "cons": {}}, texts=more, data=["x", "y"], seeds=[0])
    assert sum(len(shown) for _, shown in alike(many)) == ALIKE


def test_examples_come_back_from_a_cells_file_with_their_gold() -> None:
    spans = ((Span(0, 3, 7), Span(1, 0, 2)),)
    example = Example(("so good", "a b"), "pos", rationales=spans, answers=(Span(0, 0, 2),), truth=True, id="x")
    assert _example(json.loads(json.dumps(kept(example)))) == example


def test_a_page_does_not_drown_in_examples(tmp_path: Path) -> None:
    result = study(tmp_path, data=[f"d{i}" for i in range(15)], seeds=[0])
    groups, left_out = examples(result)
    assert len(groups) == ARTICLES
    assert left_out == 3
    text = study_page(result)
    assert "3 more inputs with explanations are" in Page(text).words
    # Fifteen tables and the models' would bury the rest.
    assert text.count('<details class="fold"') >= 30
