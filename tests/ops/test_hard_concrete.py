from __future__ import annotations

import pytest
import torch

from saywhy.ops.hard_concrete import HardConcrete

N = 400_000


@pytest.mark.parametrize("log_alpha", [-2.0, -0.5, 0.0, 0.7, 2.5])
def test_closed_forms_equal_frequencies(log_alpha: float) -> None:
    gates = HardConcrete(torch.tensor([log_alpha], dtype=torch.float64))
    uniform = torch.rand(N, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    z = gates.sample(uniform)
    assert float((z == 0).double().mean()) == pytest.approx(gates.zero().item(), abs=4e-3)
    assert float((z == 1).double().mean()) == pytest.approx(gates.one().item(), abs=4e-3)
    assert float((z > 0).double().mean()) == pytest.approx(gates.nonzero().item(), abs=4e-3)
    assert z.mean() <= gates.nonzero().item() + 1e-3
    assert gates.zero() + gates.one() <= 1
    assert gates.mode().item() == (log_alpha > 0)


def test_the_printed_probability_of_one_is_wrong() -> None:
    one = HardConcrete(torch.zeros(1)).one().item()
    assert one == pytest.approx(0.3824, abs=1e-3)  # by sampling, METHODS 0.2; AREC's equation 18 gives 0.504


def test_samples_are_differentiable_between_the_ends() -> None:
    log_alpha = torch.zeros(3, requires_grad=True)
    z = HardConcrete(log_alpha).sample(torch.tensor([1e-6, 0.5, 1 - 1e-6]))
    assert z.tolist() == [0.0, 0.5, 1.0]
    z.sum().backward()
    assert log_alpha.grad is not None
    assert log_alpha.grad[1] > 0
    assert log_alpha.grad[[0, 2]].tolist() == [0.0, 0.0]
