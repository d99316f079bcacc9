"""Operations of networks, put together from DeepLift's rules: which rule applies to which arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import torch
from torch import Tensor

from saywhy.ops import joint_multipliers as joint
from saywhy.ops import multipliers as m
from saywhy.ops.recurrent_multipliers import gru_layer, lstm_layer

__all__ = ["BENDS", "RULES", "NoRuleError", "Operations", "any_depends"]

BENDS = frozenset({
    "abs", "celu", "clamp", "clamp_max", "clamp_min", "clip", "elu", "hardsigmoid", "hardswish", "hardtanh",
    "leaky_relu", "prelu", "relu", "relu6", "threshold",
})  # fmt: skip
"""Element-wise functions with bends, where a derivative in the middle would miss what happens on its two sides."""


class NoRuleError(Exception):
    """There is no rule for this operation, or not for these arguments."""


def _depends(x: Any) -> bool:
    return isinstance(x, Tensor) and x.requires_grad


def any_depends(values: Any) -> bool:
    """Whether any of some arguments, or lists of them, requires a gradient."""
    for x in values:
        if isinstance(x, Tensor):
            if x.requires_grad:
                return True
        elif isinstance(x, tuple | list) and any_depends(x):
            return True
    return False


class Operations:
    """Operations on tensors with so many rows, inputs and references together, along their first dimension."""

    def __init__(self, rows: int) -> None:
        self.rows = rows
        self._inverses: dict[int, tuple[Tensor, Tensor]] = {}

    def check(self, *tensors: Tensor, dim: int | None = None) -> None:
        """Raise `NoRuleError` unless the tensors' first dimension holds the rows, and ``dim`` is not that one."""
        for x in tensors:
            if x.dim() == 0 or x.shape[0] % self.rows or (dim is not None and dim % x.dim() == 0):
                raise NoRuleError

    def element_wise(
        self, function: Callable[..., Tensor], name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Tensor:
        """A function of one dependent tensor and constants that do not differ from row to row."""
        if not args or not _depends(args[0]):
            raise NoRuleError
        (x, *others) = args
        for other in (*others, *kwargs.values()):
            if isinstance(other, Tensor) and (_depends(other) or (other.dim() == x.dim() and other.shape[0] > 1)):
                raise NoRuleError
        self.check(x)

        def alone(t: Tensor) -> Tensor:
            return function(t, *others, **kwargs)

        return m.rescale(alone, x, chord=m.CHORDS.get(name), bent=name in BENDS)

    def inverse(self, y: Tensor, x: Tensor) -> Tensor:
        """Remember that y is 1 / x: multiplying by y divides by x."""
        self._inverses[id(y)] = (y, x)  # y too, so that nothing else can get its id
        return y

    def times(self, x: Any, y: Any) -> Tensor:
        """The element-wise product of anything."""
        if not (_depends(x) and _depends(y)):
            return x * y
        self.check(x, y)
        if x.dim() != y.dim():
            raise NoRuleError
        for one, other in ((x, y), (y, x)):
            if id(one) in self._inverses:
                return m.quotient(other, self._inverses[id(one)][1], one)
        return m.product(x, y)

    def over(self, x: Any, y: Any) -> Tensor:
        """The element-wise quotient of anything."""
        if not _depends(y):
            return x / y
        if not _depends(x):
            return x * self.element_wise(torch.reciprocal, "reciprocal", (y,), {})
        self.check(x, y)
        if x.dim() != y.dim():
            raise NoRuleError
        return m.quotient(x, y)

    def root(self, x: Tensor, inverse: bool = False) -> Tensor:
        """The square root of a dependent tensor, or one over it."""
        if not inverse:
            return self.element_wise(torch.sqrt, "sqrt", (x,), {})
        return self.inverse(self.element_wise(torch.rsqrt, "rsqrt", (x,), {}), self.root(x))

    def matrix(self, x: Tensor, y: Tensor) -> Tensor:
        """The matrix product of anything."""
        if not (_depends(x) and _depends(y)):
            return x @ y
        self.check(x, y)
        # The matrices themselves must not have the rows in them.
        if x.dim() != y.dim() or x.dim() < 3:
            raise NoRuleError
        return m.matrix_product(x, y)


RULES: dict[str, Callable[..., Any]] = {}
_F = TypeVar("_F", bound=Callable[..., Any])


def _rule(function: _F) -> _F:
    RULES[function.__name__.removeprefix("_rule_")] = function
    return function


@_rule
def _rule_mul(to: Operations, x: Any, other: Any) -> Tensor:
    return to.times(x, other)


@_rule
def _rule_div(to: Operations, x: Any, other: Any, rounding_mode: str | None = None) -> Tensor:
    if rounding_mode is not None:
        raise NoRuleError
    return to.over(x, other)


@_rule
def _rule___rdiv__(to: Operations, x: Any, other: Any) -> Tensor:
    return to.over(other, x)


@_rule
def _rule_reciprocal(to: Operations, x: Tensor) -> Tensor:
    return to.inverse(to.element_wise(torch.reciprocal, "reciprocal", (x,), {}), x)


@_rule
def _rule_rsqrt(to: Operations, x: Tensor) -> Tensor:
    return to.root(x, inverse=True)


@_rule
def _rule_pow(to: Operations, x: Any, exponent: Any) -> Tensor:
    if not isinstance(exponent, int | float):
        return to.element_wise(torch.pow, "pow", (x, exponent), {})
    if exponent == -1:
        return _rule_reciprocal(to, x)
    if exponent in (0.5, -0.5):
        return to.root(x, inverse=exponent < 0)
    name = "square" if exponent == 2 else "cube" if exponent == 3 else "pow"
    return to.element_wise(torch.pow, name, (x, exponent), {})


@_rule
def _rule_matmul(to: Operations, x: Tensor, other: Tensor) -> Tensor:
    return to.matrix(x, other)


@_rule
def _rule_baddbmm(
    to: Operations, x: Tensor, batch1: Tensor, batch2: Tensor, *, beta: float = 1, alpha: float = 1
) -> Tensor:
    return beta * x + alpha * to.matrix(batch1, batch2)


@_rule
def _rule_addmm(to: Operations, x: Tensor, mat1: Tensor, mat2: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    if beta == alpha == 1 and not _depends(x) and not _depends(mat2):
        to.check(mat1)
        return m.affine(mat1, mat2.t(), x)
    return beta * x + alpha * to.matrix(mat1, mat2)


@_rule
def _rule_linear(to: Operations, x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    if _depends(weight) or _depends(bias):
        raise NoRuleError
    to.check(x)
    return m.affine(x, weight, bias)


@_rule
def _rule_einsum(to: Operations, equation: Any, *operands: Any) -> Tensor:
    if len(operands) == 1 and isinstance(operands[0], tuple | list):
        operands = tuple(operands[0])
    if sum(map(_depends, operands)) < 2:
        return torch.einsum(equation, *operands)
    parts = equation.replace(" ", "").replace("->", ",").split(",") if isinstance(equation, str) else []
    # Two tensors and a result that all begin with the same dimension: the rows.
    if len(operands) != 2 or len(parts) != 3 or len({part[:1] for part in parts}) != 1 or not parts[0]:
        raise NoRuleError
    to.check(*operands)
    return m.bilinear(lambda x, y: torch.einsum(equation, x, y), *operands)


@_rule
def _rule_scaled_dot_product_attention(
    to: Operations,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    if dropout_p:
        raise NoRuleError
    if enable_gqa:
        groups = query.shape[-3] // key.shape[-3]
        key, value = key.repeat_interleave(groups, -3), value.repeat_interleave(groups, -3)
    scores = to.matrix(query * (query.shape[-1] ** -0.5 if scale is None else scale), key.transpose(-1, -2))
    if is_causal:
        attn_mask = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).tril()
    if attn_mask is None:
        return to.matrix(_rule_softmax(to, scores, -1), value)
    if attn_mask.dtype != torch.bool:
        return to.matrix(_rule_softmax(to, scores + attn_mask, -1), value)
    # The lowest number and not -inf: a query with nothing to look at would become NaN. As in torch, it sees nothing.
    lowest = torch.finfo(scores.dtype).min
    weights = _rule_softmax(to, scores.masked_fill(~attn_mask, lowest), -1)
    blind = ~attn_mask.any(-1, keepdim=True)
    return to.matrix(weights.masked_fill(blind, 0.0) if bool(blind.any()) else weights, value)


@_rule
def _rule_softmax(to: Operations, x: Tensor, dim: int, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    to.check(x, dim=dim)
    return joint.softmax(x if dtype is None else x.to(dtype), dim)


@_rule
def _rule_log_softmax(to: Operations, x: Tensor, dim: int, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    to.check(x, dim=dim)
    return joint.log_softmax(x if dtype is None else x.to(dtype), dim)


@_rule
def _rule_logsumexp(to: Operations, x: Tensor, dim: Any, keepdim: bool = False) -> Tensor:
    (dim,) = dim if isinstance(dim, tuple | list) and len(dim) == 1 else (dim,)
    if not isinstance(dim, int):
        raise NoRuleError
    to.check(x, dim=dim)
    return joint.log_sum_exp(x, dim, keepdim)


@_rule
def _rule_layer_norm(
    to: Operations,
    x: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    cudnn_enable: bool = True,
) -> Tensor:
    to.check(x)
    if len(normalized_shape) >= x.dim() or _depends(weight) or _depends(bias):
        raise NoRuleError
    return joint.layer_norm(x, len(normalized_shape), weight, bias, eps)


@_rule
def _rule_rms_norm(
    to: Operations,
    x: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    eps: float | None = None,
) -> Tensor:
    dims = tuple(range(-len(normalized_shape), 0))
    if len(dims) >= x.dim() or _depends(weight):
        raise NoRuleError
    square = to.element_wise(torch.square, "square", (x,), {}).mean(dims, keepdim=True)
    scale = to.root(square + (torch.finfo(x.dtype).eps if eps is None else eps), inverse=True)
    normed = to.times(x, scale)
    return normed if weight is None else normed * weight


@_rule
def _rule_glu(to: Operations, x: Tensor, dim: int = -1) -> Tensor:
    to.check(x, dim=dim)
    value, gate = x.chunk(2, dim)
    return to.times(value, to.element_wise(torch.sigmoid, "sigmoid", (gate,), {}))


@_rule
def _rule_amax(to: Operations, x: Tensor, dim: Any, keepdim: bool = False) -> Tensor:
    if not isinstance(dim, int):
        raise NoRuleError
    to.check(x, dim=dim)
    values = joint.largest(x, dim)[0]
    return values if keepdim else values.squeeze(dim)


@_rule
def _rule_max(to: Operations, x: Tensor, dim: Any = None, keepdim: bool = False) -> Any:
    if isinstance(dim, Tensor):
        return _rule_maximum(to, x, dim)
    if dim is None:
        raise NoRuleError
    to.check(x, dim=dim)
    values, where = joint.largest(x, dim)
    return torch.return_types.max((values, where) if keepdim else (values.squeeze(dim), where.squeeze(dim)))


@_rule
def _rule_maximum(to: Operations, x: Tensor, other: Tensor) -> Tensor:
    return other + to.element_wise(torch.relu, "relu", (x - other,), {})


@_rule
def _rule_max_pool1d(
    to: Operations,
    x: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Tensor:
    (size,) = kernel_size if isinstance(kernel_size, tuple | list) else (kernel_size,)
    (step,) = stride if isinstance(stride, tuple | list) and stride else (stride or size,)
    if padding not in (0, (0,)) or dilation not in (1, (1,)) or ceil_mode or return_indices or x.dim() != 3:
        raise NoRuleError
    return _rule_amax(to, x.unfold(-1, size, step), -1)


@_rule
def _rule_gru(to: Operations, *args: Any) -> tuple[Tensor, Tensor]:
    found, (last,) = _recurrent(to, gru_layer, 1, *args)
    return found, last


@_rule
def _rule_lstm(to: Operations, *args: Any) -> tuple[Tensor, Tensor, Tensor]:
    found, (last, cell) = _recurrent(to, lstm_layer, 2, *args)
    return found, last, cell


def _recurrent(to: Operations, layer: Callable[..., Any], states: int, *args: Any) -> tuple[Tensor, list[Tensor]]:
    """All layers and directions; arguments are those of `torch.gru` and `torch.lstm`."""
    x, first, weights, biases, layers, dropout, training, both, batch_first = args
    if not isinstance(weights, tuple | list) or (dropout and training) or x.dim() != 3:
        raise NoRuleError  # packed sequences pass other arguments
    each = 4 if biases else 2
    ways = 2 if both else 1
    if len(weights) != each * layers * ways:
        raise NoRuleError  # projections
    first = [first] if states == 1 else list(first)
    hidden = x if batch_first else x.transpose(0, 1)
    to.check(hidden)
    ends: list[list[Tensor]] = [[] for _ in range(states)]
    for number in range(layers):
        made = []
        for way in range(ways):
            place = number * ways + way
            given = hidden.flip(1) if way else hidden
            found = layer(given, *(start[place] for start in first), *weights[place * each : (place + 1) * each])
            parts = (found,) if states == 1 else found
            for end, part in zip(ends, parts, strict=True):
                end.append(part[:, -1])
            made.append(parts[0].flip(1) if way else parts[0])
        hidden = torch.cat(made, dim=-1)
    return hidden if batch_first else hidden.transpose(0, 1), [torch.stack(end) for end in ends]
