"""Distributions from scores: softmax, sparsemax and what lies between, on one scale of scores.

Softmax knows scores by their differences; sparsemax knows them by their size against 1/n, so that scores which softmax
spreads over many places may leave sparsemax with one, and the more so the longer the text. `normalise` puts both on one
scale: a score of u near the uniform distribution changes a place's share by the factor 1 + u, whatever the norm and the
length. `deviation` is the way back.
"""

from __future__ import annotations

import torch
from torch import Tensor

from saywhy.errors import OptionError

__all__ = ["NORMS", "check_norm", "deviation", "entmax", "normalise", "project"]

NORMS = {"softmax": 1.0, "entmax15": 1.5, "sparsemax": 2.0}
"""Norms by name, with the alpha of the family they belong to."""

_FILL = -1e9  # finite: infinite scores have no derivative
_SMALLEST = 1e-12
_STEPS = 60
_START = -0.5  # any between -1 and 0; here few steps are left to most rows of features
_ENOUGH = 1e-6


def check_norm(norm: str) -> None:
    """Raise an error for an unknown norm."""
    if norm not in NORMS:
        raise OptionError(f"norm must be one of {', '.join(NORMS)}, not {norm!r}")


def entmax(scores: Tensor, alpha: float) -> Tensor:
    """Sparse distributions over the last dimension: sparsemax for alpha 2, entmax 1.5 for alpha 1.5.

    The threshold is found by Newton's method: it takes a few passes over the scores, less than a sixteenth of the time
    of sorting them for rows of 32. Can be differentiated twice.

    Reference: Martins and Astudillo, From Softmax to Sparsemax, ICML 2016; Peters, Niculae, Martins, Sparse
    Sequence-to-Sequence Models, ACL 2019.

    Example:
        >>> entmax(torch.tensor([0.25, 0.0, -2.0]), 2.0).tolist()
        [0.625, 0.375, 0.0]
    """
    scaled = scores if alpha == 2 else scores * (alpha - 1)
    scaled = scaled - scaled.detach().amax(-1, keepdim=True)
    power = 1 / (alpha - 1)
    with torch.no_grad():
        threshold = _threshold(scaled, power)
    if not (torch.is_grad_enabled() and scores.requires_grad):
        return _raised(scaled.sub_(threshold).clamp_min_(0), power)
    # Two more steps, in the graph, carry the first and the second derivative of the threshold.
    for _ in range(2):
        above = (scaled - threshold).clamp_min(0)
        excess = _raised(above, power).sum(-1, keepdim=True) - 1
        slope = _slope(above, power).sum(-1, keepdim=True)
        threshold = threshold + excess / slope.clamp_min(_SMALLEST)
    return _raised((scaled - threshold).clamp_min(0), power)


def _threshold(scaled: Tensor, power: float) -> Tensor:
    """What is taken off so that the rest, raised to the power, sums to 1; the largest score is 0."""
    rows = scaled.reshape(-1, scaled.shape[-1])
    return _newton(rows, rows.new_full((len(rows),), _START), power).reshape(*scaled.shape[:-1], 1)


def _newton(rows: Tensor, threshold: Tensor, power: float) -> Tensor:
    """Newton's method: behind one step the threshold is too low, if anything, as the sum is convex in it.

    The few rows that take more than three steps go on alone.
    """
    above, ones = torch.empty_like(rows), rows.new_ones(rows.shape[-1])
    for step in range(_STEPS):
        torch.sub(rows, threshold.unsqueeze(-1), out=above).clamp_min_(0)
        # A product with ones is a faster sum of short rows.
        excess = _raised(above, power) @ ones - 1
        slope = (above.sign_() if power == 1 else _slope(above, power)) @ ones
        threshold = threshold + excess / slope.clamp_min(_SMALLEST)
        if not step:
            continue
        left = (excess > _ENOUGH).nonzero().squeeze(-1)
        if not len(left):
            break
        if 2 * len(left) < len(rows):
            threshold[left] = _newton(rows[left], threshold[left], power)
            break
    return threshold


def _slope(above: Tensor, power: float) -> Tensor:
    """How fast the shares fall as the threshold rises."""
    return above.sign() if power == 1 else power * above.pow(power - 1)


def _raised(above: Tensor, power: float) -> Tensor:
    """To sparsemax's power nothing is to do, and it takes a pass over the scores."""
    return above if power == 1 else above.pow(power)


def project(scores: Tensor, norm: str) -> Tensor:
    """The norm of that name over the last dimension, as its authors define it."""
    check_norm(norm)
    return scores.softmax(-1) if norm == "softmax" else entmax(scores, NORMS[norm])


def normalise(scores: Tensor, inside: Tensor, norm: str) -> Tensor:
    """Distributions over the places of the last dimension that are ``inside``, 0 elsewhere; all 0 where none is.

    Scores are measured against the uniform distribution over the n places inside: they are multiplied by n to the power
    of 1 - alpha, the derivative there. With softmax that is 1.

    Args:
        scores: (..., n), in units of a change of the logarithm.
        inside: what counts, of the same shape or one that expands to it.
        norm: one of `NORMS`.

    Example:
        >>> normalise(torch.zeros(3), torch.tensor([True, True, False]), "sparsemax").tolist()
        [0.5, 0.5, 0.0]
    """
    inside = inside.expand(scores.shape)
    size = inside.sum(-1, keepdim=True).clamp_min(1).to(scores.dtype)
    filled = (scores * size.pow(1 - NORMS[norm])).masked_fill(~inside, _FILL)
    # Rows with nothing inside come out uniform, and are emptied here.
    return project(filled, norm) * inside


def deviation(shares: Tensor, inside: Tensor, norm: str) -> Tensor:
    """The scores that `normalise` makes these distributions of: how far each place is above or below an equal share.

    Example:
        >>> shares, inside = torch.tensor([0.75, 0.25, 0.0]), torch.tensor(True)
        >>> normalise(deviation(shares, inside, "sparsemax"), inside, "sparsemax").tolist()
        [0.75, 0.25, 0.0]
    """
    inside = inside.expand(shares.shape)
    alpha, size = NORMS[norm], inside.sum(-1, keepdim=True).clamp_min(1).to(shares.dtype)
    relative = (shares * size).clamp_min(_SMALLEST)
    made = relative.log() if alpha == 1 else (relative.pow(alpha - 1) - 1) / (alpha - 1)
    return made.masked_fill(~inside, 0.0)
