"""Beam search for networks that carry a label along."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from saywhy.models.sentences import Generated
from saywhy.models.stepwise import Memory

__all__ = ["beam_search"]


def beam_search(network: Any, memory: Memory, beams: int, longest: int) -> Generated:
    """The sentence of the highest mean log-probability a word that a beam of ``beams`` finds, and the label it ends in.

    Every beam has a label of its own, which moves with its words. A sentence that has ended stays in the beam with its
    score.

    Args:
        network: has ``starting``, ``step``, ``allowed`` and ``embed``.
        memory: what it has read, N rows.
        beams: sentences kept at every step.
        longest: the most words.
    """
    config, rows = network.config, len(memory.hidden)
    pad, end = config.pad_id, config.end_id
    memory = memory.repeat(beams)
    logits, word = network.starting(memory)
    device = word.device
    # At first all beams of a row are the same: only one may spread.
    total = torch.full((rows, beams), -torch.inf, device=device)
    total[:, 0] = 0.0
    alive = torch.ones(rows, beams, dtype=torch.bool, device=device)
    size = torch.zeros(rows, beams, dtype=torch.long, device=device)
    ids = torch.zeros(rows * beams, 0, dtype=torch.long, device=device)
    steps = logits.unsqueeze(1)
    past: Any = None
    for t in range(longest):
        scores, moved, past = network.step(memory, logits, word, past)
        chances = network.allowed(scores, t).log_softmax(-1).view(rows, beams, -1)
        # A sentence that has ended goes on with padding, for nothing.
        stay = torch.full_like(chances, -torch.inf)
        stay[..., pad] = 0.0
        chances = torch.where(alive.unsqueeze(-1), chances, stay)
        logits = torch.where(alive.view(-1, 1), moved, logits)
        grown = total.unsqueeze(-1) + chances
        sizes = (size + alive).unsqueeze(-1).clamp_min(1)
        best = (grown / sizes).flatten(1).topk(beams, dim=1).indices
        origin, chosen = best // chances.shape[-1], best % chances.shape[-1]
        total = grown.flatten(1).gather(1, best)
        size = (size + alive).gather(1, origin)
        alive = alive.gather(1, origin) & (chosen != end)
        flat = (origin + torch.arange(rows, device=device).unsqueeze(1) * beams).view(-1)
        logits = logits[flat]
        ids = torch.cat([ids[flat], chosen.view(-1, 1)], dim=1)
        steps = torch.cat([steps[flat], logits.unsqueeze(1)], dim=1)
        if not bool(alive.any()):
            break
        past.reorder_cache(flat)
        word = network.embed(chosen.view(-1))
    winner: Tensor = (total / size.clamp_min(1)).argmax(1)
    flat = winner + torch.arange(rows, device=device) * beams
    lengths = size.gather(1, winner.unsqueeze(1)).squeeze(1)
    kept = memory.present[flat] if memory.present is not None else None

    def masked(values: Tensor) -> Tensor:
        if kept is None:
            return values
        return values.masked_fill(~(kept if values.ndim == 2 else kept.unsqueeze(1)), -torch.inf)

    longest_kept = int(lengths.max())
    return Generated(
        ids[flat][:, :longest_kept],
        lengths,
        masked(logits[flat]),
        masked(steps[flat][:, : longest_kept + 1]),
        total.gather(1, winner.unsqueeze(1)).squeeze(1),
    )
