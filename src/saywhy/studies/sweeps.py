"""What was given as a list: single runs of it, and what to call them."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from saywhy.studies.schema import TrainStep

__all__ = ["digest_of", "title_of", "unfold", "variant_of"]


def unfold(options: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Every combination of the options whose values are lists; a list in a list is one value."""
    keys = [key.replace("-", "_") for key in options]
    lists = [value if isinstance(value, list) else [value] for value in options.values()]
    return [dict(zip(keys, values, strict=True)) for values in itertools.product(*lists)]


def variant_of(step: TrainStep, **values: Any) -> dict[str, Any]:
    """What tells the models of a step from each other: the values of everything that was given as a list."""
    swept: dict[str, list[Any]] = {"objective": step.objective, "model": step.model, "data": step.data}
    swept |= {key.replace("-", "_"): value for key, value in step.options.items() if isinstance(value, list)}
    return {key: values[key] for key, given in swept.items() if len(given) > 1}


def title_of(step: str, variant: Mapping[str, Any]) -> str:
    """What a model is called in tables: its step, and what tells it from the others of the step."""
    if not variant:
        return step
    if set(variant) == {"objective"}:
        return str(variant["objective"])
    return f"{step} ({', '.join(f'{key}={value}' for key, value in variant.items())})"


def digest_of(path: Path) -> str:
    """Of the files of a user's own data: a changed file is another cell."""
    digest = hashlib.blake2b(digest_size=10)
    for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
        if file.is_file():
            digest.update(file.name.encode())
            with file.open("rb") as content:
                while block := content.read(1 << 20):
                    digest.update(block)
    return digest.hexdigest()
