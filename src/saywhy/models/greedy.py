"""Greedy search, or words drawn by chance, for networks that carry a label along."""

from __future__ import annotations

from typing import Any

import torch

from saywhy.models.sentences import Generated
from saywhy.models.stepwise import Memory

__all__ = ["greedy_search"]


def greedy_search(
    network: Any,
    memory: Memory,
    longest: int,
    *,
    soft: bool = False,
    cache: bool = True,
    sample: torch.Generator | None = None,
    keep_chances: bool = False,
) -> Generated:
    """The likeliest word at every step, or one that is drawn, and the label that the sentence ends in.

    Args:
        network: an `MpiiNetwork`.
        memory: what it has read, N rows.
        longest: the most words.
        soft: feed the mixture of all words back instead of the one that was chosen.
        cache: keep keys and values; without it every step reads all words again, to the same end.
        sample: draw words from their distribution by this generator instead of taking the likeliest.
        keep_chances: give the words' distributions too.
    """
    config, integration = network.config, network.integration
    logits, word = network.starting(memory)
    past, read, kept = None, [], []
    alive = torch.ones(len(word), dtype=torch.bool, device=word.device)
    total, steps, ids = word.new_zeros(len(word)), [logits], []
    for t in range(longest):
        if cache:
            scores, moved, past = network.step(memory, logits, word, past)
        else:
            read.append(integration.fuse(logits, word, memory))
            hidden = network.decode(memory, torch.stack(read, dim=1), None, use_cache=False).last_hidden_state[:, -1]
            scores, moved = network.word_scores(hidden), integration.move(logits, hidden, memory)
        chances = network.allowed(scores, t).log_softmax(-1)
        if keep_chances:
            kept.append(chances.exp())
        if sample is None:
            chosen = chances.argmax(-1)
        else:
            chosen = torch.multinomial(chances.detach().exp(), 1, generator=sample).squeeze(1)
        total = total + chances.gather(1, chosen.unsqueeze(1)).squeeze(1) * alive
        # A sentence that has ended moves its label no more.
        logits = torch.where(alive.unsqueeze(1), moved, logits)
        ids.append(torch.where(alive, chosen, config.pad_id))
        steps.append(logits)
        alive = alive & (chosen != config.end_id)
        if not bool(alive.any()):
            break
        word = chances.exp() @ network.embed_all() if soft else network.embed(chosen)
    written = torch.stack(ids, dim=1)
    lengths = (written != config.pad_id).sum(1)
    whole = torch.stack(kept, dim=1) if kept else None
    return Generated(written, lengths, memory.masked(logits), memory.masked_steps(steps), total, whole)
