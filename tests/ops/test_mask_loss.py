from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from saywhy.ops.contiguity import broken_windows, expected_breaks, rectangles
from saywhy.ops.hard_concrete import HardConcrete
from saywhy.ops.mask_loss import MaskLoss, distance, mask_loss

REAL = torch.ones(1, 5, 4, dtype=torch.bool)


def test_expected_breaks_equal_their_frequency_and_the_metric() -> None:
    draw = torch.Generator().manual_seed(0)
    on = torch.rand(5, 4, generator=draw, dtype=torch.float64)
    closed = expected_breaks(on, REAL[0])
    assert float(closed) == pytest.approx(broken_windows(on.numpy())[0])
    samples = torch.rand(100_000, 5, 4, generator=draw, dtype=torch.float64) < on
    mean = expected_breaks(samples.double(), REAL).mean()
    assert float(mean) == pytest.approx(float(closed), abs=0.02)


@pytest.mark.parametrize(
    ("table", "breaks"),
    [
        (np.zeros((3, 3)), 0),
        (np.ones((3, 3)), 0),
        (np.eye(4), 0),
        (np.pad(np.ones((2, 3)), 1), 0),
        (np.pad([[1, 0], [1, 1]], 1), 1),  # an L of three cells
        (np.pad([[0, 1, 0], [1, 1, 1], [0, 1, 0]], 1), 4),  # a plus
        (np.pad(np.ones((5, 5)) - np.pad(np.ones((1, 1)), 2), 1), 4),  # a hole
    ],
)
def test_what_counts_as_a_break(table: np.ndarray, breaks: int) -> None:
    tensor = torch.from_numpy(np.asarray(table, dtype=np.float64))
    assert float(expected_breaks(tensor, torch.ones_like(tensor, dtype=torch.bool))) == breaks


def test_padding_makes_no_breaks() -> None:
    real = torch.zeros(4, 4, dtype=torch.bool)
    real[:2, :3] = True
    assert float(expected_breaks(real.double(), real)) == 0.0
    on = torch.rand(4, 4, generator=torch.Generator().manual_seed(0)) * real
    assert float(expected_breaks(on, real)) == pytest.approx(broken_windows(on[:2, :3].numpy())[0], abs=1e-6)


def test_rectangles_cover_each_cell_once_and_whole_blocks_stay_whole() -> None:
    draw = np.random.default_rng(0)
    for _ in range(50):
        keep = draw.random((draw.integers(1, 7), draw.integers(1, 7))) < 0.5
        count = np.zeros(keep.shape, dtype=int)
        areas = []
        for top, bottom, left, right in rectangles(keep):
            count[top : bottom + 1, left : right + 1] += 1
            areas.append((bottom - top + 1) * (right - left + 1))
        assert (count == keep).all()
        assert areas == sorted(areas, reverse=True)
    blocks = np.zeros((6, 6), dtype=bool)
    blocks[0:2, 1:4] = blocks[3:6, 4:6] = True
    assert set(rectangles(blocks)) == {(0, 1, 1, 3), (3, 5, 4, 5)}


def test_the_parts_of_the_loss() -> None:
    log_alpha = torch.randn(1, 5, 4, generator=torch.Generator().manual_seed(0)).requires_grad_()
    gates = HardConcrete(log_alpha)
    whole = torch.tensor([[2.0, 0.0, 1.0]])
    masked = torch.tensor([[[2.0, 0.0, 1.0], [2.0, 3.0, 1.0], [5.0, 4.0, 1.0], [0.0, 0.0, 1.0]]])
    loss = mask_loss(whole, masked, gates, REAL, 0.15)
    assert not loss.agreement.requires_grad
    assert loss.total.requires_grad
    loss = MaskLoss(*(part.detach() for part in loss))
    gates = HardConcrete(log_alpha.detach())
    assert float(loss.agreement) == 0.5
    assert float(loss.distance) == pytest.approx((0 + 3 + 5 + 2) / 4, abs=1e-5)
    assert float(loss.size) == pytest.approx(float(gates.nonzero().sum()))
    assert float(loss.breaks) == pytest.approx(broken_windows(gates.nonzero()[0].detach().numpy())[0], rel=1e-5)
    assert float(loss.total) == pytest.approx(float(loss.distance + 0.15 * 0.5 * (loss.size + loss.breaks)), rel=1e-6)
    same = whole.clone().requires_grad_()
    distance(whole, same).sum().backward()
    assert same.grad is not None
    assert same.grad.isfinite().all()  # where nothing moves


def test_no_gradient_goes_through_the_agreement() -> None:
    whole = torch.tensor([[2.0, 0.0, 1.0]])
    masked = torch.randn(1, 6, 3, generator=torch.Generator().manual_seed(0)).requires_grad_()
    loss = mask_loss(whole, masked, HardConcrete(torch.zeros(1, 5, 4)), REAL, 0.15)
    assert not loss.agreement.requires_grad
    assert 0 < float(loss.agreement) < 1
    (found,) = torch.autograd.grad(loss.total.sum(), masked)
    (alone,) = torch.autograd.grad(distance(whole.unsqueeze(1), masked).mean(1).sum(), masked)
    torch.testing.assert_close(found, alone)


@pytest.mark.parametrize(("start", "falls"), [(1.0, True), (1.4, False)])
def test_the_tipping_point_of_the_start(start: float, falls: bool) -> None:
    """With fidelity off equal cells fall below 1.170 and rise above it in the interior."""
    log_alpha = torch.full((1, 9, 9), start, requires_grad=True)
    real = torch.ones(1, 9, 9, dtype=torch.bool)
    logits = torch.zeros(1, 3)
    mask_loss(logits, logits.unsqueeze(1), HardConcrete(log_alpha), real, 1.0).total.sum().backward()
    assert log_alpha.grad is not None
    inside = log_alpha.grad[0, 2:-2, 2:-2]
    assert bool((log_alpha.grad > 0).all()) if falls else bool((inside < 0).all())
    q = 1 / (1 + math.exp(-1.170 + 0.2 * math.log(1 / 11)))
    assert q == pytest.approx(0.8388, abs=2e-4)
