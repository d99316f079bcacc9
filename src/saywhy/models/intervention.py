"""Inter-RAT's context: what the labels have to say about a state, weighed by a prior instead of by the data."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from saywhy.errors import OptionError

__all__ = ["Intervention"]


class Intervention(nn.Module):
    """Labels as vectors; a state attends to them, and what it attends to shifts the logits of either player.

    Reference: Yue et al.: Interventional Rationalization, EMNLP 2023: c = sum_y P(y) a_y e_y with a = softmax(h W e).
    A linear layer over [h; c] is one over h, which the player has, plus one over c, which is here.

    Args:
        size: of a state.
        prior: P(y), one number for each label.
        width: of the vectors of labels.
        dropout: before the predictor reads its pooled state.
    """

    def __init__(self, size: int, prior: Sequence[float], width: int = 100, dropout: float = 0.2) -> None:
        super().__init__()
        if min(prior) < 0 or abs(sum(prior) - 1) > 1e-6:
            raise OptionError(f"prior has a share for each label, and they sum to 1; not {list(prior)}")
        self.labels = nn.Embedding(len(prior), width)
        self.chooses, self.predicts = (nn.Linear(width, size, bias=False) for _ in range(2))
        self.choice = nn.Linear(width, 2, bias=False)
        self.dropout = nn.Dropout(dropout)
        self.prediction = nn.Linear(size + width, len(prior))
        self.prior: Tensor
        self.register_buffer("prior", torch.tensor([float(p) for p in prior]))
        self.draw()

    def draw(self) -> None:
        """Draw the vectors of labels, which start small; other weights are torch's."""
        nn.init.normal_(self.labels.weight, std=0.1)

    def select(self, states: Tensor) -> Tensor:
        """What comes on top of a selector's logits, N x L x 2, from its states N x L x d."""
        shift: Tensor = self.choice(self.context(states, self.chooses))
        return shift

    def predict(self, states: Tensor, mask: Tensor) -> Tensor:
        """Logits N x K: the sum of states N x L x d (zeros at padding) for each word in a mask N x W, and its context.

        Departures: a text with nothing selected counts one word, so that its sum stays finite.
        """
        pooled = self.dropout(states.sum(1) / mask.sum(1, keepdim=True).clamp_min(1))
        logits: Tensor = self.prediction(torch.cat([pooled, self.context(pooled, self.predicts)], dim=-1))
        return logits

    def context(self, states: Tensor, attends: nn.Module) -> Tensor:
        """The labels' vectors, each as far as a state attends to it and as the prior says; ... x width."""
        attention = (states @ attends(self.labels.weight).T).softmax(-1)
        return (attention * self.prior) @ self.labels.weight
