from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

import saywhy
from saywhy.errors import CapabilityError, OptionError
from saywhy.explainers import methods
from saywhy.explainers.auto import Auto
from saywhy.explainers.base import Explainer, Request
from saywhy.types import Example, Explanation
from tests import zoo

BOX = saywhy.load(lambda texts: [[1 / (2 + len(t)), 1 - 1 / (2 + len(t))] for t in texts], labels=["short", "long"])


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A registry with stand-ins for names that are missing, and without those that are not wanted."""

    def only(*wanted: str) -> None:
        entries = {n: methods[n] for n in ("auto", *wanted) if n in methods}
        monkeypatch.setattr(methods, "_entries", entries)
        for name in wanted:
            if name not in entries:
                stand_in(name)

    return only


@dataclass(frozen=True)
class StandIn(Explainer):
    """Equal shares for all words."""

    name: ClassVar[str] = "kernel-shap"
    family: ClassVar[str] = "stand-in"
    needs: ClassVar[tuple[str, ...]] = ("outputs",)

    samples: int = 0
    unit: str = ""

    def explain(self, request: Request) -> list[Explanation]:
        encoded = request.prepare()
        scores = list(request.model.scores(encoded).numpy())
        return self.word_scores(request, encoded, scores, [np.ones(len(item.words)) for item in encoded])


def stand_in(name: str, needs: tuple[str, ...] = ("outputs",)) -> None:
    methods._entries.pop(name, None)
    methods.register(name, needs=needs, spaces=("words", "alignments"))(StandIn)


def chosen(model: Any, words: int, **options: Any) -> tuple[str, dict[str, Any]]:
    choice = Auto(**options).choose(model, Example((" ".join(["word"] * words),)))
    return choice.method, dict(choice.options)


def test_gradients_lead_to_integrated_gradients() -> None:
    assert chosen(zoo.shared(), 5) == ("integrated-gradients", {"max_points": 64})
    assert chosen(zoo.shared(), 5, budget=20) == ("integrated-gradients", {"max_points": 20})
    assert chosen(zoo.shared(), 5, budget=8) == ("input-x-gradient", {})


@pytest.mark.parametrize(
    ("words", "budget", "method", "options"),
    [
        (3, None, "shapley", {}),
        (9, None, "shapley", {}),
        (10, None, "kernel-shap", {"samples": 510}),
        (12, 4096, "shapley", {}),
        (13, 10**6, "kernel-shap", {"samples": 10**6 - 2}),
        (128, None, "kernel-shap", {"samples": 510}),
        (129, None, "leave-one-out", {}),
        (511, None, "leave-one-out", {}),
        (512, None, "occlusion", {"unit": "sentence"}),
        (3, 7, "leave-one-out", {}),
        (3, 3, "occlusion", {"unit": "sentence"}),
    ],
)
def test_black_boxes_by_length_and_budget(
    words: int, budget: int | None, method: str, options: dict[str, Any], names: Any
) -> None:
    names("shapley", "kernel-shap", "leave-one-out", "occlusion", "integrated-gradients")
    assert chosen(BOX, words, budget=budget) == (method, options)


def test_names_that_are_not_registered_are_passed_over(names: Any) -> None:
    names("leave-one-out")
    for words in (3, 50, 2000):
        assert chosen(BOX, words) == ("leave-one-out", {})
    assert "more than the 512" in Auto().choose(BOX, Example(("word " * 2000,))).reason
    names("leave-one-out", "kernel-shap")
    assert chosen(BOX, 3)[0] == "kernel-shap"


def test_a_question_costs_a_row_for_each_choice(names: Any) -> None:
    names("shapley", "kernel-shap", "leave-one-out", "occlusion")
    box = saywhy.load(lambda given: [[1 / len(c)] * len(c) for _, c in given], labels=[], task="choices")
    example = Example(("what do you do now",), choices=("eat", "sleep"))
    assert Auto(budget=128).choose(box, example).method == "kernel-shap"
    assert Auto(budget=256).choose(box, example).method == "shapley"


def test_models_that_explain_themselves_do(names: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    names("leave-one-out", "integrated-gradients")
    stand_in("rationale", needs=("rationale",))
    assert chosen(zoo.shared(), 5)[0] == "integrated-gradients"
    able = zoo.classifier()
    monkeypatch.setattr(type(able), "capabilities", frozenset({"outputs", "gradients", "embeddings", "rationale"}))
    assert chosen(able, 5)[0] == "rationale"


def test_it_is_the_default_and_says_what_it_did() -> None:
    why: Any = saywhy.explain(zoo.shared(), zoo.TEXTS[0])
    same: Any = saywhy.explain(zoo.shared(), zoo.TEXTS[0], "integrated-gradients")
    assert (why.words, why.scores, why.verdict, why.cost) == (same.words, same.scores, same.verdict, same.cost)
    assert why.method == "integrated-gradients"
    assert why.header.notes[-1] == "auto chose integrated-gradients: the model has gradients and embeddings"
    assert why.header.parameters == {**same.header.parameters, "chosen-by": "auto", "budget": 512}
    box: Any = saywhy.explain(BOX, "a very good film")
    assert box.header.parameters["chosen-by"] == "auto"
    assert box.header.notes[-1].startswith(f"auto chose {box.method}: only outputs can be used, and 4 words allow")


def test_texts_of_one_list_may_get_different_methods(names: Any) -> None:
    names("leave-one-out", "random", "gradient")
    stand_in("kernel-shap")
    texts = ["one two", "one two three four five", "six seven"]
    made: Any = saywhy.explain(BOX, texts, "auto", budget=8, target=[0, 1, None], verdict=True)
    assert [why.method for why in made] == ["kernel-shap", "leave-one-out", "kernel-shap"]
    assert [why.header.texts[0] for why in made] == texts
    assert [why.target for why in made] == ["short", "long", "long"]
    assert [len(why.verdict.random_kept) for why in made] == [1, 4, 1]
    alone: Any = saywhy.explain(BOX, texts[1], "leave-one-out")
    np.testing.assert_allclose(made[1].scores, alone.scores)


def test_alignments() -> None:
    made: Any = saywhy.explain(zoo.pair_classifier(), zoo.PAIR, "auto", space="alignments", budget=9)
    assert (made.kind, made.method) == ("alignments", "integrated-gradients")
    with pytest.raises(CapabilityError, match="the model's task is 'text'"):
        saywhy.explain(zoo.shared(), "Dull film", "auto", space="alignments")


def test_mistakes_are_told() -> None:
    with pytest.raises(OptionError, match="budget must be at least 1 row, not 0"):
        saywhy.explain(BOX, "film", "auto", budget=0)
    with pytest.raises(OptionError, match="method 'auto' has no option 'tolerance'; its options: budget, space"):
        saywhy.explain(zoo.shared(), "film", tolerance=0.1)


def test_it_can_be_measured_like_any_other() -> None:
    table = saywhy.evaluate(BOX, ["a good old film", "not good"], ["auto", "random"], "sufficiency")
    assert table["auto", "sufficiency"].n == 2
