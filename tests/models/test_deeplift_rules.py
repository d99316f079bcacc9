from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from saywhy.models.deeplift_operations import BENDS, RULES
from saywhy.models.deeplift_rules import DeepLiftRules

ROWS = 4


def pairs(*shape: int, seed: int = 0) -> Tensor:
    """Inputs and references, all different, ROWS x ..."""
    return torch.randn(ROWS, *shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def contributions(function: Callable[..., Any], *tensors: Tensor) -> tuple[Tensor, Tensor, DeepLiftRules]:
    """Sums of contributions to, and differences of, a random mixture of the result's entries."""
    leaves = [x.clone().requires_grad_() for x in tensors]
    given = [leaf.clone() for leaf in leaves]
    with DeepLiftRules(ROWS) as rules:
        out = function(*given)
    torch.testing.assert_close(out, function(*[x.clone() for x in tensors]))
    n = len(out) // 2
    weights = torch.randn(out[:n].shape, generator=torch.Generator().manual_seed(9), dtype=out.dtype)
    grads = torch.autograd.grad((out[:n] * weights).sum(), leaves)
    half = ROWS // 2
    found = [(g[:half] * (x[:half] - x[half:])).sum() for g, x in zip(grads, tensors, strict=True)]
    return torch.stack(found).sum(), (weights * (out[:n] - out[n:])).sum().detach(), rules


def check(function: Callable[..., Any], *tensors: Tensor) -> None:
    found, gain, rules = contributions(function, *tensors)
    assert rules.unknown == set()
    torch.testing.assert_close(found, gain, atol=1e-7, rtol=1e-7)


WEIGHT = torch.randn(5, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
GAIN = torch.tensor([0.5, 1.0, 2.0], dtype=torch.float64)
KEEP = torch.tensor([[True, True, False], [True, True, True], [False, True, True]])


def in_place(name: str, *others: Any) -> Callable[..., Tensor]:
    return lambda x, *more: getattr(x + 0, name)(*more, *others)


def augmented(x: Tensor, y: Tensor) -> Tensor:
    x = x + 0
    x *= y
    x /= y.exp()
    x -= 1
    return x


ONE: dict[str, Callable[[Tensor], Any]] = {
    "1 / x": lambda x: 1 / (x.abs() + 0.1),
    "x.reciprocal": lambda x: x * (x.abs() + 0.1).reciprocal(),
    "x ** 2": lambda x: x**2,
    "x ** 3": lambda x: torch.pow(x, 3),
    "x ** 4": lambda x: x.pow(4),
    "x ** 0.5": lambda x: (x * x + 1) ** 0.5,
    "x ** -0.5": lambda x: x * (x * x + 1) ** -0.5,
    "x ** -1": lambda x: (x * x + 1) ** -1,
    "rms": lambda x: x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6),
    "rms_norm": lambda x: F.rms_norm(x, (3,), GAIN, 1e-6),
    "rms_norm, bare": lambda x: F.rms_norm(x, (3,)),
    "layer_norm": lambda x: F.layer_norm(x, (3,), GAIN, GAIN),
    "nn.LayerNorm": lambda x: nn.LayerNorm((3, 3), dtype=torch.float64, bias=False)(x),
    "gelu": F.gelu,
    "gelu, tanh": lambda x: F.gelu(x, approximate="tanh"),
    "nn.SiLU, in place": lambda x: nn.SiLU(inplace=True)(x + 0),
    "nn.ReLU, in place": lambda x: nn.ReLU(inplace=True)(x + 0),
    "relu_": in_place("relu_"),
    "tanh_": in_place("tanh_"),
    "clamp": lambda x: torch.clamp(x, min=-0.5, max=0.5),
    "input=": lambda x: torch.tanh(input=x),
    "prelu": lambda x: F.prelu(x, torch.tensor([0.3], dtype=x.dtype)),
    "elu": F.elu,
    "erf": torch.erf,
    "log(1 - exp)": lambda x: torch.log(-torch.expm1((-x.abs()).clamp_max(-1e-7))),
    "softmax": lambda x: torch.softmax(x, dim=-1),
    "F.softmax": lambda x: F.softmax(x, dim=-1, dtype=torch.float64),
    "x.softmax": lambda x: x.softmax(1),
    "nn.LogSoftmax": lambda x: nn.LogSoftmax(-1)(x),
    "logsumexp": lambda x: torch.logsumexp(x, dim=(-1,), keepdim=True),
    "glu": lambda x: F.glu(torch.cat([x, x.flip(-1)], -1)),
    "amax": lambda x: x.amax(1),
    "max": lambda x: x.max(dim=1).values,
    "max, kept": lambda x: torch.max(x, 1, keepdim=True)[0],
    "maximum": lambda x: torch.maximum(x, x.flip(1)),
    "max of two": lambda x: torch.max(x, x.flip(1)),
    "max_pool1d": lambda x: F.max_pool1d(x, 2, stride=1),
    "nn.MaxPool1d": lambda x: nn.MaxPool1d(3)(x),
    "linear": lambda x: F.linear(x, WEIGHT, bias=WEIGHT[:, 0]),
    "addmm": lambda x: torch.addmm(WEIGHT[:, 0], x.reshape(-1, 3), WEIGHT.t()).view(*x.shape[:-1], 5),
    "addmm, scaled": lambda x: torch.addmm(WEIGHT[:, 0], x.reshape(-1, 3), WEIGHT.t(), beta=2, alpha=3),
    "conv1d": lambda x: F.conv1d(x, WEIGHT[:3, :, None]),
    "einsum with a constant": lambda x: torch.einsum("bij,kj->bik", x, WEIGHT),
    "folded rows": lambda x: (x.reshape(-1, 3) * x.reshape(-1, 3)).tanh().view_as(x),
}
TWO: dict[str, Callable[[Tensor, Tensor], Any]] = {
    "x * y": lambda x, y: x * y,
    "mul_": in_place("mul_"),
    "augmented": augmented,
    "x / y": lambda x, y: x / (y.exp() + 1),
    "true_divide": lambda x, y: torch.true_divide(x, y.abs() + 0.5),
    "x @ y": lambda x, y: x @ y,
    "bmm": torch.bmm,
    "baddbmm": lambda x, y: torch.baddbmm(x, x, y, beta=0.5, alpha=2),
    "einsum": lambda x, y: torch.einsum("b i j, b k j -> b i k", x, y),
    "einsum of a list": lambda x, y: torch.einsum("bij,bjk->bik", [x, y]),
    "gated": lambda x, y: F.silu(x) * y,
    "attention": lambda x, y: F.scaled_dot_product_attention(x, y, x),
    "masked attention": lambda x, y: F.scaled_dot_product_attention(x, y, y, attn_mask=KEEP, scale=0.3),
    "causal attention": lambda x, y: F.scaled_dot_product_attention(x, y, y, is_causal=True),
    "biased attention": lambda x, y: F.scaled_dot_product_attention(x, y, y, WEIGHT[:3]),
    "blind attention": lambda x, y: F.scaled_dot_product_attention(x, y, y, KEEP & (torch.arange(3) != 1)[:, None]),
    "grouped attention": lambda x, y: F.scaled_dot_product_attention(
        torch.stack([x, y, x + 1, y - 1], 1), torch.stack([y, x], 1), torch.stack([x, y], 1), enable_gqa=True
    ),
}


@pytest.mark.parametrize("name", sorted(ONE))
def test_of_one_tensor(name: str) -> None:
    check(ONE[name], pairs(3, 3))


@pytest.mark.parametrize("name", sorted(TWO))
def test_of_two_tensors(name: str) -> None:
    check(TWO[name], pairs(3, 3), pairs(3, 3, seed=1))


@pytest.mark.parametrize("kind", [nn.GRU, nn.LSTM])
@pytest.mark.parametrize("options", [{}, {"bidirectional": True, "num_layers": 2}, {"bias": False}])
@pytest.mark.parametrize("batch_first", [True, False])
def test_recurrent_layers(kind: type[nn.RNNBase], options: dict[str, Any], batch_first: bool) -> None:
    torch.manual_seed(0)
    layer = kind(3, 4, batch_first=batch_first, **options).double()

    def run(x: Tensor) -> Tensor:
        states, last = layer(x if batch_first else x.transpose(0, 1))
        states = states if batch_first else states.transpose(0, 1)
        ends = torch.cat([last] if isinstance(last, Tensor) else list(last))
        return torch.cat([states.flatten(1), ends.transpose(0, 1).flatten(1)], dim=1)

    check(run, pairs(5, 3))


class Packed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.GRU(3, 4, batch_first=True).double()

    def forward(self, x: Tensor) -> Tensor:
        packed = nn.utils.rnn.pack_padded_sequence(x, torch.full((ROWS,), x.shape[1]), batch_first=True)
        return nn.utils.rnn.pad_packed_sequence(self.layer(packed)[0], batch_first=True)[0]


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("var", lambda x: x.var(-1)),
        ("softmax", lambda x: x.softmax(0)),
        ("max", lambda x: x.flatten(1).max().expand(ROWS)),
        ("rpow", lambda x: 2**x),
        ("topk", lambda x: x.topk(2, -1).values),
        ("matmul", lambda x: x[:, 0] @ x[:, 0, :3].t()),
        ("clamp", lambda x: torch.clamp(x, min=x.flip(1))),
        ("tanh", lambda x: torch.tanh(x.transpose(0, 1)).transpose(0, 1)),
        ("gru", Packed()),
    ],
)
def test_what_has_no_rule_is_named_and_keeps_its_gradient(name: str, function: Callable[[Tensor], Tensor]) -> None:
    leaf = pairs(3, 3).requires_grad_()
    given = leaf.clone()
    with DeepLiftRules(ROWS) as rules:
        out = function(given)
    assert name in rules.unknown
    (found,) = torch.autograd.grad(out[:2].sum(), leaf)
    (expected,) = torch.autograd.grad(function(leaf)[:2].sum(), leaf)
    torch.testing.assert_close(found, expected)


