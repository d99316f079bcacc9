from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import saywhy
from saywhy.errors import OptionError
from saywhy.types import Example
from tests import zoo


@pytest.mark.parametrize("kind", zoo.CO_ATTENTION)
def test_networks_with_one_table(kind: str) -> None:
    model = zoo.pair_classifier(kind)
    pair = ("It isn't great", "Dull film")
    network: Any = model.module
    with torch.no_grad():
        sides = network.before(**model.task.collate(model.encode([Example(pair)])).inputs)
    there, back = sides.to_hypothesis[0].numpy(), sides.to_premise[0].numpy()
    # it, is + n't, great: what attends is averaged over the pieces of a word, what is attended to is added up.
    there = np.stack([there[0], there[1:3].mean(0), there[3]])
    back = np.stack([back[0], back[1:3].sum(0), back[3]])
    why: Any = saywhy.explain(model, [pair, zoo.PAIR], "co-attention")[0]
    np.testing.assert_allclose(why.scores, (there + back) / 2, atol=1e-6)
    assert why.prediction.label == model.predict(pair)[0].label


def test_a_transformers_blocks_between_the_texts() -> None:
    model = zoo.pair_classifier("bert")
    network: Any = model.module
    pair = ("film", "It is dull")
    ids = model.tokenizer(*pair, return_tensors="pt")
    network.set_attn_implementation("eager")
    with torch.no_grad():
        layers = network(**ids, output_attentions=True).attentions
    tables = torch.stack([layer[0].mean(0) for layer in layers])
    network.set_attn_implementation("saywhy")
    for option, table in (("mean", tables.mean(0)), ("last", tables[-1])):
        premise, hypothesis = 1, slice(3, -1)
        expected = (table[premise, hypothesis] + table[hypothesis, premise]) / 2
        why: Any = saywhy.explain(model, pair, "co-attention", layers=option)
        assert (len(why.premise), len(why.hypothesis)) == (1, 3)
        np.testing.assert_allclose(why.scores[0], expected, atol=1e-6)


@pytest.mark.parametrize("kind", ["bert", "roberta", "gpt2", "bart"])
def test_other_architectures(kind: str) -> None:
    made: Any = saywhy.explain(zoo.pair_classifier(kind), [zoo.PAIR, ("Dull film", "It sleeps.")], "co-attention")
    alone: Any = saywhy.explain(zoo.pair_classifier(kind), zoo.PAIR, "co-attention")
    np.testing.assert_allclose(made[0].scores, alone.scores, atol=1e-5)
    assert np.max(alone.scores) > 0


def test_mistakes() -> None:
    with pytest.raises(OptionError, match="unknown layers 'first'; use one of last, mean"):
        saywhy.explain(zoo.pair_classifier(), zoo.PAIR, "co-attention", layers="first")
