"""The settings of a run, apart from what is trained and on what."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from saywhy.errors import OptionError

__all__ = ["LoopSettings"]

# These change what is seen of a run, not what it computes: they may differ when it is resumed.
_COSMETIC = ("log_every", "checkpoint_every", "checkpoint_seconds")


@dataclass(frozen=True)
class LoopSettings:
    """How long and how to train.

    Args:
        epochs: times through the data; 0 leaves the players as they are.
        max_steps: stop after so many optimiser steps, even within an epoch.
        batch_size: examples an optimiser step sees, over all processes and micro-batches: neither changes the result
            beyond rounding.
        accumulate: cut every batch into so many micro-batches, to need less memory.
        seed: seed of everything random in the run.
        clip: largest norm of a phase's gradient, or None.
        patience: stop after so many validations in a row without a better score, or None.
        validate_every: steps between validations; None validates at the end of every epoch.
        log_every: steps between two lines of the log.
        checkpoint_every: steps between checkpoints, besides the one at the end of every epoch.
        checkpoint_seconds: seconds between checkpoints, likewise.
    """

    epochs: int = 3
    max_steps: int | None = None
    batch_size: int = 32
    accumulate: int = 1
    seed: int = 0
    clip: float | None = 1.0
    patience: int | None = None
    validate_every: int | None = None
    log_every: int = 10
    checkpoint_every: int | None = None
    checkpoint_seconds: float | None = 120.0

    def __post_init__(self) -> None:
        if self.epochs < 0:
            raise OptionError(f"epochs must be at least 0, not {self.epochs}")
        for name in ("max_steps", "batch_size", "accumulate", "patience", "validate_every", "log_every"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise OptionError(f"{name} must be at least 1, not {value}")
        if self.clip is not None and self.clip <= 0:
            raise OptionError(f"clip must be above 0 (or None for no clipping), not {self.clip}")
        if self.checkpoint_every is not None and self.checkpoint_every < 1:
            raise OptionError(f"checkpoint_every must be at least 1, not {self.checkpoint_every}")

    def config(self) -> dict[str, Any]:
        """The settings that decide the result, for ``run.json``."""
        return {k: v for k, v in asdict(self).items() if k not in _COSMETIC}
