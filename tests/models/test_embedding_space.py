from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

import saywhy
from saywhy.errors import CapabilityError, OptionError, SayWhyWarning
from saywhy.models.embedding_space import EmbeddingSpace
from saywhy.types import Example
from tests import zoo

EXAMPLES = [Example((text,)) for text in zoo.TEXTS]


def first(scores: Tensor, owner: np.ndarray) -> Tensor:
    return scores[:, 0]


def way(grad: Tensor, difference: Tensor) -> Tensor:
    return (grad * difference).sum(-1, keepdim=True)


@pytest.mark.parametrize("architecture", ["bert", "roberta", "gpt2", "bart", "t5"])
@pytest.mark.parametrize("batch_size", [1, 32])
def test_the_slope_along_the_path_equals_finite_differences(architecture: str, batch_size: int) -> None:
    model = zoo.shared(architecture)
    space = EmbeddingSpace(model, model.prepare(EXAMPLES), batch_size=batch_size)
    owner = np.asarray([2, 0, 1])
    at, step = np.asarray([0.8, 0.9, 0.7]), 1e-2
    found = [p.rows[0].sum() for p in space.gradients(owner, at, first, way)]
    ends = [[p.value for p in space.gradients(owner, at + s, first, way)] for s in (step, -step)]
    np.testing.assert_allclose(found, (np.asarray(ends[0]) - ends[1]) / (2 * step), atol=2e-2, rtol=5e-2)


def test_the_end_of_the_path_is_the_input() -> None:
    model = zoo.shared()
    encoded = model.prepare(EXAMPLES)
    points = EmbeddingSpace(model, encoded).gradients(np.arange(3), np.ones(3), first, way)
    np.testing.assert_allclose([p.scores for p in points], model.scores(encoded).numpy(), atol=1e-5)
    assert [p.value for p in points] == [pytest.approx(p.scores[0]) for p in points]
    assert [len(p.rows[0]) for p in points] == [len(item.rows[0]) for item in encoded]


@pytest.mark.parametrize("baseline", ["zero", "pad", "mask"])
def test_the_beginning_is_the_baseline_with_special_tokens_in_place(baseline: str) -> None:
    model = zoo.shared()
    encoded = model.prepare(EXAMPLES[:1])
    row = encoded[0].rows[0]
    (point,) = EmbeddingSpace(model, encoded, baseline=baseline).gradients(
        np.zeros(1, dtype=int), np.zeros(1), first, way
    )
    ids = torch.from_numpy(row.ids)[None]
    with torch.no_grad():
        table = model.module.get_input_embeddings()  # type: ignore[operator]
        vectors = table(ids)
        number = {"zero": None, "pad": model.tokenizer.pad_token_id, "mask": model.tokenizer.mask_token_id}[baseline]
        owned = torch.from_numpy(row.pieces.owned())
        vectors[0, owned] = 0.0 if number is None else table.weight[number]
        expected = model.module(inputs_embeds=vectors, attention_mask=torch.ones_like(ids)).logits[0]
    np.testing.assert_allclose(point.scores, expected, atol=1e-5)
    # Special tokens do not move, so nothing of the way is theirs.
    assert np.abs(point.rows[0][~row.pieces.owned()]).max() == 0


def test_windows_in_two_passes_equal_one() -> None:
    model = zoo.shared()
    with pytest.warns(SayWhyWarning):
        encoded = model.prepare([Example((" ".join(zoo.TEXTS * 4),)), EXAMPLES[0]], "window")

    def square(scores: Tensor, owner: np.ndarray) -> Tensor:
        return scores[:, 0] ** 2 * torch.from_numpy(1.0 + owner)

    owner, at = np.asarray([1, 0, 0]), np.asarray([1.0, 1.0, 0.5])
    one, two = (EmbeddingSpace(model, encoded, batch_size=b).gradients(owner, at, square, way) for b in (32, 2))
    for a, b in zip(one, two, strict=True):
        np.testing.assert_allclose(a.scores, b.scores, atol=1e-5)
        assert a.value == pytest.approx(b.value, abs=1e-5)
        assert len(a.rows) == len(b.rows)
        for x, y in zip(a.rows, b.rows, strict=True):
            np.testing.assert_allclose(x, y, atol=1e-5, rtol=1e-4)


def test_mistakes() -> None:
    model = zoo.shared()
    with pytest.raises(OptionError, match="unknown baseline 'noise'"):
        EmbeddingSpace(model, [], baseline="noise")
    with pytest.raises(OptionError, match="batch_size"):
        EmbeddingSpace(model, [], batch_size=0)
    with pytest.raises(CapabilityError, match="no pad token; use baseline='zero'"):
        EmbeddingSpace(zoo.shared("gpt2"), [], baseline="pad")
    assert EmbeddingSpace(model, []).gradients(np.zeros(0, dtype=int), np.zeros(0), first, way) == []


def test_half_precision() -> None:
    network, tokenizer = zoo.network_and_tokenizer("bert")
    model = saywhy.load((network.to(torch.bfloat16), tokenizer))
    (point,) = EmbeddingSpace(model, model.prepare(EXAMPLES[:1])).gradients(
        np.zeros(1, dtype=int), np.ones(1), first, way
    )
    assert np.isfinite(point.rows[0]).all()
