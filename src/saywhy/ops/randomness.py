"""Randomness as a function of where a run is, never of what happened before.

A generator that is carried through a run must be saved and restored exactly, in every library, on every device. One
that is made afresh from (seed, name, step) needs neither: a run resumed at step 120 draws what step 120 always draws.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch

__all__ = ["derive_seed", "global_seed", "numpy_generator", "torch_generator"]


def derive_seed(seed: int, *names: str | int) -> int:
    """A seed of 63 bits for one purpose, such as ``derive_seed(0, "order", epoch)``.

    Different purposes give unrelated seeds, also where the numbers in them are close.
    """
    text = "\x1f".join([str(int(seed)), *(f"{type(n).__name__}:{n}" for n in names)])
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big") >> 1


def torch_generator(seed: int, *names: str | int, device: torch.device | str = "cpu") -> torch.Generator:
    """A torch generator for one purpose."""
    return torch.Generator(device=device).manual_seed(derive_seed(seed, *names))


def numpy_generator(seed: int, *names: str | int) -> np.random.Generator:
    """A numpy generator for one purpose."""
    return np.random.default_rng(derive_seed(seed, *names))


@contextmanager
def global_seed(seed: int, *names: str | int) -> Iterator[None]:
    """Seed torch's own generators inside the block and put them back as they were afterwards.

    For code that takes no generator: dropout, and the initialisation of new weights.
    """
    with torch.random.fork_rng():
        torch.manual_seed(derive_seed(seed, *names))
        yield
