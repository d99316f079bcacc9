from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import saywhy
from saywhy.errors import OptionError
from tests import zoo


def gradient_and_input(text: str, target: int, against: int | None = None) -> tuple[torch.Tensor, torch.Tensor]:
    network, tokenizer = zoo.network_and_tokenizer("bert")
    given = tokenizer(text, return_tensors="pt")
    vectors = network.get_input_embeddings()(given.pop("input_ids")).detach().requires_grad_()
    logits = network(inputs_embeds=vectors, **given).logits[0]
    value = logits[target] - (logits[against] if against is not None else 0)
    (grad,) = torch.autograd.grad(value, vectors)
    return grad[0], vectors.detach()[0]


REDUCE = {
    "l2": lambda x: x.norm(dim=-1),
    "sum": lambda x: x.sum(-1),
    "mean": lambda x: x.mean(-1).abs(),
}


def words_of(text: str, pieces: torch.Tensor) -> np.ndarray:
    return zoo.shared().encode([saywhy.Example((text,))])[0].rows[0].pieces.word_scores(pieces.numpy())


@pytest.mark.parametrize("aggregation", sorted(REDUCE))
def test_the_gradient_of_the_embeddings(aggregation: str) -> None:
    made: Any = saywhy.explain(zoo.shared(), zoo.TEXTS, "gradient", target=1, aggregation=aggregation)
    for text, why in zip(zoo.TEXTS, made, strict=True):
        expected = words_of(text, REDUCE[aggregation](gradient_and_input(text, 1)[0]))
        np.testing.assert_allclose(why.scores, expected, atol=2e-5, rtol=1e-4)


def test_a_contrast_is_the_gradient_of_the_difference() -> None:
    why: Any = saywhy.explain(zoo.shared(), zoo.TEXTS[0], "gradient", target=1, against="positive")
    expected = words_of(zoo.TEXTS[0], gradient_and_input(zoo.TEXTS[0], 1, 2)[0].norm(dim=-1))
    np.testing.assert_allclose(why.scores, expected, atol=2e-5, rtol=1e-4)
    assert (why.target, why.header.against) == ("neutral", "positive")


def test_the_default_is_the_norm() -> None:
    why: Any = saywhy.explain(zoo.shared(), zoo.TEXTS[0], "gradient")
    assert why.header.parameters == {"aggregation": "l2"}
    assert why.header.output == "logit"
    assert min(why.scores) > 0


def test_one_gradient_a_text() -> None:
    why: Any = saywhy.explain(zoo.shared(), zoo.TEXTS[0], "gradient")
    assert why.cost == {"gradients": 1}


def test_unknown_options() -> None:
    with pytest.raises(OptionError, match="unknown aggregation 'max'; use one of sum, l2, mean"):
        saywhy.explain(zoo.shared(), "film", "gradient", aggregation="max")
    with pytest.raises(OptionError, match="unknown output 'loss'; use one of logit, probability"):
        saywhy.explain(zoo.shared(), "film", "gradient", output="loss")
