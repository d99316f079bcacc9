"""How far distributions are apart."""

from __future__ import annotations

from torch import Tensor

__all__ = ["kl_divergence", "symmetric_kl"]

_SMALLEST = 1e-12
_LOWEST = -100.0


def kl_divergence(p: Tensor, q: Tensor) -> Tensor:
    """Kullback-Leibler divergence KL(p || q) along the last dimension, (..., K) to (...).

    A place where p is 0 counts nothing; where only q is, it counts as if q were 1e-12 there, so that the divergence and
    its gradient stay finite.

    Example:
        >>> import torch
        >>> round(float(kl_divergence(torch.tensor([0.5, 0.5]), torch.tensor([0.25, 0.75]))), 4)
        0.1438
    """
    return (p * (p.clamp_min(_SMALLEST).log() - q.clamp_min(_SMALLEST).log())).sum(-1)


def symmetric_kl(first: Tensor, second: Tensor) -> Tensor:
    """KL between the softmaxes of two tables of scores (..., K), both ways and added, (...).

    In each way the distribution that is compared *with* is held fixed, as in the released code of SMART, so each table
    gets the gradient of one way. Scores of minus infinity (choices that an example does not have) count nothing.

    Reference: Jiang et al.: SMART, ACL 2020, equation 2, as in the code released with it.
    """
    one, two = first.log_softmax(-1).clamp_min(_LOWEST), second.log_softmax(-1).clamp_min(_LOWEST)
    return _held(one, two) + _held(two, one)


def _held(target: Tensor, other: Tensor) -> Tensor:
    fixed = target.detach()
    return (fixed.exp() * (fixed - other)).sum(-1)
