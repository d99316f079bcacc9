from __future__ import annotations

from itertools import pairwise

import pytest
import torch
import torch.nn.functional as F

from saywhy.ops.divergences import symmetric_kl
from saywhy.ops.smoothness import ascend, gradient_norms


def test_logistic_regression() -> None:
    # The gradient of the loss by the input is (p - y) w.
    torch.manual_seed(0)
    w = torch.randn(5, dtype=torch.float64, requires_grad=True)
    x = torch.randn(7, 5, dtype=torch.float64, requires_grad=True)
    y = torch.tensor([0.0, 1, 1, 0, 1, 0, 1], dtype=torch.float64)
    logits = x @ w
    found = gradient_norms(F.binary_cross_entropy_with_logits(logits, y, reduction="none"), x)
    torch.testing.assert_close(found, (logits.sigmoid() - y).abs() * w.norm())
    found.mean().backward()
    assert w.grad is not None
    assert w.grad.norm() > 0
    step = w.detach() - 0.01 * w.grad
    after = ((x @ step).sigmoid() - y).abs() * step.norm()
    assert after.mean() < found.mean()


def test_rows_of_one_example_make_one_norm() -> None:
    x = torch.tensor([[3.0], [4.0], [6.0]], requires_grad=True)
    losses = torch.stack([(x[:2] ** 2).sum() / 2, (x[2] ** 2).sum() / 2])
    assert gradient_norms(losses, x, torch.tensor([0, 0, 1])).tolist() == [5.0, 6.0]


def test_a_gradient_of_zero() -> None:
    x, w = torch.ones(2, 3, requires_grad=True), torch.tensor([1.0, 0.0], requires_grad=True)
    found = gradient_norms((x * w.unsqueeze(1)).sum(1) * w, x)
    found.sum().backward()
    assert found[1] == 0
    assert w.grad is not None
    assert w.grad.isfinite().all()


@pytest.fixture
def toy() -> tuple[torch.nn.Module, torch.Tensor, torch.Tensor]:
    torch.manual_seed(1)
    network = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(12, 6), torch.nn.Tanh(), torch.nn.Linear(6, 3))
    x = torch.randn(4, 4, 3)
    real = torch.tensor([[1, 1, 1, 1], [1, 1, 0, 0], [1, 0, 0, 0], [1, 1, 1, 0]], dtype=torch.bool)
    return network, x, real


def test_steps_go_up_and_leave_padding_alone(toy: tuple[torch.nn.Module, torch.Tensor, torch.Tensor]) -> None:
    network, x, real = toy
    fixed = network(x).detach()

    def divergence(change: torch.Tensor) -> torch.Tensor:
        return symmetric_kl(fixed, network(x + 0.1 * change)).sum()

    start = 1e-3 * torch.randn(x.shape, generator=torch.Generator().manual_seed(2))
    values = []
    for steps in range(6):
        change = ascend(divergence, start, real, steps=steps, step_size=1e4, epsilon=1e-9, projection="normalise")
        assert (change[~real] == 0).all()
        assert not change.requires_grad
        values.append(float(divergence(change).detach()))
        if steps:
            torch.testing.assert_close(change.abs().amax(-1)[real], torch.ones(int(real.sum())), atol=1e-3, rtol=0)
    assert min(values) >= 0
    assert values[0] < values[1]
    assert all(b >= a - 1e-6 for a, b in pairwise(values))


def test_the_gradients_direction_beats_any_random_one_of_its_size(
    toy: tuple[torch.nn.Module, torch.Tensor, torch.Tensor],
) -> None:
    network, x, real = toy
    fixed = network(x).detach()

    def divergences(change: torch.Tensor) -> torch.Tensor:
        return symmetric_kl(fixed, network(x + 0.1 * change)).detach()

    start = 1e-3 * torch.randn(x.shape, generator=torch.Generator().manual_seed(2))
    for steps in (1, 2, 3):
        change = ascend(lambda c: symmetric_kl(fixed, network(x + 0.1 * c)).sum(), start, real, steps=steps)
        assert (change[~real] == 0).all()
        torch.testing.assert_close(change.abs().flatten(1).amax(-1), torch.ones(len(x)))
        sizes = change.flatten(1).norm(dim=1)
        random = torch.randn((50, *x.shape), generator=torch.Generator().manual_seed(3)) * real.unsqueeze(-1)
        random = random / random.flatten(2).norm(dim=2)[..., None, None] * sizes[:, None, None]
        others = torch.stack([divergences(some) for some in random])
        found = divergences(change)
        assert (found > 2 * others.mean(0)).all()
        assert (found > 0.9 * others.amax(0)).all()  # of three numbers fifty guesses find the best too
    flat = ascend(lambda c: (0 * c).sum(), start, real)
    assert (flat == 0).all()


def test_a_ball_is_small(toy: tuple[torch.nn.Module, torch.Tensor, torch.Tensor]) -> None:
    network, x, real = toy
    fixed = network(x).detach()
    start = 1e-5 * torch.randn(x.shape)
    change = ascend(
        lambda c: symmetric_kl(fixed, network(x + c)).sum(), start, real, steps=2, epsilon=1e-5, projection="ball"
    )
    assert 0 < float(change.abs().max()) <= 1e-5
    assert float(symmetric_kl(fixed, network(x + change)).sum().detach()) < 1e-6
