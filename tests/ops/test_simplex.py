from __future__ import annotations

import entmax as outside
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from torch import Tensor

from saywhy.errors import OptionError
from saywhy.ops.simplex import NORMS, deviation, entmax, normalise, project

GOLDEN = {
    "softmax": lambda z: z.softmax(-1),
    "entmax15": lambda z: outside.entmax15(z, -1),
    "sparsemax": lambda z: outside.sparsemax(z, -1),
}
SCORES = arrays(np.float32, st.tuples(st.integers(1, 3), st.integers(1, 40)), elements=st.floats(-30, 30, width=32))
EVERYWHERE = torch.tensor(True)


def drawn(*shape: int, seed: int = 0, scale: float = 1.0, dtype: torch.dtype = torch.float32) -> Tensor:
    return scale * torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


@pytest.mark.parametrize("norm", NORMS)
@given(SCORES)
@settings(max_examples=60, deadline=None)
def test_the_norms_are_those_of_the_entmax_package(norm: str, scores: np.ndarray) -> None:
    z = torch.from_numpy(scores)
    made = project(z, norm)
    torch.testing.assert_close(made, GOLDEN[norm](z), atol=2e-5, rtol=1e-4)
    torch.testing.assert_close(made.sum(-1), torch.ones(len(z)), atol=1e-5, rtol=0)
    assert float(made.min()) >= 0


def test_sparsemax_projects_onto_the_simplex() -> None:
    z = drawn(4, 9)
    p = entmax(z, 2.0)
    torch.testing.assert_close(entmax(p, 2.0), p)
    torch.testing.assert_close(entmax(z + 5.0, 2.0), p, atol=1e-5, rtol=0)
    gap = torch.tensor([3.0, 2.0, 1.9, -4.0])
    assert entmax(gap, 2.0).tolist() == [1.0, 0.0, 0.0, 0.0]
    assert int((p == 0).sum()) > 0


@pytest.mark.parametrize("alpha", [1.5, 2.0])
def test_first_and_second_derivatives(alpha: float) -> None:
    z = drawn(3, 7, dtype=torch.float64).requires_grad_()
    assert torch.autograd.gradcheck(lambda x: entmax(x, alpha), (z,))
    assert torch.autograd.gradgradcheck(lambda x: entmax(x, alpha), (z,))


@pytest.mark.parametrize("norm", NORMS)
def test_a_score_means_the_same_in_every_norm_and_length(norm: str) -> None:
    for n in (5, 50, 5000):
        u = drawn(n, seed=n, scale=0.01, dtype=torch.float64)
        shares = normalise(u, EVERYWHERE, norm)
        torch.testing.assert_close(shares * n, 1 + u - u.mean(), atol=1e-3, rtol=0)


@pytest.mark.parametrize("norm", NORMS)
def test_what_is_outside_gets_nothing_and_changes_nothing(norm: str) -> None:
    z, inside = drawn(2, 8), torch.ones(2, 8, dtype=torch.bool)
    inside[0, 5:] = False
    inside[1] = False
    made = normalise(z, inside, norm)
    assert made[0, 5:].tolist() == [0.0] * 3
    assert made[1].tolist() == [0.0] * 8
    torch.testing.assert_close(made[0, :5], normalise(z[0, :5], EVERYWHERE, norm))


@pytest.mark.parametrize("norm", NORMS)
def test_deviations_are_the_way_back(norm: str) -> None:
    inside = torch.ones(3, 12, dtype=torch.bool)
    inside[:, 9:] = False
    shares = normalise(drawn(3, 12), inside, norm)
    torch.testing.assert_close(normalise(deviation(shares, inside, norm), inside, norm), shares, atol=1e-5, rtol=1e-4)
    z = drawn(2, 6, scale=4.0).requires_grad_()
    everywhere = torch.ones_like(z, dtype=torch.bool)
    again = normalise(deviation(normalise(z, everywhere, norm), everywhere, norm), everywhere, norm)
    (gradient,) = torch.autograd.grad(again[0, 0] + again[1, 2], z)
    assert bool(gradient.isfinite().all())


def test_an_unknown_norm() -> None:
    with pytest.raises(OptionError, match="softmax, entmax15, sparsemax"):
        project(torch.zeros(2), "l2")
