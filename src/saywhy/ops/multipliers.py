"""DeepLift's rules: operations whose backward pass carries multipliers instead of derivatives.

Every tensor here holds inputs and references in one batch: the first half of its rows are inputs, the second half their
references in the same order. The value of an operation is the ordinary one. Its backward pass gives an input row the
multipliers m of the *difference*, such that the sum of m times the differences of the arguments is the difference of
the result, and gives a reference row nothing. Chained with operations that are linear, and so have the same
multipliers as derivatives, the whole adds up because every part does.

Reference: Shrikumar, Greenside, Kundaje: Learning Important Features Through Propagating Activation Differences, ICML
2017, sections 3.2 (multipliers), 3.5.2 (rescale rule).

Departures: the paper has rules for element-wise functions and linear layers only. A product of two dependent tensors,
z = x y, is given what its Shapley value gives: dz = dx (y + y')/2 + dy (x + x')/2. The other rules are put together so
that multipliers stay within bounds. A quotient z = x / y takes the rule of the product x = z y, solved for dz: dx less
dy (z + z')/2, divided by (y + y')/2; layer norm is a quotient by the root of a mean of squares. Softmax is taken as
exp(x - log sum exp x), of element-wise functions and sums. As products with 1/y both would add up too, but out of terms
as large as the ratio of the two denominators, and more so with every layer: they cancel, and where a reference is zero
(Llama) they take all digits with them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd import Function

__all__ = [
    "CHORDS",
    "affine",
    "bilinear",
    "drop",
    "halves",
    "inputs_of",
    "matrix_product",
    "only_inputs",
    "product",
    "quotient",
    "rescale",
    "resolution",
]

Chord = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]
"""From arguments and values of an element-wise function, x, x', y, y', to (y - y') / (x - x')."""


def halves(x: Tensor) -> tuple[Tensor, Tensor]:
    """The inputs and the references of a batch, each n x ...; in half precision, as float32."""
    if x.dtype in (torch.bfloat16, torch.float16):
        x = x.float()
    middle = x.shape[0] // 2
    return x[:middle], x[middle:]


def only_inputs(grad: Tensor, like: Tensor | None = None) -> Tensor:
    """The gradient of a whole batch, 2n x ..., from that of its inputs, n x ...: references get none."""
    n = grad.shape[0]
    whole = grad.new_empty((2 * n, *grad.shape[1:]), dtype=grad.dtype if like is None else like.dtype)
    whole[:n] = grad
    whole[n:] = 0
    return whole


def inputs_of(grad: Tensor) -> Tensor:
    """The half of a gradient that belongs to inputs, n x ...; what belongs to references is zero."""
    return halves(grad)[0]


def resolution(x: Tensor) -> float:
    """How small a difference is too small to divide by: what rounding costs there, the midpoint costs here."""
    return float(torch.finfo(x.dtype).eps ** (1 / 3))


# ---- element-wise functions ------------------------------------------------------------------------------------------


def drop(distance: Tensor) -> Tensor:
    """(1 - exp(-t)) / t for t >= 0, and 1 at 0."""
    return torch.where(distance > 0, -torch.expm1(-distance) / distance, torch.ones_like(distance))


def _log_chord(a: Tensor, b: Tensor) -> Tensor:
    far = (a - b) / b
    return torch.where(far == 0, torch.ones_like(far), torch.log1p(far) / far) / b


def _small(x: Tensor) -> Tensor:
    return x.clamp_min(torch.finfo(x.dtype).tiny)


# Closed forms lose no digits where inputs and references nearly agree.
CHORDS: dict[str, Chord] = {
    "square": lambda a, b, y, z: a + b,
    "cube": lambda a, b, y, z: a * a + a * b + b * b,
    "exp": lambda a, b, y, z: torch.maximum(y, z) * drop((a - b).abs()),
    "expm1": lambda a, b, y, z: (torch.maximum(y, z) + 1) * drop((a - b).abs()),
    "log": lambda a, b, y, z: _log_chord(a, b),
    "log1p": lambda a, b, y, z: _log_chord(a + 1, b + 1),
    "reciprocal": lambda a, b, y, z: -y * z,
    "sqrt": lambda a, b, y, z: 1 / _small(y + z),
    "rsqrt": lambda a, b, y, z: -((y * z) ** 2) / _small(y + z),
}


class _Rescale(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, function: Callable[[Tensor], Tensor], chord: Chord | None, bent: bool) -> Tensor:
        y = function(x)
        (a, b), (u, v) = halves(x), halves(y)
        if chord is not None:
            ctx.save_for_backward(chord(a, b, u, v))
            return y
        gap = a - b
        with torch.enable_grad():
            middle = (b + gap / 2).detach().requires_grad_()
            (slope,) = torch.autograd.grad(function(middle).sum(), middle)
        ctx.save_for_backward(torch.where(gap.abs() > (0.0 if bent else resolution(a)), (u - v) / gap, slope))
        return y

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        (multiplier,) = ctx.saved_tensors
        return only_inputs(inputs_of(grad) * multiplier, grad), None, None, None


def rescale(
    function: Callable[[Tensor], Tensor], x: Tensor, *, chord: Chord | None = None, bent: bool = False
) -> Tensor:
    """An element-wise function by the rescale rule: (y - y') / (x - x').

    Where the difference is too small to divide by, the derivative in the middle stands in.

    Args:
        function: element-wise, of any shape.
        x: 2n x ...
        chord: the quotient in closed form, if there is one.
        bent: the function is straight but for some bends (ReLU), so that the quotient is exact however small it is.

    Example:
        >>> x = torch.tensor([3.0, -1.0], requires_grad=True)
        >>> rescale(torch.relu, x)[0].backward()
        >>> x.grad
        tensor([0.7500, 0.0000])
    """
    result: Tensor = _Rescale.apply(x, function, chord, bent)
    return result


# ---- products --------------------------------------------------------------------------------------------------------


def _mean(x: Tensor) -> Tensor:
    a, b = halves(x)
    return (a + b) / 2


class _Product(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, y: Tensor) -> Tensor:
        ctx.save_for_backward(_mean(x), _mean(y))
        ctx.like = x.new_empty(0), y.new_empty(0)
        return x * y

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        (x, y), own = ctx.saved_tensors, inputs_of(grad)
        return tuple(
            only_inputs((own * other).sum_to_size(mine.shape), like)
            for mine, other, like in ((x, y, ctx.like[0]), (y, x, ctx.like[1]))
        )


def product(x: Tensor, y: Tensor) -> Tensor:
    """The element-wise product of two dependent tensors of as many dimensions, each 2n x ..., broadcast."""
    result: Tensor = _Product.apply(x, y)
    return result


class _Quotient(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, y: Tensor, inverse: Tensor | None) -> Tensor:
        z = x / y if inverse is None else x * inverse
        ctx.save_for_backward(_mean(y), _mean(z))
        ctx.shapes = halves(x)[0].shape, halves(y)[0].shape
        ctx.like = x.new_empty(0), y.new_empty(0)
        return z

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        y, z = ctx.saved_tensors
        own = inputs_of(grad) / y
        above, below = own.sum_to_size(ctx.shapes[0]), (-own * z).sum_to_size(ctx.shapes[1])
        return only_inputs(above, ctx.like[0]), only_inputs(below, ctx.like[1]), None


def quotient(x: Tensor, y: Tensor, inverse: Tensor | None = None) -> Tensor:
    """One dependent tensor over another, x / y, of as many dimensions, each 2n x ..., broadcast.

    ``inverse`` is 1 / y, where the network has computed that and multiplies by it.
    """
    result: Tensor = _Quotient.apply(x, y, inverse)
    return result


class _MatrixProduct(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, y: Tensor) -> Tensor:
        ctx.save_for_backward(_mean(x), _mean(y))
        return x @ y

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        (x, y), own = ctx.saved_tensors, inputs_of(grad)
        left = (own @ y.transpose(-1, -2)).sum_to_size(x.shape)
        right = (x.transpose(-1, -2) @ own).sum_to_size(y.shape)
        return only_inputs(left, grad), only_inputs(right, grad)


def matrix_product(x: Tensor, y: Tensor) -> Tensor:
    """The matrix product of two dependent tensors of as many dimensions (three or more), each 2n x ..."""
    result: Tensor = _MatrixProduct.apply(x, y)
    return result


class _Bilinear(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, y: Tensor, function: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
        ctx.save_for_backward(_mean(x), _mean(y))
        ctx.function = function
        return function(x, y)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        # The rule of products says no more than this: the derivative at the mean of input and reference.
        with torch.enable_grad():
            x, y = (t.detach().requires_grad_() for t in ctx.saved_tensors)
            parts = torch.autograd.grad(ctx.function(x, y), (x, y), inputs_of(grad))
        return only_inputs(parts[0], grad), only_inputs(parts[1], grad), None


def bilinear(function: Callable[[Tensor, Tensor], Tensor], x: Tensor, y: Tensor) -> Tensor:
    """Any function that is linear in each of two dependent tensors, row by row: an einsum, say."""
    result: Tensor = _Bilinear.apply(x, y, function)
    return result


class _Affine(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(weight)
        return F.linear(x, weight, bias)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        (weight,) = ctx.saved_tensors
        return only_inputs(grad[: grad.shape[0] // 2] @ weight), None, None


def affine(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """`torch.nn.functional.linear` with fixed weights, whose backward pass leaves out the references: half the work."""
    result: Tensor = _Affine.apply(x, weight, bias)
    return result
