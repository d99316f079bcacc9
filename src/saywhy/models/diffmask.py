"""DiffMask's gates over alignments: one network that looks at two words and says whether their alignment matters."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from saywhy.models.attention_module import AttachedModule, kept_in

__all__ = ["DiffMaskGates"]


@kept_in("diffmask")
class DiffMaskGates(AttachedModule):
    """From the input vectors of two words to the parameter of their gate.

    Reference: De Cao, Schlichtkrull, Aziz, Titov: How do Decisions Emerge across Layers in Neural Models?
    Interpretation with Differentiable Masking, EMNLP 2020; over alignments: AREC, appendix C, equation 21: a network
    with one hidden layer on [p; h; p - h; p * h].

    Args:
        width: length of the vectors.
        hidden: units of the hidden layer.

    Example:
        >>> DiffMaskGates(8, 16)(torch.zeros(1, 3, 8), torch.zeros(1, 2, 8)).shape
        torch.Size([1, 3, 2])
    """

    def __init__(self, width: int, hidden: int = 64) -> None:
        super().__init__()
        self.width, self.hidden = width, hidden
        self.layers = nn.Sequential(nn.Linear(4 * width, hidden), nn.Tanh(), nn.Linear(hidden, 1))

    @property
    def settings(self) -> dict[str, Any]:  # noqa: D102 - as in the base class
        return {"width": self.width, "hidden": self.hidden}

    def forward(self, premise: Tensor, hypothesis: Tensor) -> Tensor:
        """Parameters, rows x P x H, from the words' vectors, rows x P x d and rows x H x d."""
        shape = (*premise.shape[:2], hypothesis.shape[1], self.width)
        p, h = premise.unsqueeze(2).expand(shape), hypothesis.unsqueeze(1).expand(shape)
        return self.layers(torch.cat([p, h, p - h, p * h], dim=-1)).squeeze(-1)
