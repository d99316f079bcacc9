from __future__ import annotations

import numpy as np
import pytest
import torch

import saywhy
from saywhy.models import TextModel
from saywhy.models.recurrent import build_recurrent
from saywhy.types import Example, as_example
from tests import zoo

EVERYTHING = {"outputs", "gradients", "embeddings", "attention"}


def recurrent(cell: str, task: str = "text", **options: str) -> TextModel:
    examples = [Example((line,)) for line in zoo.LINES]
    made = build_recurrent(examples, task, zoo.LABELS, 0, cell=cell, embedding_size=12, hidden_size=10, **options)  # type: ignore[arg-type]
    return saywhy.load(made, labels=zoo.LABELS if task != "choices" else None, task=task)


@pytest.mark.parametrize("architecture", zoo.ARCHITECTURES)
def test_everything_is_offered(architecture: str) -> None:
    assert zoo.shared(architecture).capabilities == EVERYTHING


@pytest.mark.parametrize("architecture", ["deberta-v2", "mpnet", "t5"])
def test_everything_but_attention_is_offered(architecture: str) -> None:
    assert zoo.shared(architecture).capabilities == EVERYTHING - {"attention"}


@pytest.mark.parametrize("architecture", [*zoo.ARCHITECTURES, "deberta-v2", "mpnet", "t5"])
def test_probabilities_are_those_of_transformers_on_each_text_alone(architecture: str) -> None:
    network, tokenizer = zoo.network_and_tokenizer(architecture)
    if architecture in ("gpt2", "llama"):
        network.config.pad_token_id = 1
    for text, found in zip(zoo.TEXTS, zoo.shared(architecture).predict(zoo.TEXTS), strict=True):
        given = tokenizer(text, return_tensors="pt")
        if architecture == "distilbert":
            given.pop("token_type_ids")
        with torch.no_grad():
            expected = network(**given).logits[0].softmax(-1)
        np.testing.assert_allclose(found.probabilities, expected, atol=2e-6)


@pytest.mark.parametrize("architecture", ["bert", "roberta", "distilbert", "gpt2", "bart"])
def test_pairs(architecture: str) -> None:
    if architecture in ("gpt2",):
        pytest.skip("its tokenizer knows no pairs")
    model = zoo.pair_classifier(architecture)
    pairs = [zoo.PAIR, ("Dull film", "It isn't great, but the score is lovely!")]
    network, tokenizer = zoo.network_and_tokenizer(architecture)
    for pair, found in zip(pairs, model.predict(pairs), strict=True):
        given = tokenizer(*pair, return_tensors="pt")
        if architecture == "distilbert":
            given.pop("token_type_ids")
        with torch.no_grad():
            np.testing.assert_allclose(found.probabilities, network(**given).logits[0].softmax(-1), atol=2e-6)


@pytest.mark.parametrize("cell", ["gru", "lstm"])
@pytest.mark.parametrize("pooling", ["max", "attention"])
def test_recurrent_networks(cell: str, pooling: str) -> None:
    model = recurrent(cell, pooling=pooling)
    assert model.capabilities == EVERYTHING - {"attention"} | ({"pooling"} if pooling == "attention" else set())
    together = model.predict(zoo.TEXTS)
    for text, found in zip(zoo.TEXTS, together, strict=True):
        np.testing.assert_allclose(model.predict(text)[0].probabilities, found.probabilities, atol=1e-6)
    assert together[0].probabilities != together[1].probabilities


def test_recurrent_choices() -> None:
    model = recurrent("gru", "choices")
    examples = [as_example(q) for q in zoo.QUESTIONS]
    for example, found in zip(examples, model.predict(examples), strict=True):
        assert found.labels == example.choices
        np.testing.assert_allclose(model.predict(example)[0].probabilities, found.probabilities, atol=1e-6)
