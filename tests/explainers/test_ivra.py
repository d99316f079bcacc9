from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import pytest
import torch

import saywhy
from saywhy.errors import CapabilityError, SayWhyWarning
from saywhy.models import TextModel
from saywhy.models.attention_module import attach
from saywhy.models.interpretable_attention import InterpretableAttention
from saywhy.models.smat_attention import SmatAttention
from tests import zoo
from tests.explainers.test_contract import agree, check

METHODS = ["ivra", "smat"]
MAKERS = {"text": zoo.classifier, "pair": zoo.pair_classifier, "choices": zoo.chooser, "span-qa": zoo.reader}
INPUTS: dict[str, list[Any]] = {
    "text": zoo.TEXTS,
    "pair": [zoo.PAIR, ("Dull film", "It sleeps.")],
    "choices": zoo.QUESTIONS,
    "span-qa": zoo.CONTEXTS,
}


@lru_cache
def fitted(task: str = "text", architecture: str = "bert") -> TextModel:
    model = MAKERS[task](architecture)  # type: ignore[operator]
    torch.manual_seed(0)
    for module in (InterpretableAttention.of(model, norm="sparsemax"), SmatAttention.of(model)):
        with torch.no_grad():
            for parameter in module.parameters():
                parameter.add_(0.3 * torch.randn_like(parameter))
        attach(model.module, module)
    return model


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("architecture", zoo.ARCHITECTURES)
def test_texts_on_every_architecture(method: str, architecture: str) -> None:
    for why in check(fitted("text", architecture), zoo.TEXTS, method):
        assert sum(why.scores) == pytest.approx(1, abs=1e-4)
        assert min(why.scores) >= 0
        assert why.cost == {"forwards": 1}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("task", "architecture"), [("pair", "roberta"), ("choices", "bert"), ("span-qa", "bert"), ("span-qa", "electra")]
)
def test_every_task(method: str, task: str, architecture: str) -> None:
    made = check(fitted(task, architecture), INPUTS[task], method)
    for why in made:
        assert sum(why.scores) == pytest.approx(1, abs=1e-4)
    if task == "choices":  # of the choices only the target's row counts
        chosen = made[0].header.choices.index(made[0].target) + 1
        assert {w.field for w, s in zip(made[0].words, made[0].scores, strict=True) if s > 0} <= {0, chosen}


@pytest.mark.parametrize("method", METHODS)
def test_windows(method: str) -> None:
    model, long = fitted(), " ".join(zoo.TEXTS * 3)
    with pytest.warns(SayWhyWarning, match="windows"):
        whole: Any = saywhy.explain(model, long, method, truncation="window", verdict=False)
    with pytest.warns(SayWhyWarning, match="windows"):
        few: Any = saywhy.explain(model, long, method, truncation="window", batch_size=1, verdict=False)
    agree(whole, few)
    assert np.abs(whole.scores[-3:]).max() > 0


@pytest.mark.parametrize("method", METHODS)
def test_a_model_that_was_not_trained_to_explain(method: str) -> None:
    with pytest.raises(CapabilityError, match=f"saywhy train {method}"):
        saywhy.explain(zoo.shared(), zoo.TEXTS, method)
    with pytest.raises(CapabilityError, match="needs attention"):
        saywhy.explain(zoo.shared("mpnet"), zoo.TEXTS, method)
    with pytest.raises(CapabilityError, match=f"saywhy train {method}"):
        saywhy.evaluate(zoo.shared(), zoo.TEXTS, [method], "sufficiency")


def test_the_explanation_moves_with_the_coefficients() -> None:
    model = fitted()
    before: Any = saywhy.explain(model, zoo.TEXTS[0], "ivra")
    module = model.module.interpretable_attention
    held = module.head.detach().clone()
    with torch.no_grad():
        module.head.neg_()
    after: Any = saywhy.explain(model, zoo.TEXTS[0], "ivra")
    with torch.no_grad():
        module.head.copy_(held)
    assert np.abs(np.subtract(before.scores, after.scores)).max() > 0.03
    assert before.header.model != after.header.model


def test_auto_takes_the_models_own_explanation() -> None:
    why: Any = saywhy.explain(fitted(), zoo.TEXTS[0], budget=9)
    assert why.method == "ivra"
    why = saywhy.explain(zoo.shared(), zoo.TEXTS[0], budget=9)
    assert why.method == "integrated-gradients"
