"""Gradients of a loss of examples, taken row by row where the rows do not fit into memory at once."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

import numpy as np
import torch
from torch import Tensor

from saywhy.models.encoding import Encoded
from saywhy.models.tasks import Task
from saywhy.ops.batching import rows_that_fit

__all__ = ["Loss", "Run", "differentiate", "group_by_length"]

Loss: TypeAlias = Callable[[Tensor, np.ndarray], Tensor]
"""From scores (n x K) and the owners of their rows (n,) to one number per row (n,)."""

Run: TypeAlias = Callable[[slice, bool], tuple[Tensor, Tensor, Tensor]]
"""Runs some rows, with or without a graph: their scores, the leaf to differentiate by, and anything to go with it."""


def differentiate(
    task: Task, run: Run, index: Tensor, owner: np.ndarray, loss: Loss, batch_size: int
) -> tuple[Tensor, Tensor, Iterator[tuple[slice, Tensor, Tensor]]]:
    """Scores and losses of a group of items, and the gradients of the losses, chunk by chunk of rows.

    Args:
        task: combines rows into items.
        run: runs the rows of a slice.
        index: the item each row belongs to, (rows,).
        owner: number of the example of each item, handed on to the loss.
        loss: one number per item.
        batch_size: the most rows at a time.

    Returns:
        Scores (items x K), losses (items,) and an iterator over slices of rows with their gradients and whatever
        ``run`` returned with them.
    """
    rows, size = len(index), len(owner)
    if rows <= batch_size:
        with _gradients():
            raw, leaf, extra = run(slice(0, rows), True)
            scores = task.combine(raw, index.to(raw.device), size)
            value = loss(scores, owner)
            (grad,) = torch.autograd.grad(value.sum(), leaf)
        return scores.detach(), value.detach(), iter([(slice(0, rows), grad, extra)])
    # One item with more rows than fit at once: first what the loss wants of each row, then the rows' own gradients.
    chunks = [slice(start, min(rows, start + batch_size)) for start in range(0, rows, batch_size)]
    with _gradients():
        with torch.no_grad():
            raw = torch.cat([run(chunk, False)[0] for chunk in chunks])
        raw.requires_grad_()
        scores = task.combine(raw, index.to(raw.device), size)
        value = loss(scores, owner)
        (wanted,) = torch.autograd.grad(value.sum(), raw)

    def gradients() -> Iterator[tuple[slice, Tensor, Tensor]]:
        for chunk in chunks:
            with _gradients():
                part, leaf, extra = run(chunk, True)
                (grad,) = torch.autograd.grad(part, leaf, wanted[chunk])
            yield chunk, grad, extra

    return scores.detach(), value.detach(), gradients()


@contextlib.contextmanager
def _gradients() -> Iterator[None]:
    """Gradients are taken even where the caller has switched them off, as serving code does."""
    with torch.inference_mode(False), torch.enable_grad():
        yield


def group_by_length(
    encoded: Sequence[Encoded], owner: np.ndarray, batch_size: int, *, square: bool = False
) -> list[np.ndarray]:
    """Items grouped by length so that the rows of a group fit into a batch; an item with more rows comes alone.

    ``square``: as for `rows_that_fit`.
    """
    longest = [max(len(row) for row in encoded[int(number)].rows) for number in owner]
    groups: list[list[int]] = []
    size = 0
    for item in sorted(range(len(owner)), key=longest.__getitem__):
        rows = len(encoded[int(owner[item])].rows)
        if not groups or size + rows > rows_that_fit(batch_size, longest[item], square=square):
            groups.append([])
            size = 0
        groups[-1].append(item)
        size += rows
    return [np.asarray(group) for group in groups]
