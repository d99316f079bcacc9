from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import saywhy
from saywhy.errors import OptionError
from tests import zoo


def reference(text: str, target: int, layers: str, heads: str, probability: bool = False) -> np.ndarray:
    """By eager attention and a retained gradient, one text at a time."""
    network, tokenizer = zoo.network_and_tokenizer("bert")
    network.set_attn_implementation("eager")
    out = network(**tokenizer(text, return_tensors="pt"), output_attentions=True)
    value = out.logits.softmax(-1)[0, target] if probability else out.logits[0, target]
    grads = torch.autograd.grad(value, out.attentions)
    tables = []
    for attention, grad in zip(out.attentions, grads, strict=True):
        a, g = attention[0].detach(), grad[0]
        tables.append(a.mean(0) * g.mean(0) if heads == "means" else (a * g).mean(0))
    table = tables[-1] if layers == "last" else torch.stack(tables).mean(0)
    row = zoo.shared().encode([saywhy.Example((text,))])[0].rows[0]
    return row.pieces.word_scores(table[0].numpy())


@pytest.mark.parametrize("layers", ["last", "mean"])
@pytest.mark.parametrize("heads", ["means", "products"])
def test_attention_times_its_gradient(layers: str, heads: str) -> None:
    made: Any = saywhy.explain(zoo.shared(), zoo.TEXTS, "scaled-attention", target=1, layers=layers, heads=heads)
    for text, why in zip(zoo.TEXTS, made, strict=True):
        np.testing.assert_allclose(why.scores, reference(text, 1, layers, heads), atol=1e-5)
        assert np.abs(why.scores).max() > 1e-4


def test_of_the_probability() -> None:
    why: Any = saywhy.explain(zoo.shared(), zoo.TEXTS[0], "scaled-attention", target=2, output="probability")
    np.testing.assert_allclose(why.scores, reference(zoo.TEXTS[0], 2, "last", "means", probability=True), atol=1e-5)
    assert why.header.output == "probability"


def test_unknown_options() -> None:
    with pytest.raises(OptionError, match="unknown heads 'max'; use one of means, products"):
        saywhy.explain(zoo.shared(), "film", "scaled-attention", heads="max")
    with pytest.raises(OptionError, match="unknown output 'loss'"):
        saywhy.explain(zoo.shared(), "film", "scaled-attention", output="loss")
