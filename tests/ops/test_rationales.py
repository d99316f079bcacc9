"""The properties of METHODS, section 7 (1-5), and their edges."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from saywhy.errors import OptionError
from saywhy.ops.rationales import (
    disturb_selection,
    non_overlap,
    sample_selection,
    selected_share,
    selection_penalty,
    take_top,
)


def texts(lengths: list[int]) -> Tensor:
    return torch.arange(max(lengths)).unsqueeze(0) < torch.tensor(lengths).unsqueeze(1)


def drawn(real: Tensor, share: float, seed: int = 0) -> Tensor:
    noise = torch.rand(real.shape, generator=torch.Generator().manual_seed(seed))
    return ((noise < share) & real).float()


@settings(max_examples=60, deadline=None)
@given(
    lengths=st.lists(st.integers(1, 25), min_size=1, max_size=6),
    share=st.floats(0, 1),
    rate=st.floats(0, 1),
    seed=st.integers(0, 10**6),
)
def test_as_many_words_come_in_as_go_out_and_never_padding(
    lengths: list[int], share: float, rate: float, seed: int
) -> None:
    real = texts(lengths)
    mask = drawn(real, share, seed)
    changed = disturb_selection(mask, real, rate, generator=torch.Generator().manual_seed(seed))
    assert changed.sum(1).tolist() == mask.sum(1).tolist()
    assert not changed[~real].any()
    assert set(changed.unique().tolist()) <= {0.0, 1.0}
    if rate == 0:
        assert torch.equal(changed, mask)


def test_at_rate_one_nothing_that_was_selected_stays() -> None:
    real = texts([20, 30, 8])
    mask = drawn(real, 0.4)
    small = mask.sum(1) <= real.sum(1) / 2
    assert small.any()
    changed = disturb_selection(mask, real, 1.0)
    assert not (changed * mask)[small].any()
    full = real.float()
    assert torch.equal(disturb_selection(full, real, 1.0), full)  # there is nothing to put in


def test_the_number_of_drops_is_the_rate_times_the_selected() -> None:
    real = texts([200] * 50)
    mask = drawn(real, 0.15)
    changed = disturb_selection(mask, real, 0.3, generator=torch.Generator().manual_seed(1))
    drops = float((mask * (1 - changed)).sum())
    expected = 0.3 * float(mask.sum())
    assert abs(drops - expected) < 3 * (0.3 * 0.7 * float(mask.sum())) ** 0.5


def test_the_code_keeps_the_number_on_average_only() -> None:
    real = texts([200] * 40 + [40] * 40)
    mask = drawn(real, 0.2)
    changed = disturb_selection(mask, real, 0.3, count="batch-mean", generator=torch.Generator().manual_seed(0))
    difference = changed.sum(1) - mask.sum(1)
    assert abs(float(difference.mean())) < 1
    assert float(difference.abs().max()) >= 3
    assert not changed[~real].any()
    # With next to no drops it still adds a word to every text.
    tiny = disturb_selection(mask, real, 1e-9, count="batch-mean")
    assert ((tiny.sum(1) - mask.sum(1)) == 1).all()


def test_draws_are_exactly_zero_or_one_and_differentiate_as_softmax() -> None:
    real = texts([6, 4])
    logits = torch.randn(2, 6, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64, requires_grad=True)
    mask = sample_selection(logits, real, temperature=0.7, generator=torch.Generator().manual_seed(3))
    assert set(mask.unique().tolist()) <= {0.0, 1.0}
    assert not mask[~real].any()
    noise = torch.empty_like(logits).exponential_(generator=torch.Generator().manual_seed(3)).log().neg()
    soft = ((logits + noise) / 0.7).softmax(-1)[..., 1]
    assert torch.equal(mask.detach() > 0.5, (soft > 0.5) & real)
    weight = torch.randn(2, 6, dtype=torch.float64)
    (found,) = torch.autograd.grad((mask * weight).sum(), logits)
    (expected,) = torch.autograd.grad((soft * real * weight).sum(), logits)
    torch.testing.assert_close(found, expected)


def test_the_disturbed_mask_has_the_gradient_of_the_drawn_one() -> None:
    real = texts([9, 5])
    logits = torch.zeros(2, 9, 2, requires_grad=True)
    mask = sample_selection(logits, real, generator=torch.Generator().manual_seed(0))
    changed = disturb_selection(mask, real, 0.8, generator=torch.Generator().manual_seed(1))
    assert not torch.equal(changed.detach(), mask.detach())
    weight = torch.randn(2, 9)
    (one,) = torch.autograd.grad((mask * weight).sum(), logits, retain_graph=True)
    (other,) = torch.autograd.grad((changed * weight).sum(), logits)
    assert torch.equal(one, other)


def test_draws_follow_the_probabilities() -> None:
    logits = torch.tensor([0.0, 1.2]).expand(1, 40_000, 2)
    mask = sample_selection(logits, texts([40_000]), generator=torch.Generator().manual_seed(0))
    assert float(mask.mean()) == pytest.approx(float(torch.tensor(1.2).sigmoid()), abs=0.01)


def penalty(mask: list[list[float]], lengths: list[int], **options: float | str) -> float:
    chosen = {"alpha": 0.5, "lambda1": 1.0, "lambda2": 1.0, "reduction": "paper", **options}
    real = texts([*lengths, len(mask[0])])[:-1]
    return float(selection_penalty(torch.tensor(mask), real, **chosen))  # type: ignore[arg-type]


@pytest.mark.parametrize("reduction", ["paper", "mean"])
def test_the_regulariser_is_zero_for_the_right_share_without_changes_only(reduction: str) -> None:
    assert penalty([[1.0, 1.0]], [2], alpha=1.0, reduction=reduction) == 0
    assert penalty([[1.0, 1.0]], [2], alpha=0.9, reduction=reduction) > 0
    assert penalty([[1.0, 0.0]], [2], alpha=0.5, reduction=reduction) > 0
    assert penalty([[1.0, 0.0]], [2], alpha=0.5, lambda2=0.0, reduction=reduction) == 0


def test_changes_are_counted_and_padding_is_not() -> None:
    assert penalty([[0.0, 1.0, 1.0, 0.0, 0.0]], [5], alpha=0.4) == pytest.approx(2)
    for reduction in ("paper", "mean"):
        short = penalty([[0.0, 1.0, 1.0]], [3], alpha=0.3, reduction=reduction)
        assert penalty([[0.0, 1.0, 1.0, 0.0, 0.0, 0.0]], [3], alpha=0.3, reduction=reduction) == pytest.approx(short)
    # The code's form: one share of all words, the mean over neighbours that are words.
    found = penalty([[1.0, 0.0, 0.0, 0.0], [1.0, 1.0, 0.0, 0.0]], [4, 2], alpha=0.0, reduction="mean")
    assert found == pytest.approx(3 / 6 + 1 / 4)
    found = penalty([[1.0, 0.0, 0.0, 0.0], [1.0, 1.0, 0.0, 0.0]], [4, 2], alpha=0.0)
    assert found == pytest.approx((1 / 4 + 1) / 2 + (1 + 0) / 2)


def test_shares_tops_and_overlaps() -> None:
    real = texts([4, 2])
    mask = torch.tensor([[1.0, 0.0, 0.0, 0.0], [1.0, 1.0, 0.0, 0.0]])
    assert float(selected_share(mask, real)) == pytest.approx(0.5)
    assert selected_share(mask, real, "paper").tolist() == [0.25, 1.0]
    scores = torch.tensor([[0.1, 0.9, 0.5, 0.2], [0.1, 0.2, 9.0, 9.0]])
    assert take_top(scores, real, 0.5).tolist() == [[0, 1, 1, 0], [0, 1, 0, 0]]
    assert take_top(scores, real, 0.01).sum(1).tolist() == [1, 1]
    other = torch.tensor([[0.0, 1.0, 0.0, 0.0], [1.0, 1.0, 0.0, 0.0]])
    assert non_overlap(mask, other).tolist() == [1.0, 0.0]
    assert non_overlap(mask * 0, mask * 0).tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("options", "message"), [({"rate": 1.2}, "probability"), ({"rate": 0.1, "count": "most"}, "unknown count")]
)
def test_mistakes(options: dict[str, object], message: str) -> None:
    real = texts([3])
    with pytest.raises(OptionError, match=message):
        disturb_selection(real.float(), real, **options)  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="unknown reduction"):
        selected_share(real.float(), real, "none")
