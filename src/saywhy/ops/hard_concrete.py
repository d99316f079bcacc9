"""The HardConcrete distribution: continuous between 0 and 1, with weight on exactly 0 and exactly 1."""

from __future__ import annotations

import math
from dataclasses import dataclass

from torch import Tensor

__all__ = ["HardConcrete"]


@dataclass(frozen=True, eq=False)
class HardConcrete:
    """Independent variables Z, one for each entry of ``log_alpha``.

    Reference: Louizos, Welling, Kingma: Learning Sparse Neural Networks through L0 Regularization, ICLR 2018, section
    2.2; AREC, appendix A.

    Departures: AREC's equation 18 divides by (high - low) where it must be (high - 1): at log alpha = 0 sampling gives
    P(Z = 1) = 0.382, the right formula too, the printed one 0.504. Equation 14 has lost a bracket.

    Attributes:
        log_alpha: location; the higher, the likelier Z is 1.
        temperature: sharpness, tau.
        low: below 0, gamma: the interval (0, 1) is stretched to (low, high) before it is cut back.
        high: above 1, zeta.

    Example:
        >>> import torch
        >>> z = HardConcrete(torch.zeros(1))
        >>> round(z.one().item(), 3), round(z.zero().item(), 3)
        (0.382, 0.382)
    """

    log_alpha: Tensor
    temperature: float = 0.2
    low: float = -0.1
    high: float = 1.1

    def sample(self, uniform: Tensor) -> Tensor:
        """Values in [0, 1] from uniform draws in (0, 1), differentiable with respect to ``log_alpha``."""
        noise = uniform.log() - (-uniform).log1p()
        stretched = self.low + (self.high - self.low) * ((self.log_alpha + noise) / self.temperature).sigmoid()
        return stretched.clamp(0.0, 1.0)

    def zero(self) -> Tensor:
        """P(Z = 0)."""
        return (self.temperature * math.log(-self.low / self.high) - self.log_alpha).sigmoid()

    def one(self) -> Tensor:
        """P(Z = 1)."""
        return (self.log_alpha - self.temperature * math.log((1 - self.low) / (self.high - 1))).sigmoid()

    def nonzero(self) -> Tensor:
        """P(Z > 0), which bounds the mean of Z from above."""
        return (self.log_alpha - self.temperature * math.log(-self.low / self.high)).sigmoid()

    def mode(self) -> Tensor:
        """Whether 1 is likelier than 0; with ends as far from 0 and 1 as each other that is ``log_alpha > 0``."""
        return self.one() > self.zero()
