"""What IvRA asks of explanations, as losses: comprehensive, sufficient, consistent; and which words are on top."""

from __future__ import annotations

import torch
from torch import Tensor

from saywhy.ops.divergences import kl_divergence

__all__ = [
    "cluster_loss",
    "comprehensiveness_loss",
    "consistency_loss",
    "correlation_loss",
    "smoothed_kl",
    "straight_through_top",
    "sufficiency_loss",
]

_SMOOTH = 1e-8
_SPREAD = 1e-2  # share of two sparse explanations that is spread evenly before they are compared
_NEAR = 1e-6
_FEWEST = 3  # places that two texts must share: with two of them any correlation is 1 or -1


def straight_through_top(shares: Tensor, content: Tensor, ratio: float) -> Tensor:
    """1 at the top pieces of each row and 0 elsewhere, with the gradient of the shares, rows x L.

    Choosing the top has no gradient. The gradient that arrives at the mask is passed on to the shares, divided by the
    largest of their row, as if the mask were they. At least one piece is chosen, where there is any; ties go to the
    earlier one.

    Reference: IvRA, section 2.2.2 (the mask t); UNIREX rounds the number in this way.

    Example:
        >>> shares = torch.tensor([[0.1, 0.6, 0.3, 0.0]])
        >>> straight_through_top(shares, torch.tensor([[True, True, True, False]]), 0.5).tolist()
        [[0.0, 1.0, 1.0, 0.0]]
    """
    size = content.sum(-1, keepdim=True)
    count = torch.minimum((ratio * size).round().clamp_min(1), size)
    order = shares.detach().masked_fill(~content, -1.0).argsort(dim=-1, descending=True, stable=True)
    rank = order.argsort(dim=-1)
    top = ((rank < count) & content).to(shares.dtype)
    relative = shares / shares.detach().amax(-1, keepdim=True).clamp_min(_SMOOTH)
    return top + (relative - relative.detach())  # in this order the mask is exact: 1 + x - x need not be 1


def comprehensiveness_loss(whole: Tensor, without: Tensor, margin: float = 1.0) -> Tensor:
    """Losses (n,) of the label on the whole text and without its top words: 0 where these cost at least ``margin``.

    Reference: IvRA, equation 10.

    Example:
        >>> comprehensiveness_loss(torch.tensor([0.1, 0.1]), torch.tensor([2.0, 0.1])).tolist()
        [0.0, 1.0]
    """
    return margin + (whole - without).clamp_min(-margin)


def sufficiency_loss(whole: Tensor, alone: Tensor, margin: float = 0.1) -> Tensor:
    """Losses (n,) of the label on the whole text and on its top words alone: 0 where these do better by ``margin``.

    Reference: IvRA, equation 11.

    Example:
        >>> sufficiency_loss(torch.tensor([0.5, 0.5]), torch.tensor([0.5, 0.0]), margin=0.25).tolist()
        [0.25, 0.0]
    """
    return margin + (alone - whole).clamp_min(-margin)


def smoothed_kl(p: Tensor, q: Tensor, inside: Tensor, spread: Tensor | float = _SMOOTH) -> Tensor:
    """KL(p || q) along the last dimension over the places inside, (..., n) to (...), finite where either is 0.

    ``spread`` is what every place gets before both are made to sum to 1 again.
    """
    p, q = ((x + spread) * inside for x in (p, q))
    p, q = (x / x.sum(-1, keepdim=True).clamp_min(_SMOOTH) for x in (p, q))
    return kl_divergence(p, q)


