from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import rel_entr

from saywhy.ops.divergences import kl_divergence, symmetric_kl

shares = st.lists(st.floats(0.01, 1.0), min_size=4, max_size=4)


def spread(values: list[float]) -> torch.Tensor:
    table = torch.tensor(values, dtype=torch.float64)
    return table / table.sum()


@given(shares, shares)
def test_kl_is_scipys(p: list[float], q: list[float]) -> None:
    expected = rel_entr(spread(p).numpy(), spread(q).numpy()).sum()
    assert float(kl_divergence(spread(p), spread(q))) == pytest.approx(expected, abs=1e-12)
    assert float(kl_divergence(spread(p), spread(p))) == 0


def test_zeros_stay_finite() -> None:
    p = torch.tensor([1.0, 0.0], requires_grad=True)
    q = torch.tensor([0.0, 1.0])
    value = kl_divergence(p, q)
    value.backward()
    assert value.isfinite()
    assert float(value.detach()) > 20
    assert p.grad is not None
    assert p.grad.isfinite().all()


@given(shares, shares)
def test_symmetric_kl_is_both_ways(a: list[float], b: list[float]) -> None:
    first, second = spread(a).log(), spread(b).log()
    expected = kl_divergence(spread(a), spread(b)) + kl_divergence(spread(b), spread(a))
    assert float(symmetric_kl(first, second)) == pytest.approx(float(expected), abs=1e-9)
    assert float(symmetric_kl(first, first + 3)) == pytest.approx(0, abs=1e-9)


def test_each_way_holds_one_side() -> None:
    first, second = torch.tensor([0.3, -0.2], requires_grad=True), torch.tensor([-1.0, 0.5], requires_grad=True)
    symmetric_kl(first, second).backward()
    # The gradient of cross-entropy against a fixed distribution is the difference of the distributions.
    difference = (first.softmax(-1) - second.softmax(-1)).detach()
    torch.testing.assert_close(first.grad, difference)
    torch.testing.assert_close(second.grad, -difference)


def test_choices_that_are_not_there_count_nothing() -> None:
    first = torch.tensor([[0.3, -0.2, -torch.inf]], requires_grad=True)
    second = torch.tensor([[-1.0, 0.5, -torch.inf]])
    value = symmetric_kl(first, second)
    value.sum().backward()
    assert float(value.detach()) == pytest.approx(float(symmetric_kl(first[:, :2], second[:, :2]).detach()))
    assert first.grad is not None
    assert first.grad.isfinite().all()