def test_what_no_word_touches_needs_no_rule() -> None:
    weight = nn.Parameter(torch.randn(3, 3, dtype=torch.float64))
    x = pairs(3, 3).requires_grad_().clone()
    with DeepLiftRules(ROWS) as rules:
        out = x @ weight.var(-1, keepdim=True).expand(3, 3).sigmoid()
        transposed, places = weight.T, x.argsort(-1)
    assert not transposed.requires_grad
    assert not places.requires_grad
    assert rules.unknown == set()
    torch.autograd.grad(out.sum(), x)
    assert weight.requires_grad
    assert weight.grad is None


def test_other_threads_know_nothing_of_it() -> None:
    grads: list[Tensor] = []

    def elsewhere() -> None:
        leaf = torch.tensor([3.0, -1.0], requires_grad=True)
        grads.extend(torch.autograd.grad(torch.relu(leaf.clone())[0], leaf))

    leaf = torch.tensor([3.0, -1.0], requires_grad=True)
    given = leaf.clone()
    with DeepLiftRules(2):
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
        out = torch.relu(given)
    assert grads[0].tolist() == [1.0, 0.0]
    assert torch.autograd.grad(out[0], leaf)[0].tolist() == [0.75, 0.0]
    elsewhere()
    assert grads[1].tolist() == [1.0, 0.0]


