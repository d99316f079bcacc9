from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import saywhy
from saywhy.explainers import methods
from saywhy.models.rationales import read_rationales
from saywhy.types import Example, Rationale, as_example, explanation_from_dict
from tests import zoo
from tests.models.test_rationalizer import shared


@pytest.mark.parametrize("encoder", ["gru", "text-transformer"])
def test_it_is_what_the_model_selected(encoder: str) -> None:
    model = shared(encoder)
    made: Any = saywhy.explain(model, zoo.TEXTS, method="rationale")
    readings = read_rationales(model, model.encode([as_example(t) for t in zoo.TEXTS]))
    for text, why, reading in zip(zoo.TEXTS, made, readings, strict=True):
        assert isinstance(why, Rationale)
        assert why.words == model.words(text)
        assert why.selected == tuple(reading.selected.tolist())
        # Untrained, its threshold is where both choices are equally likely.
        assert np.array_equal(np.asarray(why.scores) > 0.5, np.asarray(why.selected))
        np.testing.assert_allclose(why.header.probabilities, model.predict(text)[0].probabilities, atol=1e-6)
        assert explanation_from_dict(why.to_dict()) == why
        alone: Any = saywhy.explain(model, text, method="rationale", batch_size=1)
        assert alone.selected == why.selected
        assert alone.verdict is not None
        np.testing.assert_allclose(alone.scores, why.scores, atol=1e-5)


def test_auto_asks_the_model_itself() -> None:
    why: Any = saywhy.explain(shared(), zoo.TEXTS[0])
    assert why.method == "rationale"
    assert "explains itself" in why.header.notes[-1]


@pytest.mark.parametrize(
    "method", ["random", "gradient", "input-x-gradient", "integrated-gradients", "leave-one-out", "lime"]
)
def test_other_methods_explain_a_rationalizer_too(method: str) -> None:
    options = {"lime": {"samples": 40, "tolerance": None}, "integrated-gradients": {"points": 5}}.get(method, {})
    why: Any = saywhy.explain(shared(), zoo.TEXTS[0], method=method, verdict=False, **options)
    assert np.isfinite(why.scores).all()


def test_every_metric_of_rationales_applies() -> None:
    gold = ((saywhy.types.Span(0, 2, 10),),)
    examples = [Example((text,), label="yes", rationales=gold) for text in zoo.TEXTS if len(text) > 10]
    wanted = [
        "accuracy",
        "token-f1",
        "iou-f1",
        "auprc",
        "compactness",
        "contiguity",
        "sufficiency",
        "comprehensiveness",
    ]
    table = saywhy.evaluate(shared(), examples, ["rationale"], wanted)
    assert {result.name for result in table.results} == set(wanted)
    assert all(np.isfinite(result.value) for result in table.results)


def test_registry() -> None:
    assert methods["rationale"].needs == ("rationale",)
    assert methods["rationale"].value.name == "rationale"
