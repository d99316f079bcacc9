"""References of pinned peers, computed once: they take minutes, and are the same in every run."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable

from saywhy.benchmarks.environments import PEERS
from saywhy.data.home import cache_root

__all__ = ["remembered"]


def remembered(key: list[object], compute: Callable[[], list[float]]) -> list[float]:
    """The explanation for a key (its first item names the peer), from the cache if it is there.

    Args:
        key: everything the explanation depends on, the peer's pinned version apart.
        compute: makes it.
    """
    pins = PEERS[str(key[0])].requirements
    name = hashlib.sha256(json.dumps([pins, *key]).encode()).hexdigest()[:24]
    file = cache_root() / "peers" / "references" / f"{name}.json"
    if file.is_file():
        found: list[float] = json.loads(file.read_text(encoding="utf-8"))
        return found
    made = compute()
    file.parent.mkdir(parents=True, exist_ok=True)
    draft = file.with_suffix(f".{os.getpid()}")
    draft.write_text(json.dumps(made), encoding="utf-8")
    draft.replace(file)
    return made
