"""Explanations under circumstances that people meet: serving code, odd networks, odd options."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import transformers as tf

import saywhy
from saywhy.errors import LoadError, OptionError
from saywhy.models.word_space import WordSpace
from saywhy.types import Example
from tests import zoo


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
@pytest.mark.parametrize("method", ["gradient", "integrated-gradients", "scaled-attention"])
def test_gradients_are_taken_where_the_caller_switched_them_off(mode: Any, method: str) -> None:
    model = zoo.shared("bert")
    expected: Any = saywhy.explain(model, zoo.TEXTS[0], method)
    with mode():
        found: Any = saywhy.explain(model, zoo.TEXTS[0], method)
    np.testing.assert_allclose(found.scores, expected.scores, rtol=1e-5)


def mean_pooling() -> Any:
    network, tokenizer = zoo.network_and_tokenizer("modernbert", classifier_pooling="mean")
    return saywhy.load((network, tokenizer), labels=zoo.LABELS)


def counts_positions_by_the_mask() -> Any:
    torch.manual_seed(0)
    tokenizer = zoo.byte_pieces(True)
    config = tf.OPTConfig(
        vocab_size=len(tokenizer), hidden_size=32, num_hidden_layers=2, num_attention_heads=4, ffn_dim=48,
        max_position_embeddings=64, word_embed_proj_dim=32, pad_token_id=1, num_labels=3, init_std=0.25,
    )  # fmt: skip
    network = tf.OPTForSequenceClassification(config).eval()
    return saywhy.load((network, tokenizer), labels=zoo.LABELS)


@pytest.mark.parametrize("make", [zoo.classifier, mean_pooling, counts_positions_by_the_mask])
@pytest.mark.parametrize("erasure", ["attention-mask", "zero-embedding"])
def test_all_or_nothing_is_the_limit_of_degrees(make: Any, erasure: str) -> None:
    space = WordSpace(make(), [Example((zoo.TEXTS[2],))], erasure=erasure)
    keep = np.ones((1, len(space.features[0])))
    keep[0, 2:5] = 0.0
    whole = space.outputs(np.array([0]), keep)
    scores, _, _ = space.value_and_grad(np.array([0]), keep, lambda s, o: s[:, 0])
    np.testing.assert_allclose(whole, scores, atol=1e-4)


def test_a_network_that_reads_its_padding_is_refused() -> None:
    torch.manual_seed(0)
    tokenizer = zoo.word_pieces()
    config = tf.XLNetConfig(vocab_size=len(tokenizer), d_model=32, n_layer=1, n_head=4, d_inner=48, num_labels=3)
    with pytest.raises(LoadError, match="reads the padding"):
        saywhy.load((tf.XLNetForSequenceClassification(config).eval(), tokenizer), labels=zoo.LABELS)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"tolerance": "1e-3"}, "must be float"),
        ({"points": 2.5}, "must be int or none"),
        ({"baseline": 1}, "must be str"),
        ({"max_points": 3}, "at least 9"),
    ],
)
def test_wrong_types_of_options_are_told(options: dict[str, Any], said: str) -> None:
    with pytest.raises(OptionError, match=said):
        saywhy.explain(zoo.shared("bert"), "Dull film", "integrated-gradients", **options)


def test_norms_of_many_texts_are_those_of_each() -> None:
    model = zoo.shared("bert")
    options: dict[str, Any] = {"aggregation": "l2", "points": 8}
    many: Any = saywhy.explain(model, zoo.TEXTS, "integrated-gradients", batch_size=2, **options)
    for text, why in zip(zoo.TEXTS, many, strict=True):
        one: Any = saywhy.explain(model, text, "integrated-gradients", **options)
        np.testing.assert_allclose(why.scores, one.scores, rtol=1e-4, atol=1e-6)


def test_labels_may_be_an_array_of_numbers() -> None:
    model = saywhy.load(lambda texts: [[0.2, 0.8]] * len(texts), labels=np.array([0, 1]))
    assert model.labels == ("0", "1")
    assert model.predict("x")[0].label == "1"


def test_a_mark_between_words_leaves_a_gap_in_what_a_black_box_reads() -> None:
    seen: list[str] = []

    def predict(texts: list[str]) -> list[list[float]]:
        seen.extend(texts)
        return [[0.5, 0.5]] * len(texts)

    saywhy.explain(saywhy.load(predict, labels=["a", "b"]), "and/or 好看 wow!", "leave-one-out")
    assert "and or 好看 wow!" in seen
    assert "and/or 看 wow!" in seen
    assert not any("andor" in text for text in seen)


@pytest.mark.parametrize("model", ["network", "black box"])
def test_bad_batch_sizes_and_truncations_are_told(model: str) -> None:
    loaded = (
        zoo.shared("bert") if model == "network" else saywhy.load(lambda ts: [[1.0, 0.0]] * len(ts), labels=["a", "b"])
    )
    with pytest.raises(OptionError, match="batch_size"):
        loaded.predict("x", batch_size=0)
    with pytest.raises(OptionError, match="truncation"):
        loaded.predict("x", truncation="bogus")


def test_a_cut_on_the_left_is_called_one() -> None:
    tokenizer = zoo.word_pieces()
    tokenizer.truncation_side = "left"
    try:
        model = saywhy.load((zoo.network_and_tokenizer("bert")[0], tokenizer), labels=zoo.LABELS)
        with pytest.warns(saywhy.errors.SayWhyWarning, match="cut to the last 64"):
            model.predict("film " * 100, truncation="head")
    finally:
        tokenizer.truncation_side = "right"
