"""DeepLift's rules for one layer and direction of a GRU or an LSTM, computed for all steps at once.

The native layer gives the states. Once these are known, so are the gates of all steps and their multipliers, in a few
large operations; what is left for the backward pass to do step by step is linear. See `saywhy.ops.multipliers`.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd import Function

from saywhy.ops.multipliers import halves, only_inputs

__all__ = ["gru_layer", "lstm_layer"]


def _rescale(function: Any, x: Tensor) -> tuple[Tensor, Tensor]:
    """Multipliers (n x ...) of a sigmoid or tanh, and the mean of its values."""
    (a, b), few = halves(x), torch.finfo(torch.float32).eps ** (1 / 3)
    u, v, middle = function(a), function(b), function((a + b) / 2)
    slope = middle * (1 - middle) if function is torch.sigmoid else 1 - middle * middle
    gap = a - b
    return torch.where(gap.abs() > few, (u - v) / gap, slope), (u + v) / 2


def _mean(x: Tensor) -> Tensor:
    a, b = halves(x)
    return (a + b) / 2


def _before(states: Tensor, first: Tensor) -> Tensor:
    return torch.cat([first.unsqueeze(1), states[:, :-1]], dim=1)


class _Gru(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, h0: Tensor, *weights: Tensor) -> Tensor:
        states, _ = torch.gru(x, h0.unsqueeze(0), weights, len(weights) > 2, 1, 0.0, False, False, True)
        taken, kept = weights[2:] if len(weights) > 2 else (None, None)
        before = _before(states, h0)
        of_input = F.linear(x, weights[0], taken).chunk(3, dim=-1)
        of_state = F.linear(before, weights[1], kept).chunk(3, dim=-1)
        reset, reset_mean = _rescale(torch.sigmoid, of_input[0] + of_state[0])
        update, update_mean = _rescale(torch.sigmoid, of_input[1] + of_state[1])
        candidate = of_input[2] + torch.sigmoid(of_input[0] + of_state[0]) * of_state[2]
        new, new_mean = _rescale(torch.tanh, candidate)
        ctx.save_for_backward(
            update_mean,
            update * (_mean(before) - new_mean),
            new * (1 - update_mean),
            reset * _mean(of_state[2]),
            reset_mean,
            *weights[:2],
        )
        return states

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        keep, update, new, reset, open_, w_input, w_state = ctx.saved_tensors
        own = halves(grad)[0]
        carried = torch.zeros_like(own[:, 0])
        taken = []
        for t in reversed(range(own.shape[1])):
            at = own[:, t] + carried
            into_new = at * new[:, t]
            gates = torch.cat([into_new * reset[:, t], at * update[:, t]], dim=-1)
            taken.append(torch.cat([gates, into_new], dim=-1))
            carried = at * keep[:, t] + torch.cat([gates, into_new * open_[:, t]], dim=-1) @ w_state.to(own)
        into_x = torch.stack(taken[::-1], dim=1) @ w_input.to(own)
        return only_inputs(into_x, grad), only_inputs(carried, grad), *([None] * (len(ctx.needs_input_grad) - 2))


def gru_layer(x: Tensor, h0: Tensor, *weights: Tensor) -> Tensor:
    """One direction of a GRU layer: states (2n x L x h) from inputs (2n x L x d) and a first state (2n x h).

    ``weights`` are torch's: input to gates, state to gates, and the two biases, if any; fixed.
    """
    result: Tensor = _Gru.apply(x, h0, *weights)
    return result


class _Lstm(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, h0: Tensor, c0: Tensor, *weights: Tensor) -> tuple[Tensor, Tensor]:
        first = (h0.unsqueeze(0), c0.unsqueeze(0))
        states, _, _ = torch.lstm(x, first, weights, len(weights) > 2, 1, 0.0, False, False, True)
        taken, kept = weights[2:] if len(weights) > 2 else (None, None)
        pre = F.linear(x, weights[0], taken) + F.linear(_before(states, h0), weights[1], kept)
        enter, forget, new, leave = pre.chunk(4, dim=-1)
        added, retained = enter.sigmoid() * new.tanh(), forget.sigmoid()
        cells, cell = [], c0
        for t in range(x.shape[1]):
            cell = retained[:, t] * cell + added[:, t]
            cells.append(cell)
        memory = torch.stack(cells, dim=1)
        enter_slope, enter_mean = _rescale(torch.sigmoid, enter)
        forget_slope, forget_mean = _rescale(torch.sigmoid, forget)
        new_slope, new_mean = _rescale(torch.tanh, new)
        leave_slope, leave_mean = _rescale(torch.sigmoid, leave)
        shown_slope, shown_mean = _rescale(torch.tanh, memory)
        ctx.save_for_backward(
            leave_slope * shown_mean,
            leave_mean * shown_slope,
            torch.cat(
                [enter_slope * new_mean, forget_slope * _mean(_before(memory, c0)), new_slope * enter_mean], dim=-1
            ),
            forget_mean,
            *weights[:2],
        )
        return states, memory

    @staticmethod
    def backward(ctx: Any, grad: Tensor, grad_cells: Tensor) -> Any:
        leave, shown, gates, forget, w_input, w_state = ctx.saved_tensors
        own, own_cells = halves(grad)[0], halves(grad_cells)[0]
        carried, cell = torch.zeros_like(own[:, 0]), torch.zeros_like(own[:, 0])
        taken = []
        for t in reversed(range(own.shape[1])):
            at = own[:, t] + carried
            cell = cell + own_cells[:, t] + at * shown[:, t]
            into = torch.cat([cell.repeat(1, 3) * gates[:, t], at * leave[:, t]], dim=-1)
            taken.append(into)
            carried = into @ w_state.to(own)
            cell = cell * forget[:, t]
        into_x = torch.stack(taken[::-1], dim=1) @ w_input.to(own)
        found = (only_inputs(into_x, grad), only_inputs(carried, grad), only_inputs(cell, grad))
        return *found, *([None] * (len(ctx.needs_input_grad) - 3))


def lstm_layer(x: Tensor, h0: Tensor, c0: Tensor, *weights: Tensor) -> tuple[Tensor, Tensor]:
    """One direction of an LSTM layer: states and cells, both 2n x L x h; as `gru_layer` otherwise."""
    states, memory = _Lstm.apply(x, h0, c0, *weights)
    return states, memory
