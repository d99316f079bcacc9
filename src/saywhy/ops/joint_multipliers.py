"""DeepLift's rules for operations that join the entries of a tensor: softmax, layer norm and maximum.

See `saywhy.ops.multipliers` for what a rule is, and for how these were put together.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from saywhy.ops.multipliers import drop, halves, inputs_of, only_inputs, resolution

__all__ = ["largest", "layer_norm", "log_softmax", "log_sum_exp", "softmax"]


def _log_mean(x: Tensor, y: Tensor, gap: Tensor) -> Tensor:
    """(x - y) / (log x - log y), from x, y and the difference of their logarithms; 0 where both are."""
    return torch.where(gap.abs() > resolution(x), (x - y) / gap, (x + y) / 2)


def _shares(x: Tensor, p: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    """How log sum exp shares out its difference among its arguments, and the difference itself; p is the softmax."""
    (a, b), (p, q) = halves(x), halves(p)
    # The likeliest entry says what the sum is: there p = exp(x - log sum exp x).
    total, other = (
        top.amax(dim, keepdim=True) - share.amax(dim, keepdim=True).log() for top, share in ((a, p), (b, q))
    )
    gap = total - other
    # Both sums on the scale of the larger one, so that nothing overflows.
    p, q = p * gap.clamp_max(0).exp(), q * (-gap).clamp_max(0).exp()
    return _log_mean(p, q, a - b) / drop(gap.abs()), gap


class _Softmax(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, dim: int) -> Tensor:
        p = x.softmax(dim)
        (a, b), (u, v) = halves(x), halves(p)
        shares, gap = _shares(x, p, dim)
        ctx.save_for_backward(_log_mean(u, v, a - b - gap), shares)
        ctx.dim = dim
        return p

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        multiplier, shares = ctx.saved_tensors
        own = inputs_of(grad) * multiplier
        return only_inputs(own - shares * own.sum(ctx.dim, keepdim=True), grad), None


def softmax(x: Tensor, dim: int) -> Tensor:
    """Softmax of a dependent tensor over a dimension that is not the first; entries of -inf contribute nothing."""
    result: Tensor = _Softmax.apply(x, dim)
    return result


class _LogSoftmax(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, dim: int) -> Tensor:
        y = x.log_softmax(dim)
        ctx.save_for_backward(_shares(x, y.exp(), dim)[0])
        ctx.dim = dim
        return y

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        (shares,), own = ctx.saved_tensors, inputs_of(grad)
        return only_inputs(own - shares * own.sum(ctx.dim, keepdim=True), grad), None


def log_softmax(x: Tensor, dim: int) -> Tensor:
    """Log-softmax of a dependent tensor over a dimension that is not the first."""
    result: Tensor = _LogSoftmax.apply(x, dim)
    return result


class _LogSumExp(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, dim: int, keepdim: bool) -> Tensor:
        ctx.save_for_backward(_shares(x, x.softmax(dim), dim)[0])
        ctx.dim, ctx.keepdim = dim, keepdim
        return x.logsumexp(dim, keepdim=keepdim)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        (shares,), own = ctx.saved_tensors, inputs_of(grad)
        return only_inputs(shares * (own if ctx.keepdim else own.unsqueeze(ctx.dim)), grad), None, None


def log_sum_exp(x: Tensor, dim: int, keepdim: bool = False) -> Tensor:
    """The logarithm of a sum of exponentials over a dimension that is not the first."""
    result: Tensor = _LogSumExp.apply(x, dim, keepdim)
    return result


class _LayerNorm(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, size: int, weight: Tensor | None, bias: Tensor | None, eps: float) -> Tensor:
        y, mean, scale = torch.native_layer_norm(x, x.shape[x.dim() - size :], weight, bias, eps)
        (a, b), (s, t) = halves(x - mean), halves(scale)
        spread = (1 / s + 1 / t) / 2
        ctx.save_for_backward((a + b) / (2 * spread), (a * s + b * t) / 2, spread, weight)
        ctx.dims = tuple(range(x.dim() - size, x.dim()))
        return y

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        centred, normed, spread, weight = ctx.saved_tensors
        own = (inputs_of(grad) if weight is None else inputs_of(grad) * weight) / spread
        # The quotient of what is centred and its spread, whose square is a mean of squares.
        own = own - centred * (own * normed).mean(ctx.dims, keepdim=True)
        return only_inputs(own - own.mean(ctx.dims, keepdim=True), grad), None, None, None, None


def layer_norm(x: Tensor, size: int, weight: Tensor | None, bias: Tensor | None, eps: float) -> Tensor:
    """Layer norm over the last ``size`` dimensions of a dependent tensor, with fixed weights."""
    result: Tensor = _LayerNorm.apply(x, size, weight, bias, eps)
    return result


class _Largest(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, dim: int) -> tuple[Tensor, Tensor]:
        y, where = x.max(dim, keepdim=True)
        (a, b), (u, v) = halves(x), halves(y)
        middle = x.shape[0] // 2
        # Of the two entries that win, in the input or in the reference, the one of the larger maximum explains it all.
        place = torch.where(u >= v, where[:middle], where[middle:])
        gap = (a - b).gather(dim, place)
        ctx.save_for_backward(torch.where(gap == 0, torch.ones_like(gap), (u - v) / gap), place)
        ctx.dim, ctx.shape = dim, a.shape
        ctx.mark_non_differentiable(where)
        return y, where

    @staticmethod
    def backward(ctx: Any, grad: Tensor, _: Tensor) -> Any:
        multiplier, place = ctx.saved_tensors
        own = inputs_of(grad) * multiplier
        return only_inputs(own.new_zeros(ctx.shape).scatter(ctx.dim, place, own), grad), None


def largest(x: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    """The largest entries over a dimension that is not the first, which stays with size 1, and where they are.

    The difference goes to one entry: the largest of the input, if that exceeds the largest of the reference, or else
    the largest of the reference. Its own difference has the same sign and is no smaller: multipliers are between 0 and
    1.
    """
    y, where = _Largest.apply(x, dim)
    return y, where
