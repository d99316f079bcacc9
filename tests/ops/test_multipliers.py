from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from saywhy.ops import multipliers as m

Rule = Callable[..., Tensor]

# Argument to result, with inputs from everywhere the function is defined.
CURVES: dict[str, Callable[[Tensor], Tensor]] = {
    "square": torch.square, "cube": lambda x: x**3, "exp": torch.exp, "expm1": torch.expm1, "log": torch.log,
    "log1p": torch.log1p, "reciprocal": torch.reciprocal, "sqrt": torch.sqrt, "rsqrt": torch.rsqrt,
}  # fmt: skip
POSITIVE = {"log", "log1p", "reciprocal", "sqrt", "rsqrt"}
PLAIN = {"gelu": F.gelu, "tanh": torch.tanh, "sigmoid": torch.sigmoid, "silu": F.silu, "sin": torch.sin}
BENT = {"relu": torch.relu, "leaky": F.leaky_relu, "clamp": lambda x: x.clamp(-0.5, 0.5), "abs": torch.abs}

RULES: dict[str, tuple[Rule, Rule, list[tuple[int, ...]]]] = {
    # rule, what it stands for, shapes of its arguments
    "product": (m.product, torch.mul, [(4, 3, 2), (4, 1, 2)]),
    "quotient": (
        lambda x, y: m.quotient(x, m.rescale(torch.exp, y, chord=m.CHORDS["exp"])),
        lambda x, y: x / y.exp(),
        [(4, 3, 2), (4, 3, 1)],
    ),
    "matrix product": (m.matrix_product, torch.matmul, [(4, 3, 2), (4, 2, 5)]),
    "matrix product, broadcast": (m.matrix_product, torch.matmul, [(4, 2, 3, 2), (4, 1, 2, 5)]),
    "bilinear": (
        lambda x, y: m.bilinear(lambda a, b: torch.einsum("bij,bkj->bik", a, b), x, y),
        lambda x, y: torch.einsum("bij,bkj->bik", x, y),
        [(4, 3, 2), (4, 5, 2)],
    ),
}  # fmt: skip


