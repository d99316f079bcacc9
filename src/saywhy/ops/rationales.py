"""Selections of words: drawing them with a gradient, disturbing them, and what they cost.

Shapes: N texts of up to W words. ``logits`` N x W x 2 (left out, selected); a ``mask`` N x W is 1 where a word is
selected; ``real`` N x W says where there is a word at all. Nothing here counts, selects or adds what is not real.
"""

from __future__ import annotations

import torch
from torch import Tensor

from saywhy.errors import OptionError

__all__ = [
    "COUNTS",
    "REDUCTIONS",
    "disturb_selection",
    "non_overlap",
    "sample_selection",
    "selected_share",
    "selection_penalty",
    "take_top",
]

COUNTS = ("exact", "batch-mean")
REDUCTIONS = ("mean", "paper")


def sample_selection(
    logits: Tensor, real: Tensor, *, temperature: float = 1.0, generator: torch.Generator | None = None
) -> Tensor:
    """A draw of selected words by the straight-through Gumbel-softmax, N x W: exactly 0 or 1, a gradient as of softmax.

    Reference: Jang, Gu, Poole: Categorical Reparameterization with Gumbel-Softmax, 2017, section 2.2; as VER uses it.

    Example:
        >>> logits = torch.tensor([[[0.0, 50.0], [50.0, 0.0], [0.0, 50.0]]])
        >>> sample_selection(logits, torch.tensor([[True, True, False]])).tolist()
        [[1.0, 0.0, 0.0]]
    """
    noise = torch.empty_like(logits).exponential_(generator=generator)
    noise = -noise.clamp_min(torch.finfo(noise.dtype).tiny).log()
    soft = ((logits + noise) / temperature).softmax(-1)[..., 1]
    # In this order the sum is exact: x - x is zero, while (1 - x) + x need not be one.
    return ((soft > 0.5).to(soft.dtype) + (soft - soft.detach())) * real


def disturb_selection(
    mask: Tensor, real: Tensor, rate: float, *, count: str = "exact", generator: torch.Generator | None = None
) -> Tensor:
    """The selection with some of its words exchanged for others, N x W; its gradient is that of the mask given.

    Reference: VER, section 4.4 and Algorithm 1. Every selected word is dropped with probability ``rate``; of the words
    that were not selected as many are put in, drawn without replacement.

    Departures: ``count="exact"`` is the paper's: text by text as many come in as went out. Where a text has too few
    words to put in, fewer are dropped. ``"batch-mean"`` is the released code's: into every text goes the batch's mean
    number of drops, rounded down but at least one, so that a text's number is kept on average only. (The code adds
    nothing to a whole batch if one of its texts is selected completely; here only that text gets nothing.)

    Args:
        mask: 0 or 1, possibly with a gradient.
        real: where there is a word.
        rate: probability of a drop, from 0 to 1.
        count: ``exact`` or ``batch-mean``.
        generator: of the draws.

    Example:
        >>> mask, real = torch.tensor([[1.0, 1.0, 0.0, 0.0, 0.0]]), torch.ones(1, 5, dtype=torch.bool)
        >>> disturb_selection(mask, real, 1.0).tolist()[0][:2], float(disturb_selection(mask, real, 0.5).sum())
        ([0.0, 0.0], 2.0)
    """
    if not 0 <= rate <= 1:
        raise OptionError(f"the perturbation rate is a probability from 0 to 1, not {rate}")
    if count not in COUNTS:
        raise OptionError(f"unknown count {count!r}; use one of {', '.join(COUNTS)}")
    if rate == 0:
        return mask
    selected = (mask.detach() > 0.5) & real
    candidates = real & ~selected
    draws = torch.rand(mask.shape, generator=generator, device=mask.device)
    dropped = selected & (draws < rate)
    number = dropped.sum(1)
    room = candidates.sum(1)
    if count == "exact":
        number = torch.minimum(number, room)
        # The smallest draws go first, so that fewer drops are a part of those drawn.
        dropped = _first(draws.masked_fill(~dropped, torch.inf), number)
        added = number
    else:
        mean = torch.div(number.sum(), len(mask), rounding_mode="floor").clamp_min(1)
        added = torch.minimum(mean.expand_as(room), room)
    others = torch.rand(mask.shape, generator=generator, device=mask.device)
    put_in = _first(others.masked_fill(~candidates, torch.inf), added)
    hard = ((selected & ~dropped) | put_in).to(mask.dtype)
    return hard + (mask - mask.detach())


def _first(values: Tensor, number: Tensor) -> Tensor:
    """Which are among the ``number`` (N,) smallest values of their row."""
    return values.argsort(dim=1, stable=True).argsort(dim=1) < number.unsqueeze(1)


def take_top(scores: Tensor, real: Tensor, share: float) -> Tensor:
    """The words with the highest scores, N x W of 0 and 1: a share of each text's words, rounded, at least one."""
    number = (share * real.sum(1)).round().clamp_min(1).to(torch.long)
    chosen = _first((-scores.detach()).masked_fill(~real, torch.inf), torch.minimum(number, real.sum(1)))
    return chosen.to(scores.dtype)


def selected_share(mask: Tensor, real: Tensor, reduction: str = "mean") -> Tensor:
    """How much is selected: of all words together (``mean``: one number), or of each text's (``paper``: N numbers)."""
    if reduction not in REDUCTIONS:
        raise OptionError(f"unknown reduction {reduction!r}; use one of {', '.join(REDUCTIONS)}")
    kept = mask * real
    if reduction == "mean":
        return kept.sum() / real.sum().clamp_min(1)
    return kept.sum(1) / real.sum(1).clamp_min(1)


def selection_penalty(
    mask: Tensor, real: Tensor, *, alpha: float, lambda1: float, lambda2: float, reduction: str = "mean"
) -> Tensor:
    """The regulariser of short and coherent selections: sparsity and continuity, one number.

    Reference: VER, equation 4: lambda1 | |m| / l - alpha | + lambda2 sum_t | m_t - m_(t-1) |.

    Departures: ``reduction="paper"`` is the equation, averaged over texts. ``"mean"`` is the form of the released code,
    for which its weights of 10 or so are meant: one share for the whole batch, and the mean over pairs of neighbours
    instead of their sum. The code counts padding in both; here only words count, and only neighbours that are words.

    Example:
        >>> mask, real = torch.tensor([[0.0, 1.0, 1.0, 0.0]]), torch.ones(1, 4, dtype=torch.bool)
        >>> float(selection_penalty(mask, real, alpha=0.5, lambda1=1.0, lambda2=1.0, reduction="paper"))
        2.0
    """
    share = selected_share(mask, real, reduction)
    neighbours = real[:, 1:] & real[:, :-1]
    changes = (mask[:, 1:] - mask[:, :-1]).abs() * neighbours
    if reduction == "mean":
        return lambda1 * (share - alpha).abs() + lambda2 * changes.sum() / neighbours.sum().clamp_min(1)
    return lambda1 * (share - alpha).abs().mean() + lambda2 * changes.sum(1).mean()


def non_overlap(one: Tensor, other: Tensor) -> Tensor:
    """How far two selections of the same words differ, per text, (N,): 0 if they are equal, 1 if they share nothing.

    Reference: VER, appendix A.3 (Figure 2): ||m1 - m2||_1 / (||m1||_1 + ||m2||_1). Of two empty selections it is 0.
    """
    total = one.sum(1) + other.sum(1)
    return (one - other).abs().sum(1) / total.clamp_min(1)
