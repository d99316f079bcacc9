"""How much a function changes around a point: the size of its gradient, and the worst small step."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

__all__ = ["PROJECTIONS", "ascend", "gradient_norms"]

PROJECTIONS = ("power", "normalise", "ball")


def gradient_norms(losses: Tensor, x: Tensor, owner: Tensor | None = None) -> Tensor:
    """Euclidean norm of the gradient of each example's loss by its own inputs, in the graph.

    Args:
        losses: one for each example, (n,); each depends on its own rows of ``x`` only.
        x: inputs, rows x ...
        owner: the example of each row, (rows,); row i belongs to example i if None.

    Returns:
        (n,). At a gradient of exactly zero the norm's own gradient is zero.

    Reference: Ross and Doshi-Velez, AAAI 2018, section 3.2; REGEX, equation 4.

    Example:
        >>> x = torch.tensor([[3.0], [1.0]], requires_grad=True)
        >>> gradient_norms(x[:, 0] ** 2, x).tolist()
        [6.0, 2.0]
    """
    (gradient,) = torch.autograd.grad(losses.sum(), x, create_graph=True)
    squares = gradient.flatten(1).square().sum(1)
    if owner is not None:
        squares = torch.zeros_like(losses).index_add(0, owner, squares)
    # The root has no derivative at zero; a sum that is zero there has none to give.
    flat = squares == 0
    return torch.where(flat, torch.ones_like(squares), squares).sqrt().masked_fill(flat, 0.0)


def ascend(
    divergence: Callable[[Tensor], Tensor],
    start: Tensor,
    real: Tensor,
    *,
    steps: int = 1,
    step_size: float = 1e-3,
    epsilon: float = 1e-5,
    projection: str = "power",
) -> Tensor:
    """A small change that makes a divergence large: steps along its gradient, each projected.

    Args:
        divergence: of a change (rows x L x d), summed to one number.
        start: the change to begin with.
        real: where a change is allowed, rows x L; it is zero elsewhere, on padding.
        steps: how many steps up.
        step_size: of each; ``power`` has none.
        epsilon: what the projection knows of size; ``power`` needs none.
        projection: ``power`` goes on with the gradient's direction alone, the largest entry of a row being 1; the last
            of these is the change. ``normalise`` adds a step of the gradient and divides each position's change by its
            largest entry plus ``epsilon``, so that the largest becomes about 1, as in the code released with SMART:
            beside a start of that size a gradient is nothing, and what is found is random. ``ball`` cuts all entries
            at ``epsilon``, as the paper writes it.

    Returns:
        The change, without a graph; with no steps, ``start`` where it is allowed.

    Reference: Jiang et al.: SMART, ACL 2020, section 3.1 and algorithm 1; REGEX, equation 3; ``power``: Miyato et al.:
    Virtual Adversarial Training, 2018, section 3.3.
    """
    allowed = real.unsqueeze(-1).to(start.dtype)
    change = start * allowed
    small = start.abs().amax()
    for step in range(steps):
        change = change.detach().requires_grad_()
        (gradient,) = torch.autograd.grad(divergence(change), change)
        if projection == "power":
            gradient = gradient * allowed
            largest = gradient.abs().flatten(1).amax(-1)[:, None, None]
            change = gradient / largest.clamp_min(torch.finfo(gradient.dtype).tiny)
            # A further step measures the gradient as near as the first did: there the divergence is a quadratic form.
            change = change if step == steps - 1 else small * change
            continue
        change = change + step_size * gradient
        if projection == "normalise":
            change = change / (change.abs().amax(-1, keepdim=True) + epsilon)
        else:
            change = change.clamp(-epsilon, epsilon)
        change = change * allowed
    return change.detach()
