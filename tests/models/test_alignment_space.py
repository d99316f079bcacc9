from __future__ import annotations

from typing import Any, cast

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
    # Where nothing at all is masked no mask is made; beside an input that is masked there is one.
    beside = np.concatenate([np.ones_like(keep[:3]), np.zeros_like(keep[:1])])
    masked = space.outputs(np.asarray([0, 1, 2, 1]), beside)
    torch.testing.assert_close(masked[:3], whole, atol=1e-5, rtol=1e-5)
    assert not torch.allclose(masked[3], whole[1], atol=1e-4)
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


def factors(space: AlignmentSpace, mask: np.ndarray) -> Tensor:
    """What each attention of the first input's only row is multiplied by, L x L, position by position."""
    row = space.encoded[0].rows[0]
    words = {int(p): int(w) for p, w in zip(row.pieces.piece, row.pieces.word, strict=True)}
    premise = len(mask)
    found = torch.ones(len(row), len(row))
    for query in range(len(row)):
        for key in range(len(row)):
            a, b = words.get(query), words.get(key)
            if a is not None and b is not None and (a < premise) != (b < premise):
                found[query, key] = float(mask[min(a, b), max(a, b) - premise])
    return found


def test_every_layer_masks_the_blocks_between_the_texts_only_and_the_second_is_the_first_transposed() -> None:
    model = zoo.pair_classifier("bert")
    encoded = model.encode([PAIRS[1]])
    space = AlignmentSpace(model, PAIRS[1:2], encoded=encoded)
    mask = np.zeros(space.shape(0))
    mask[0, 2], mask[1, 0] = 1.0, 0.5
    factor = factors(space, mask)
    assert not torch.equal(factor, factor.new_ones(factor.shape))
    plain: list[Tensor] = []
    before: list[Tensor] = []
    used: list[Tensor] = []
    dropout = torch.nn.functional.dropout

    def note(call: AttentionCall) -> Tensor:
        assert call.probabilities is not None
        plain.append(call.probabilities)
        return call.probabilities

    def by_hand(call: AttentionCall) -> Tensor:
        assert call.probabilities is not None
        before.append(call.probabilities)
        return call.probabilities * factor

    def after(table: Tensor, *options: Any, **named: Any) -> Tensor:
        used.append(table)
        return dropout(table, *options, **named)

    with model.evaluation() as network, torch.no_grad():
        for edit in (note, by_hand):
            with tap_attention(network, AttentionTap(edit=edit)):
                model.task.raw(network, model.task.collate(encoded))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("torch.nn.functional.dropout", after)
        space.outputs(np.zeros(1, dtype=int), mask.reshape(1, -1))
    tables = [table for table in used if table.shape == plain[0].shape]
    layers = int(cast(Any, model.module).config.num_hidden_layers)
    assert len(tables) == len(before) == len(plain) == layers > 1
    kept = (factor == 1).expand_as(plain[0])
    assert torch.equal(tables[0][kept], plain[0][kept])
    for table, whole in zip(tables, before, strict=True):
        assert torch.equal(table[kept], whole[kept])
        torch.testing.assert_close(table, whole * factor, atol=1e-7, rtol=1e-6)


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