def draw(seed: int, shape: tuple[int, ...], scale: float, near: float) -> Tensor:
    """Inputs and references, whose differences are of the size of ``near``."""
    generator = torch.Generator().manual_seed(seed)
    reference = scale * torch.randn(shape[0] // 2, *shape[1:], generator=generator, dtype=torch.float64)
    gap = near * torch.randn(reference.shape, generator=generator, dtype=torch.float64)
    return torch.cat([reference + gap, reference])


def check_sum(rule: Rule, plain: Rule, tensors: list[Tensor], tolerance: float = 1e-9) -> list[Tensor]:
    """The value is the ordinary one; contributions of all arguments sum to the difference; references get nothing."""
    leaves = [x.clone().requires_grad_() for x in tensors]
    out = rule(*leaves)
    torch.testing.assert_close(out, plain(*tensors))
    n = len(out) // 2
    weights = torch.randn(out[:n].shape, generator=torch.Generator().manual_seed(7), dtype=out.dtype)
    grads = torch.autograd.grad((out[:n] * weights).sum(), leaves)
    found = sum((g[:n] * (x[:n] - x[n:])).sum() for g, x in zip(grads, tensors, strict=True))
    gain = (weights * (out[:n] - out[n:])).sum().detach()
    scale = max(1.0, float((weights * out[:n]).detach().abs().sum()))
    assert abs(float(found - gain)) <= tolerance * scale
    for grad in grads:
        assert grad.isfinite().all()
        assert not grad[n:].any()
    return [grad[:n] for grad in grads]


seeds = st.integers(0, 10_000)
scales = st.sampled_from([0.1, 1.0, 30.0])
nears = st.sampled_from([0.0, 1e-9, 1e-4, 0.1, 3.0, 100.0])


@given(seeds, scales, nears, st.sampled_from(sorted(RULES)))
def test_contributions_sum_to_the_difference(seed: int, scale: float, near: float, name: str) -> None:
    rule, plain, shapes = RULES[name]
    if name == "quotient":
        scale, near = min(scale, 1.0), min(near, 3.0)  # the denominator is an exponential
    check_sum(rule, plain, [draw(seed + i, shape, scale, near) for i, shape in enumerate(shapes)], 1e-8)


@given(seeds, st.sampled_from([0.1, 1.0, 3.0]), nears, st.sampled_from(sorted({*CURVES, *PLAIN, *BENT})))
def test_rescaled_functions_sum(seed: int, scale: float, near: float, name: str) -> None:
    x = draw(seed, (4, 3), scale, min(near, 10.0))
    if name in POSITIVE:
        x = x.abs() + 1e-3
    function = (CURVES | PLAIN | BENT)[name]
    chord, bent = m.CHORDS.get(name), name in BENT
    check_sum(lambda t: m.rescale(function, t, chord=chord, bent=bent), function, [x], 1e-9)


def check_derivatives(rule: Rule, plain: Rule, tensors: list[Tensor]) -> None:
    """Without a difference, multipliers are derivatives."""
    found = check_sum(rule, plain, tensors)
    leaves = [x.clone().requires_grad_() for x in tensors]
    out = plain(*leaves)
    n = len(out) // 2
    weights = torch.randn(out[:n].shape, generator=torch.Generator().manual_seed(7), dtype=out.dtype)
    for grad, expected in zip(found, torch.autograd.grad((out[:n] * weights).sum(), leaves), strict=True):
        torch.testing.assert_close(grad, expected[:n], atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize("name", sorted(RULES))
@pytest.mark.parametrize("gap", [0.0, 1e-10])
def test_without_a_difference_multipliers_are_derivatives(name: str, gap: float) -> None:
    rule, plain, shapes = RULES[name]
    check_derivatives(rule, plain, [draw(i, shape, 1.0, gap) for i, shape in enumerate(shapes)])


@pytest.mark.parametrize("name", sorted({*CURVES, *PLAIN, *BENT}))
@pytest.mark.parametrize("gap", [0.0, 1e-10, 1e-5])
def test_without_a_difference_rescaled_functions_have_their_derivatives(name: str, gap: float) -> None:
    function = (CURVES | PLAIN | BENT)[name]
    x = draw(0, (4, 3), 1.0, gap).abs() + 0.1
    (found,) = check_sum(lambda t: m.rescale(function, t, chord=m.CHORDS.get(name), bent=name in BENT), function, [x])
    leaf = x.clone().requires_grad_()
    weights = torch.randn((2, 3), generator=torch.Generator().manual_seed(7), dtype=x.dtype)
    (expected,) = torch.autograd.grad((function(leaf)[:2] * weights).sum(), leaf)
    torch.testing.assert_close(found, expected[:2], atol=1e-3, rtol=1e-3)


def test_a_bend_between_input_and_reference() -> None:
    leaf = torch.tensor([3e-4, -1e-4], requires_grad=True)
    (grad,) = torch.autograd.grad(m.rescale(torch.relu, leaf, bent=True)[0], leaf)
    torch.testing.assert_close(grad, torch.tensor([0.75, 0.0]))


def test_affine_maps_pass_nothing_to_references() -> None:
    x = draw(0, (4, 3, 5), 1.0, 1.0)
    weight, bias = draw(1, (4, 5), 1.0, 1.0), draw(2, (4,), 1.0, 1.0)
    (grad,) = check_sum(lambda t: m.affine(t, weight, bias), lambda t: F.linear(t, weight, bias), [x])
    assert grad.abs().min() > 0


def test_half_precision_stays_what_it_is() -> None:
    x = draw(0, (4, 3, 5), 1.0, 1.0).bfloat16().requires_grad_()
    for out in (m.product(x, x), m.quotient(x, x.exp()), m.rescale(torch.tanh, x)):
        assert out.dtype == torch.bfloat16
        (grad,) = torch.autograd.grad(out[:2].float().pow(2).sum(), x)
        assert grad.dtype == torch.bfloat16
        assert grad.isfinite().all()
