from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st

from saywhy.ops import joint_multipliers as joint
from tests.ops.test_multipliers import Rule, check_derivatives, check_sum, draw, nears, scales, seeds

RULES: dict[str, tuple[Rule, Rule, list[tuple[int, ...]]]] = {
    "softmax": (lambda x: joint.softmax(x, -1), lambda x: x.softmax(-1), [(4, 3, 5)]),
    "softmax, inner": (lambda x: joint.softmax(x, 1), lambda x: x.softmax(1), [(4, 3, 5)]),
    "log softmax": (lambda x: joint.log_softmax(x, -1), lambda x: x.log_softmax(-1), [(4, 3, 5)]),
    "log sum exp": (lambda x: joint.log_sum_exp(x, -1), lambda x: x.logsumexp(-1), [(4, 3, 5)]),
    "log sum exp, kept": (
        lambda x: joint.log_sum_exp(x, 1, keepdim=True), lambda x: x.logsumexp(1, keepdim=True), [(4, 3, 5)],
    ),
    "largest": (lambda x: joint.largest(x, 1)[0], lambda x: x.amax(1, keepdim=True), [(4, 6, 2)]),
}  # fmt: skip


@given(seeds, scales, nears, st.sampled_from(sorted(RULES)))
def test_contributions_sum_to_the_difference(seed: int, scale: float, near: float, name: str) -> None:
    rule, plain, shapes = RULES[name]
    check_sum(rule, plain, [draw(seed + i, shape, scale, near) for i, shape in enumerate(shapes)], 1e-8)


@pytest.mark.parametrize("name", sorted(RULES))
@pytest.mark.parametrize("gap", [0.0, 1e-10])
def test_without_a_difference_multipliers_are_derivatives(name: str, gap: float) -> None:
    rule, plain, shapes = RULES[name]
    check_derivatives(rule, plain, [draw(i, shape, 1.0, gap) for i, shape in enumerate(shapes)])


@given(seeds, st.booleans(), st.integers(1, 2), nears)
def test_layer_norm_sums(seed: int, weighted: bool, size: int, near: float) -> None:
    x = draw(seed, (4, 3, 5), 1.0, near)
    shape = x.shape[-size:]
    weight, bias = (draw(seed + i, (2 * shape[0], *shape[1:]), 1.0, 1.0)[: shape[0]] for i in (1, 2))
    affine = (weight, bias) if weighted else (None, None)
    check_sum(
        lambda t: joint.layer_norm(t, size, *affine, 1e-5), lambda t: F.layer_norm(t, shape, *affine, 1e-5), [x], 1e-8
    )


def test_layer_norm_without_a_difference_has_its_derivative() -> None:
    x = draw(0, (4, 3, 5), 1.0, 0.0)
    weight = draw(1, (10,), 1.0, 1.0)[:5]
    leaf, other = x.clone().requires_grad_(), x.clone().requires_grad_()
    (found,) = torch.autograd.grad(joint.layer_norm(leaf, 1, weight, None, 1e-5)[:2].pow(2).sum(), leaf)
    (expected,) = torch.autograd.grad(F.layer_norm(other, (5,), weight, None, 1e-5)[:2].pow(2).sum(), other)
    torch.testing.assert_close(found, expected)


@given(seeds, st.sampled_from([1.0, 30.0, 300.0]))
def test_softmax_stays_within_bounds_however_far_the_reference_is(seed: int, near: float) -> None:
    """In single precision: where products with one over the sum would overflow, nothing here exceeds a few."""
    x = draw(seed, (4, 3, 8), 1.0, near).float().requires_grad_()
    p = joint.softmax(x, -1)
    for place in range(8):
        (grad,) = torch.autograd.grad(p[:2, :, place].sum(), x, retain_graph=True)
        assert grad.abs().max() <= 1.0
        found = (grad[:2] * (x[:2] - x[2:])).sum(-1)
        torch.testing.assert_close(found, (p[:2] - p[2:])[..., place], atol=1e-4, rtol=0)


def test_layer_norm_of_a_reference_that_is_zero() -> None:
    """Its inverse spread is three hundred times that of the input; the multipliers are not."""
    x = torch.cat([draw(0, (2, 16), 1.0, 1.0)[:1], torch.zeros(1, 16)]).float().requires_grad_()
    out = joint.layer_norm(x, 1, None, None, 1e-5)
    (grad,) = torch.autograd.grad(out[0, 3], x)
    assert grad.abs().max() < 4
    assert float((grad[0] * x[0].detach()).sum()) == pytest.approx(float(out[0, 3].detach()), abs=1e-6)


def test_what_is_masked_contributes_nothing() -> None:
    x = draw(0, (4, 6), 1.0, 2.0)
    for hidden in (-torch.inf, torch.finfo(x.dtype).min):
        masked = x.clone()
        masked[:, 4:] = hidden
        leaf = masked.requires_grad_()
        for out in (joint.softmax(leaf, -1), joint.log_softmax(leaf, -1)):
            (grad,) = torch.autograd.grad(out[:2, 1].sum(), leaf)
            assert not grad[:, 4:].any()
            short = x[:, :4].clone().requires_grad_()
            rule = joint.softmax if float(out.detach().max()) > 0 else joint.log_softmax
            (expected,) = torch.autograd.grad(rule(short, -1)[:2, 1].sum(), short)
            torch.testing.assert_close(grad[:, :4], expected)


def test_the_largest_of_input_or_reference_explains_a_maximum() -> None:
    x = torch.tensor([[1.0, 5.0, 2.0], [3.0, 1.0, 2.0], [4.0, 3.0, 0.0], [1.0, 4.0, 2.0]], requires_grad=True)
    y, where = joint.largest(x, 1)
    assert where.flatten().tolist() == [1, 0, 0, 1]
    (grad,) = torch.autograd.grad(y[:2].sum(), x)
    # 5 over 4: the input's own largest, from 3 to 5. 3 under 4: the reference's largest, which fell from 4 to 1.
    expected = torch.tensor([[0.0, 0.5, 0.0], [0.0, 1 / 3, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    torch.testing.assert_close(grad, expected)


def test_half_precision_stays_what_it_is() -> None:
    x = draw(0, (4, 3, 5), 1.0, 1.0).bfloat16().requires_grad_()
    for out in (
        joint.softmax(x, -1),
        joint.layer_norm(x, 1, None, None, 1e-5),
        joint.largest(x, 1)[0],
    ):
        assert out.dtype == torch.bfloat16
        (grad,) = torch.autograd.grad(out[:2].float().pow(2).sum(), x)
        assert grad.dtype == torch.bfloat16
        assert grad.isfinite().all()
