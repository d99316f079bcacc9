"""The loss of a random mask of alignments: stay faithful, keep little, keep rectangles."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from saywhy.ops.contiguity import expected_breaks
from saywhy.ops.hard_concrete import HardConcrete

__all__ = ["MaskLoss", "distance", "mask_loss"]


class MaskLoss(NamedTuple):
    """The parts of the loss of each pair, all (G,).

    Attributes:
        total: what is minimised: ``distance`` + weight x ``agreement`` x (``size`` + ``breaks``).
        distance: mean distance of the logits under sampled masks, L0.
        agreement: share of the samples with the same label, SpAc; no gradient goes through it.
        size: expected number of cells that are not 0, L1.
        breaks: expected number of windows with exactly three such cells, L2.
    """

    total: Tensor
    distance: Tensor
    agreement: Tensor
    size: Tensor
    breaks: Tensor


def distance(whole: Tensor, masked: Tensor) -> Tensor:
    """Euclidean distance over the last dimension; its gradient at 0 is finite."""
    return ((whole - masked).square().sum(-1) + 1e-12).sqrt()


def mask_loss(whole: Tensor, masked: Tensor, gates: HardConcrete, real: Tensor, weight: float) -> MaskLoss:
    """The loss of the masks of some pairs.

    Reference: AREC, equations 4 and 8 to 12; in DiffMask's place its appendix C.

    Args:
        whole: logits of the whole inputs, G x K.
        masked: logits under n sampled masks each, G x n x K.
        gates: the distribution of the masks, G x P x H.
        real: which cells there are, G x P x H.
        weight: of readability where all samples keep the label, lambda.
    """
    moved = distance(whole.unsqueeze(1), masked).mean(1)
    with torch.no_grad():
        agreement = (masked.argmax(-1) == whole.argmax(-1, keepdim=True)).to(moved.dtype).mean(1)
    on = gates.nonzero() * real
    size, breaks = on.sum((-2, -1)), expected_breaks(on, real)
    return MaskLoss(moved + weight * agreement * (size + breaks), moved, agreement, size, breaks)