def consistency_loss(shares: Tensor, content: Tensor, states: Tensor) -> Tensor:
    """How different the explanations of texts are that the model sees as similar; the mean over all pairs.

    The divergence of two explanations, the same both ways, over how far the hidden states are apart.

    Reference: IvRA, equations 13 and 19; appendix B.4.2 for the distance.

    Departures: two texts are compared over the places that both have, as the metric does; with a share of nothing
    beyond the shorter text, the loss was mostly the difference in length, and drew all weight to the first words.
    Distances are in units of their mean over the batch: otherwise the size of the loss is a matter of how wide the
    network and how long the texts are. A hundredth of an explanation is spread evenly first: at a share of nothing the
    slope of a divergence is as large as one makes it.

    Args:
        shares: explanations, n x L.
        content: where the pieces of words are, n x L.
        states: hidden states, the mean over layers, n x L x d.
    """
    first, second, both = _pairs(content)
    if not len(first):
        return shares.sum() * 0.0
    squared = _distances(states)[:, first, second].square().t() * both
    distance = squared.sum(-1).clamp_min(_NEAR**2).sqrt()
    spread = _SPREAD / both.sum(-1, keepdim=True).clamp_min(1)
    divergence = sum(smoothed_kl(shares[i], shares[j], both, spread) for i, j in ((first, second), (second, first)))
    return (divergence / 2 * distance.mean() / (distance + _NEAR)).mean()


def correlation_loss(shares: Tensor, content: Tensor, states: Tensor) -> Tensor:
    """1 less how well the differences of two explanations follow those of the hidden states; the mean over all pairs.

    Pearson's correlation over the places that two texts share, where the metric has Spearman's, which has no gradient.
    Hidden states are as they are: explanations are to follow them, not the other way round.

    Reference: IvRA, equation 12, the criterion itself. The loss is ours: those of the paper are least where all
    explanations are the same, or know the labels only.

    Args:
        shares: explanations, n x L.
        content: where the pieces of words are, n x L.
        states: hidden states, the mean over layers, n x L x d.

    Example:
        >>> shares = torch.tensor([[0.2, 0.3, 0.5], [0.2, 0.2, 0.6]])
        >>> states = torch.tensor([[[0.0], [0.0], [0.0]], [[0.0], [1.0], [1.0]]])
        >>> abs(float(correlation_loss(shares, torch.ones(2, 3, dtype=torch.bool), states))) < 1e-6
        True
    """
    first, second, both = _pairs(content)
    enough = both.sum(-1) >= _FEWEST
    first, second, both = first[enough], second[enough], both[enough]
    if not len(first):
        return shares.sum() * 0.0
    weights = both.to(shares.dtype) / both.sum(-1, keepdim=True)
    apart = _distances(states.detach())[:, first, second].t()
    differ = (shares[first] - shares[second]).abs()
    x, y = ((value - (value * weights).sum(-1, keepdim=True)) * both for value in (apart, differ))
    spread = (x.square() * weights).sum(-1) * (y.square() * weights).sum(-1)
    # Shares are about 1 / n: what is added must be nothing beside their squares.
    return (1 - (x * y * weights).sum(-1) * (spread + _SMOOTH**2).rsqrt()).mean()


def cluster_loss(shares: Tensor, labels: Tensor, content: Tensor | None = None) -> Tensor:
    """How far the explanations (n x L) of one label are apart, less how far those of different labels are.

    Squared Euclidean distances, the mean over pairs of either kind, over the places that both texts have if ``content``
    (n x L) says which.

    Reference: IvRA, equation 20, whose second term has lost its minus.

    Example:
        >>> shares = torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
        >>> float(cluster_loss(shares, torch.tensor([0, 0, 1])))
        -2.0
    """
    first, second, both = _pairs(torch.ones_like(shares, dtype=torch.bool) if content is None else content)
    distance = ((shares[first] - shares[second]).square() * both).sum(-1)
    same = (labels[first] == labels[second]).to(distance.dtype)
    near = (distance * same).sum() / same.sum().clamp_min(1)
    far = (distance * (1 - same)).sum() / (1 - same).sum().clamp_min(1)
    return near - far


def _pairs(content: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The numbers of the texts of all pairs, and the places that both have, pairs x L."""
    n = len(content)
    first, second = torch.triu_indices(n, n, 1, device=content.device)
    return first, second, content[first] & content[second]


def _distances(states: Tensor) -> Tensor:
    """How far the hidden states of all texts are apart at each place, L x n x n."""
    places = states.float().transpose(0, 1).contiguous()
    return torch.cdist(places, places, compute_mode="donot_use_mm_for_euclid_dist")
