from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import saywhy
from saywhy.errors import CapabilityError, OptionError
from saywhy.models.alignment_space import AlignmentSpace
from saywhy.models.attention_door import AttentionCall, AttentionTap, tap_attention
from saywhy.types import Example, as_example
from tests import zoo

PAIRS = [as_example(zoo.PAIR), as_example(("Dull film", "It isn't great.")), as_example(("Film", "Car"))]
TAPPED = ["bert", "roberta", "electra", "albert", "distilbert", "modernbert", "gpt2", "llama", "bart"]
TAPPED += zoo.CO_ATTENTION


def first(scores: Tensor, owner: np.ndarray) -> Tensor:
    return scores[:, 0]


def some_masks(space: AlignmentSpace, count: int) -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(0)
    width = max(len(features) for features in space.features)
    return draw.integers(0, len(PAIRS), count), draw.integers(0, 2, (count, width)).astype(float)


@pytest.mark.parametrize("architecture", TAPPED)
def test_all_alignments_kept_is_the_model_itself(architecture: str) -> None:
    model = zoo.pair_classifier(architecture)
    space = AlignmentSpace(model, PAIRS)
    owner, keep = some_masks(space, 6)
    whole = model.scores(model.encode(PAIRS))
    torch.testing.assert_close(space.outputs(np.arange(3), np.ones_like(keep[:3])), whole, atol=1e-5, rtol=1e-5)
    scores, _, gradient = space.value_and_grad(np.arange(3), np.ones_like(keep[:3]), first)
    torch.testing.assert_close(scores, whole, atol=2e-5, rtol=2e-5)
    assert np.abs(gradient).max() > 0
    assert not torch.allclose(space.outputs(owner, keep), whole[owner], atol=1e-4)


@pytest.mark.parametrize("architecture", TAPPED)
def test_batches_of_different_sizes_change_nothing(architecture: str) -> None:
    model = zoo.pair_classifier(architecture)
    tables, gradients = [], []
    for size in (1, 4, 32):
        space = AlignmentSpace(model, PAIRS, batch_size=size)
        owner, keep = some_masks(space, 10)
        tables.append(space.outputs(owner, keep))
        gradients.append(space.value_and_grad(owner, keep, first)[2])
    for table, gradient in zip(tables, gradients, strict=True):
        torch.testing.assert_close(table, tables[0], atol=1e-5, rtol=1e-5)
        np.testing.assert_allclose(gradient, gradients[0], atol=1e-5)


@pytest.mark.parametrize("architecture", ["bert", "roberta", "gpt2", "bart", *zoo.CO_ATTENTION])
def test_gradients_equal_finite_differences(architecture: str) -> None:
    space = AlignmentSpace(zoo.pair_classifier(architecture), PAIRS[1:2])
    cells = len(space.features[0])
    keep = np.random.default_rng(1).uniform(0.3, 0.9, (1, cells))
    owner = np.zeros(1, dtype=int)
    _, _, gradient = space.value_and_grad(owner, keep, first)
    step = 1e-3  # small, because ReLUs bend
    for cell in range(cells):
        up, down = keep.copy(), keep.copy()
        up[0, cell] += step
        down[0, cell] -= step
        slope = (space.outputs(owner, up) - space.outputs(owner, down))[0, 0] / (2 * step)
        assert gradient[0, cell] == pytest.approx(float(slope), abs=2e-3, rel=2e-2)


def test_only_the_blocks_between_the_texts_are_masked_and_the_second_is_the_first_transposed() -> None:
    model = zoo.pair_classifier("bert")
    encoded = model.encode([PAIRS[1]])[0]
    row = encoded.rows[0]
    space = AlignmentSpace(model, [PAIRS[1]], encoded=[encoded])
    premise, hypothesis = space.shape(0)
    mask = np.zeros((premise, hypothesis))
    mask[0, 2] = 1.0
    plain: list[Tensor] = []
    edited: list[Tensor] = []
    dropout = torch.nn.functional.dropout

    def note(call: AttentionCall) -> Tensor:
        assert call.probabilities is not None
        plain.append(call.probabilities)
        return call.probabilities

    def after(table: Tensor, *options: Any, **named: Any) -> Tensor:
        edited.append(table)
        return dropout(table, *options, **named)

    tap = AttentionTap(layers=frozenset({0}), edit=note)
    with model.evaluation() as network, torch.no_grad(), tap_attention(network, tap):
        model.task.raw(network, model.task.collate([encoded]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("torch.nn.functional.dropout", after)
        space.outputs(np.zeros(1, dtype=int), mask.reshape(1, -1))
    table = next(t for t in edited if t.shape == plain[0].shape)[0]
    words = {int(p): int(w) for p, w in zip(row.pieces.piece, row.pieces.word, strict=True)}
    for query in range(len(row)):
        for key in range(len(row)):
            a, b = words.get(query), words.get(key)
            factor = 1.0
            if a is not None and b is not None and (a < premise) != (b < premise):
                factor = mask[min(a, b), max(a, b) - premise]
            torch.testing.assert_close(table[:, query, key], plain[0][0][:, query, key] * factor, atol=1e-6, rtol=1e-5)


def test_a_word_of_several_pieces_is_one_cell() -> None:
    model = zoo.pair_classifier("bert")
    space = AlignmentSpace(model, [as_example(("gripping", "beautifully shot"))])
    assert space.shape(0) == (1, 2)
    assert [(str(a), str(b)) for a, b in space.features[0]] == [("gripping", "beautifully"), ("gripping", "shot")]
    assert len(space.encoded[0].rows[0]) > 1 + 2 + 3


def test_what_has_no_alignments() -> None:
    with pytest.raises(CapabilityError, match="alignments are between two texts, and the model's task is 'text'"):
        AlignmentSpace(zoo.shared(), [Example(("A film",))])
    with pytest.raises(OptionError, match="erased from co-attention; erasure='delete' is for words"):
        AlignmentSpace(zoo.pair_classifier(), PAIRS, erasure="delete")
    box = saywhy.load(lambda pairs: [[0.5, 0.5]] * len(pairs), labels=["a", "b"], task="pair")
    with pytest.raises(CapabilityError, match="alignments need the model's attention"):
        AlignmentSpace(box, PAIRS)
