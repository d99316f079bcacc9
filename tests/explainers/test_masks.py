"""Gradient methods on masks: of words, and of alignments."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch
import transformers as tf

import saywhy
from saywhy.errors import CapabilityError, OptionError
from saywhy.models.alignment_space import AlignmentSpace
from saywhy.models.word_space import WordSpace
from saywhy.types import Alignments, WordScores, as_example, explanation_from_dict
from tests import zoo

METHODS = ["gradient", "input-x-gradient", "integrated-gradients", "leave-one-out", "random"]
PAIRS = [zoo.PAIR, ("Dull film", "It isn't great.")]


@pytest.mark.parametrize("architecture", ["bert", "roberta", "gpt2", "llama", "bart", "modernbert"])
@pytest.mark.parametrize("method", METHODS)
def test_alignments_by_every_method(architecture: str, method: str) -> None:
    model = zoo.pair_classifier(architecture)
    together = saywhy.explain(model, PAIRS, method, space="alignments")
    for pair, why in zip(PAIRS, together, strict=True):
        assert isinstance(why, Alignments)
        alone = saywhy.explain(model, pair, method, space="alignments", batch_size=3)
        assert isinstance(alone, Alignments)
        assert why.header.space == "alignments"
        assert why.header.erasure == (None if method == "random" else "co-attention")
        assert np.asarray(why.scores).shape == (len(why.premise), len(why.hypothesis))
        np.testing.assert_allclose(why.scores, alone.scores, atol=2e-5)
        assert explanation_from_dict(why.to_dict()) == why
    best, score = together[0].top(1)[0]
    assert score == np.asarray(together[0].scores).max()
    assert (best[0].field, best[1].field) == (0, 1)


@pytest.mark.parametrize("erasure", ["attention-mask", "zero-embedding"])
def test_word_masks_equal_the_gradient_of_the_space(erasure: str) -> None:
    model, text = zoo.shared(), zoo.TEXTS[0]
    space = WordSpace(model, [as_example(text)], erasure=erasure)
    ones = np.ones((1, len(space.features[0])))
    _, _, expected = space.value_and_grad(np.zeros(1, dtype=int), ones, lambda s, _: s[:, 1] - s[:, 0])
    signed = saywhy.explain(model, text, "gradient", erasure=erasure, aggregation="sum", target=1, against=0)
    assert isinstance(signed, WordScores)
    assert signed.header.erasure == erasure
    np.testing.assert_allclose(signed.scores, expected[0], atol=1e-6)
    plain = saywhy.explain(model, text, "gradient", erasure=erasure, target=1, against=0)
    assert isinstance(plain, WordScores)
    np.testing.assert_allclose(plain.scores, np.abs(expected[0]), atol=1e-6)


@pytest.mark.parametrize("erasure", [None, "attention-mask", "zero-embedding"])
def test_integrated_gradients_of_masks_sum_to_the_gain(erasure: str | None) -> None:
    model, pair = zoo.pair_classifier(), zoo.PAIR
    kind = AlignmentSpace if erasure is None else WordSpace
    space = kind(model, [as_example(pair)], erasure=erasure)
    width = len(space.features[0])
    table = space.outputs(np.zeros(2, dtype=int), np.stack([np.ones(width), np.zeros(width)]))
    gain = float(table[0, 1] - table[1, 1])
    options = {"space": "alignments"} if erasure is None else {"erasure": erasure}
    why = saywhy.explain(model, pair, "integrated-gradients", target=1, tolerance=1e-3, max_points=512, **options)
    assert isinstance(why, WordScores | Alignments)
    assert why.error is not None
    assert why.error <= 1e-3
    assert np.sum(why.scores) == pytest.approx(gain, abs=2e-3 * abs(gain) + 1e-6)


def test_a_linear_mask_has_the_same_score_by_every_method() -> None:
    # A network that adds up its embeddings is linear in a mask on them, so every method must agree with leaving out.
    class SumForSequenceClassification(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.config = tf.BertConfig(num_labels=3, max_position_embeddings=64)
            self.embeddings = torch.nn.Embedding(400, 8)
            self.out = torch.nn.Linear(8, 3)

        def get_input_embeddings(self) -> torch.nn.Module:
            return self.embeddings

        def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor, **_: object) -> SimpleNamespace:
            return SimpleNamespace(logits=self.out((self.embeddings(input_ids) * attention_mask.unsqueeze(-1)).sum(1)))

    torch.manual_seed(0)
    model = saywhy.load((SumForSequenceClassification(), zoo.word_pieces()), labels=zoo.LABELS)
    options = {"erasure": "zero-embedding", "output": "logit", "target": 0}
    scores = [
        saywhy.explain(model, zoo.TEXTS[2], method, **options, **extra).scores  # type: ignore[union-attr]
        for method, extra in (
            ("leave-one-out", {}),
            ("gradient", {"aggregation": "sum"}),
            ("input-x-gradient", {}),
            ("integrated-gradients", {}),
        )
    ]
    for other in scores[1:]:
        np.testing.assert_allclose(other, scores[0], atol=1e-4)
    # On the path of embeddings a single point is exact for it.
    path = saywhy.explain(model, zoo.TEXTS[2], "integrated-gradients", points=1, output="logit", target=0)
    np.testing.assert_allclose(path.scores, scores[0], atol=1e-4)  # type: ignore[union-attr]
    assert path.error == pytest.approx(0, abs=1e-5)  # type: ignore[union-attr]


def test_mistakes() -> None:
    with pytest.raises(OptionError, match="attention-mask"):
        saywhy.explain(zoo.shared(), "A film", "gradient", erasure="delete")
    with pytest.raises(CapabilityError, match="alignments are between two texts"):
        saywhy.explain(zoo.shared(), "A film", "leave-one-out", space="alignments")
    with pytest.raises(OptionError, match="is for words"):
        saywhy.explain(zoo.pair_classifier(), zoo.PAIR, "leave-one-out", space="alignments", erasure="pad")