@pytest.mark.parametrize("activation", [nn.ReLU, nn.Tanh, nn.Sigmoid, nn.LeakyReLU, nn.Softplus])
@pytest.mark.filterwarnings("ignore:Setting forward, backward hooks")
def test_equals_captum_on_networks_it_has_rules_for(activation: type[nn.Module]) -> None:
    captum = pytest.importorskip("captum.attr")
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(6, 8), activation(), nn.Linear(8, 5), activation(), nn.Linear(5, 3))
    x, reference = torch.randn(7, 6), torch.randn(7, 6)
    expected = captum.DeepLift(network).attribute(x.clone().requires_grad_(), reference, target=1)
    leaf = x.clone().requires_grad_()
    pair = torch.cat([leaf, reference])
    with DeepLiftRules(14) as rules:
        out = network(pair)
    (grad,) = torch.autograd.grad(out[:7, 1].sum(), leaf)
    assert rules.unknown == set()
    torch.testing.assert_close(grad * (x - reference), expected.detach(), atol=1e-6, rtol=1e-4)


@pytest.mark.filterwarnings("ignore:Setting forward, backward hooks")
def test_equals_captum_on_its_own_test_network() -> None:
    captum = pytest.importorskip("captum.attr")
    models = pytest.importorskip("captum.testing.helpers.basic_models")
    network = models.ReLULinearModel()
    inputs = (torch.tensor([[-10.0, 1.0, -5.0]]), torch.tensor([[3.0, 3.0, 1.0]]))
    references = (torch.zeros(1, 3), torch.tensor([[1.0, -1.0, 2.0]]))
    expected = captum.DeepLift(network).attribute(tuple(x.clone().requires_grad_() for x in inputs), references)
    leaves = [x.clone().requires_grad_() for x in inputs]
    given = [torch.cat(pair) for pair in zip(leaves, references, strict=True)]
    with DeepLiftRules(2):
        out = network(*given)
    grads = torch.autograd.grad(out[:1].sum(), leaves)
    for x, reference, grad, other in zip(inputs, references, grads, expected, strict=True):
        torch.testing.assert_close(grad * (x - reference), other.detach(), atol=1e-5, rtol=1e-5)


def test_every_rule_belongs_to_a_function_of_torch() -> None:
    for name in {*RULES, *BENDS}:
        assert hasattr(torch, name) or hasattr(F, name) or hasattr(Tensor, name), name
