from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from saywhy.ops.recurrent_multipliers import gru_layer, lstm_layer
from tests.ops.test_multipliers import check_sum, draw


def weights(cell: type[nn.RNNBase], bias: bool) -> list[Tensor]:
    torch.manual_seed(0)
    return [p.detach().double() * 3 for p in cell(3, 4, bias=bias).parameters()]


def run(layer: Any, given: list[Tensor]) -> Any:
    def rule(x: Tensor, *first: Tensor) -> Tensor:
        found = layer(x, *first, *given)
        return found if isinstance(found, Tensor) else torch.cat(found, dim=-1)

    return rule


def native_gru(given: list[Tensor]) -> Any:
    def plain(x: Tensor, h0: Tensor) -> Tensor:
        return torch.gru(x, h0[None], given, len(given) > 2, 1, 0.0, False, False, True)[0]

    return plain


def stepwise_lstm(given: list[Tensor]) -> Any:
    def plain(x: Tensor, h: Tensor, c: Tensor) -> Tensor:
        states, cells = [], []
        for t in range(x.shape[1]):
            h, c = torch.lstm_cell(x[:, t], (h, c), *given)
            states.append(h)
            cells.append(c)
        return torch.cat([torch.stack(states, 1), torch.stack(cells, 1)], dim=-1)

    return plain


@given(st.integers(0, 1000), st.booleans(), st.sampled_from([0.0, 1e-8, 0.1, 5.0]))
def test_gru_sums(seed: int, bias: bool, near: float) -> None:
    given = weights(nn.GRU, bias)
    tensors = [draw(seed, (4, 5, 3), 1.0, near), draw(seed + 1, (4, 4), 0.5, near)]
    check_sum(run(gru_layer, given), native_gru(given), tensors, 1e-7)


@given(st.integers(0, 1000), st.booleans(), st.sampled_from([0.0, 1e-8, 0.1, 5.0]))
def test_lstm_sums(seed: int, bias: bool, near: float) -> None:
    given = weights(nn.LSTM, bias)
    tensors = [draw(seed + i, shape, 0.7, near) for i, shape in enumerate([(4, 5, 3), (4, 4), (4, 4)])]
    check_sum(run(lstm_layer, given), stepwise_lstm(given), tensors, 1e-7)


@pytest.mark.parametrize("cell", ["gru", "lstm"])
def test_without_a_difference_multipliers_are_derivatives(cell: str) -> None:
    given = weights(nn.GRU if cell == "gru" else nn.LSTM, True)
    shapes = [(4, 5, 3), (4, 4)] if cell == "gru" else [(4, 5, 3), (4, 4), (4, 4)]
    layer, plain = (gru_layer, native_gru(given)) if cell == "gru" else (lstm_layer, stepwise_lstm(given))
    tensors = [draw(i, shape, 1.0, 0.0) for i, shape in enumerate(shapes)]
    grads = []
    for function in (run(layer, given), plain):
        leaves = [x.clone().requires_grad_() for x in tensors]
        grads.append(torch.autograd.grad(function(*leaves)[:2].pow(2).sum(), leaves))
    for found, expected in zip(*grads, strict=True):
        torch.testing.assert_close(found[:2], expected[:2])
