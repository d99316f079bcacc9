"""A study that takes seconds: two tiny models, two methods, planted truth."""

from __future__ import annotations

import copy
from typing import Any

DATA: dict[str, Any] = {"name": "planted-reviews", "options": {"size": "demo", "n": {"train": 48, "dev": 8, "test": 6}}}
STUDY: dict[str, Any] = {
    "study": "small",
    "seeds": [0, 1],
    "train": {
        "plain": {
            "data": DATA,
            "model": "text-transformer",
            "options": {"epochs": 1, "model_options": {"layers": 1, "width": 16, "heads": 2}},
        }
    },
    "evaluate": {
        "truth": {
            "model": "plain",
            "data": {**DATA, "split": "test"},
            "methods": ["random", "gradient"],
            "metrics": ["accuracy", "truth", {"sufficiency": {"score": "normalised"}}],
            "examples": 1,
        }
    },
}


def study(**changes: Any) -> dict[str, Any]:
    """A copy with changes; a dot in a key goes down a level, ``__`` stands for it."""
    made = copy.deepcopy(STUDY)
    for key, value in changes.items():
        *path, last = key.split("__")
        place = made
        for part in path:
            place = place[part]
        place[last] = value
    return made
