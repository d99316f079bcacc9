"""A mode under which any network's backward pass carries DeepLift's multipliers.

Torch functions are intercepted by name, so it does not matter which module calls them, how often a module is reused, or
who wrote it. A mode is local to its thread, and nothing is patched. See `saywhy.ops.multipliers` for the rules.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from inspect import signature
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from saywhy.models.deeplift_operations import BENDS, RULES, NoRuleError, Operations, any_depends

__all__ = ["DeepLiftRules"]


class DeepLiftRules(TorchFunctionMode):
    """Within this context the backward pass of what is computed carries multipliers; values are the ordinary ones.

    What depends on the words is what requires a gradient; parameters are read as constants. Tensors that depend on the
    words have inputs and references along their first dimension: half of the rows each, in the same order.

    Args:
        rows: inputs and references together. Networks may fold other dimensions into the first one, behind the rows.

    Example:
        >>> leaf = torch.tensor([[3.0]], requires_grad=True)
        >>> pair = torch.cat([leaf, torch.tensor([[-1.0]])])
        >>> with DeepLiftRules(2) as rules:
        ...     out = torch.relu(pair)
        >>> torch.autograd.grad(out[0].sum(), leaf)[0], rules.unknown
        (tensor([[0.7500]]), set())
    """

    def __init__(self, rows: int) -> None:
        super().__init__()
        self.operations = Operations(rows)
        self.unknown: set[str] = set()
        """Names of operations met that have no rule; their ordinary gradient was used."""

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Run a function, by its rule where it has one."""
        name = getattr(func, "__name__", "")
        args = tuple([_constant(a) for a in args])
        kwargs = {key: _constant(value) for key, value in kwargs.items()} if kwargs else {}
        if not args and "input" in kwargs:
            args = (kwargs.pop("input"),)
        if name in _LINEAR or not (any_depends(args) or any_depends(kwargs.values())):
            return func(*args, **kwargs)
        name = _ALIASES.get(name, name)
        in_place = name.endswith("_") and not name.endswith("__")
        base = name[:-1] if in_place else name
        in_place = in_place or bool(kwargs.pop("inplace", False))
        try:
            result = self._by_rule(base, func, in_place, args, kwargs)
        except NoRuleError:
            result = func(*args, **kwargs)
            if any_depends(result if isinstance(result, tuple | list) else (result,)):
                self.unknown.add(base.strip("_"))
            return result
        return args[0].copy_(result) if in_place else result

    def _by_rule(self, name: str, func: Any, in_place: bool, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if name in _LINEAR_IN_FIRST:
            if any_depends(args[1:]) or any_depends(kwargs.values()):
                raise NoRuleError
            return func(*args, **kwargs)
        if name in _CURVES or name in BENDS:
            function = getattr(torch, name, None) or getattr(torch.nn.functional, name) if in_place else func
            return self.operations.element_wise(function, name, args, kwargs)
        rule = RULES.get(name)
        if rule is None:
            raise NoRuleError
        if kwargs and not kwargs.keys() <= _parameters(rule):
            raise NoRuleError  # an option that the rule does not know, such as out=
        return rule(self.operations, *args, **kwargs)


@cache
def _parameters(rule: Callable[..., Any]) -> frozenset[str]:
    return frozenset(signature(rule).parameters)


def _constant(x: Any) -> Any:
    """Parameters without their wish for a gradient; the embeddings themselves are no leaf, so they keep theirs."""
    if isinstance(x, Tensor):
        return x.detach() if x.requires_grad and x.is_leaf else x
    if type(x) in (tuple, list) and any(isinstance(part, Tensor) for part in x):
        return type(x)(_constant(part) for part in x)
    return x


# ---- which operation is what -----------------------------------------------------------------------------------------

_LINEAR = frozenset({
    "__get__", "__getitem__", "__rsub__", "__setitem__", "add", "add_", "avg_pool1d", "bfloat16", "broadcast_to",
    "cat", "chunk", "clone", "column_stack", "concat", "concatenate", "contiguous", "copy_", "cpu", "cuda", "cumsum",
    "detach", "diagonal", "double", "dropout", "dropout1d", "dropout_", "dstack", "expand", "expand_as", "fill_",
    "flatten", "flip", "float", "gather", "half", "hsplit", "hstack", "index_add", "index_add_", "index_copy",
    "index_fill", "index_put", "index_put_", "index_select", "masked_fill", "masked_fill_", "masked_scatter",
    "masked_select", "mean", "moveaxis", "movedim", "nan_to_num", "narrow", "neg", "negative", "pad", "permute",
    "positive", "repeat", "repeat_interleave", "requires_grad_", "reshape", "reshape_as", "retain_grad", "roll",
    "rsub", "scatter", "scatter_", "scatter_add", "scatter_add_", "select", "split", "split_with_sizes", "squeeze",
    "stack", "sub", "sub_", "subtract", "sum", "swapaxes", "swapdims", "t", "take_along_dim", "tensor_split", "tile",
    "to", "transpose", "tril", "triu", "type", "type_as", "unbind", "unflatten", "unfold", "unsqueeze", "view",
    "view_as", "vsplit", "vstack", "where", "zero_",
})  # fmt: skip
"""Operations whose multipliers are their derivatives, whatever of their arguments depends on the words."""
_LINEAR_IN_FIRST = frozenset({
    "adaptive_avg_pool1d", "conv1d", "conv2d",
})  # fmt: skip
_CURVES = frozenset({
    "cos", "erf", "exp", "expm1", "gelu", "log", "log1p", "logsigmoid", "mish", "selu",
    "sigmoid", "silu", "sin", "softplus", "softsign", "sqrt", "square", "tanh",
})  # fmt: skip
_ALIASES = {
    "__imul__": "mul_",
    "__itruediv__": "div_",
    "__matmul__": "matmul",
    "__mul__": "mul",
    "__pow__": "pow",
    "__rmul__": "mul",
    "__rtruediv__": "__rdiv__",
    "__truediv__": "div",
    "bmm": "matmul",
    "divide": "div",
    "mm": "matmul",
    "multiply": "mul",
    "true_divide": "div",
}
