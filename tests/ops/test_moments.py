from __future__ import annotations

import torch

from saywhy.ops.moments import central_moment_discrepancy


def test_equal_samples_have_none_and_a_finite_gradient() -> None:
    sample = torch.rand(20, 4, generator=torch.Generator().manual_seed(0), requires_grad=True)
    found = central_moment_discrepancy(sample, sample.detach())
    assert float(found) == 0
    found.backward()
    assert torch.isfinite(sample.grad).all()  # type: ignore[arg-type]


def test_other_variance_or_skew_with_the_same_mean_shows() -> None:
    wide, narrow = torch.tensor([[-0.8], [0.8]]), torch.tensor([[-0.1], [0.1]])
    assert float(central_moment_discrepancy(wide, narrow, moments=1)) == 0
    # By hand: second moments 0.64 and 0.01 over 4; fourth 0.4096 and 0.0001 over 16.
    expected = (0.64 - 0.01) / 4 + (0.4096 - 0.0001) / 16
    torch.testing.assert_close(float(central_moment_discrepancy(wide, narrow)), expected, atol=1e-6, rtol=0)
    skewed = torch.tensor([[-0.2], [-0.2], [0.4]])
    assert float(central_moment_discrepancy(skewed, -skewed)) > 0


def test_means_count_by_their_norm() -> None:
    one, other = torch.tensor([[0.3, 0.4]]), torch.zeros(1, 2)
    torch.testing.assert_close(float(central_moment_discrepancy(one, other)), 0.25, atol=1e-6, rtol=0)
