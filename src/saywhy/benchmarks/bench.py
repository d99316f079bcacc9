"""What every comparison works with: the processes, the texts, and a few settings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from saywhy.benchmarks.table import Row
from saywhy.benchmarks.workers import Worker

__all__ = ["Bench", "Settings"]


@dataclass(frozen=True)
class Settings:
    """Of the comparisons at equal error: texts, numbers of samples, samples of the reference, seed."""

    texts: int
    samples: tuple[int, ...]
    reference: int
    seed: int


@dataclass(frozen=True)
class Bench:
    """Our process and the peer's, with texts of one length; ``reason`` says why there is no peer."""

    own: Worker
    peer: Worker | None
    name: str
    tokens: int
    items: tuple[dict[str, Any], ...]
    fingerprint: str
    reason: str
    say: Callable[[str], None]

    def row(self, what: str, **facts: Any) -> Row:
        """A row about these texts."""
        return Row(what, self.tokens, self.name, **{"texts": len(self.items), "reason": self.reason, **facts})
