"""Words that need no context: candidates for shortcuts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from saywhy.audits.tallies import holm, rarely_by_chance
from saywhy.audits.texts import word_before
from saywhy.models import TextModel
from saywhy.types import Example

__all__ = ["Candidate", "Deciding", "try_words"]

# Of how many words it is tried what they do to other texts.
_TRIED = 20
# How often a word must decide to be suspected.
_OFTEN = 3
# A candidate turns at least so many times the texts that other deciding words turn.
_FACTOR = 1.5


@dataclass(frozen=True)
class Deciding:
    """A word that decides for a label: in how many of the texts that have it, and how often these bear the label."""

    word: str
    label: str
    present: int
    decided: int
    gold: float | None = None


@dataclass(frozen=True)
class Candidate:
    """A word that may be a shortcut: put before other texts, it turns far more of them than other deciding words do.

    ``turned`` of ``tried`` texts with another prediction turned to ``label``; ``usual`` is the share that the upper
    quartile of the other words turned. ``p_value`` is corrected for the number of words tried. ``gold`` is how often
    the texts that have the word bear the label, where labels are known: if that is not often, nothing speaks for it.
    """

    word: str
    label: str
    present: int
    decided: int
    turned: int
    tried: int
    usual: float
    p_value: float
    gold: float | None = None

    @property
    def suspect(self) -> bool:
        """Whether it decides again and again, and turns far more texts than chance would let it."""
        return self.decided >= _OFTEN and self.p_value < 0.01 and self.turned >= _FACTOR * self.usual * self.tried

    def __str__(self) -> str:
        return (
            f"{self.word!r} before other texts turns {self.turned} of {self.tried} to {self.label} "
            f"(other deciding words: {self.usual:.0%}; p = {self.p_value:.1g})"
        )


def try_words(
    model: TextModel,
    words: Sequence[Deciding],
    texts: Sequence[tuple[Example, str]],
    batch_size: int = 32,
    truncation: str = "error",
) -> list[Candidate]:
    """What the words that decide most often do when they are put before other texts.

    Args:
        model: that judges.
        words: those that decide, most often first; of so many more than twenty the others are left out.
        texts: to put them before, each with what the model says of it.
        batch_size: rows of a model call.
        truncation: what happens to texts that are too long.

    Returns:
        All that were tried, the most suspect first.
    """
    chosen = words[:_TRIED]
    counts: list[tuple[int, int]] = []
    for each in chosen:
        changed = [word_before(example, each.word) for example, predicted in texts if predicted != each.label]
        found = model.predict(changed, batch_size=batch_size, truncation=truncation) if changed else []
        counts.append((sum(prediction.label == each.label for prediction in found), len(found)))
    rates = np.asarray([hits / n if n else 0.0 for hits, n in counts])
    made = []
    for place, (each, (hits, n)) in enumerate(zip(chosen, counts, strict=True)):
        # The upper quartile of the others: words with a strong meaning turn many texts too.
        usual = float(np.quantile(np.delete(rates, place), 0.75)) if len(chosen) > 1 else 0.0
        chance = rarely_by_chance(hits, n, max(usual, 0.5 / n)) if n and len(chosen) > 1 else 1.0
        made.append(Candidate(each.word, each.label, each.present, each.decided, hits, n, usual, chance, each.gold))
    corrected = holm(each.p_value for each in made)
    made = [replace(each, p_value=p) for each, p in zip(made, corrected, strict=True)]
    return sorted(made, key=lambda each: (each.p_value, -each.turned, each.word))
