"""Distances of samples by their moments."""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["central_moment_discrepancy"]


def central_moment_discrepancy(one: Tensor, other: Tensor, moments: int = 5) -> Tensor:
    """How far two samples (N x d and M x d, in [-1, 1]) differ in their means and central moments, one number.

    Reference: Zellinger et al.: Central Moment Discrepancy (CMD), ICLR 2017, equation 5, with ranges of length 2.

    Departures: the code of DMR multiplies by k where it should raise to the k-th power, so that little but the means
    counts; this is the definition.

    Example:
        >>> sample = torch.tensor([[-0.5], [0.5]])
        >>> float(central_moment_discrepancy(sample, sample)), float(central_moment_discrepancy(sample, sample / 2)) > 0
        (0.0, True)
    """
    first, second = one.mean(0), other.mean(0)
    total = _norm(first - second) / 2
    for k in range(2, moments + 1):
        total = total + _norm(((one - first) ** k).mean(0) - ((other - second) ** k).mean(0)) / 2**k
    return total


def _norm(difference: Tensor) -> Tensor:
    # The root has no derivative at zero, where equal samples are.
    squares = difference.square().sum()
    return torch.where(squares > 0, squares.clamp_min(1e-20).sqrt(), squares)
