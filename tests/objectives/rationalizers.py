"""A small game that objectives of rationalisation can win in seconds."""

from __future__ import annotations

import random
from typing import Any

from saywhy.loop import OptimiserSettings, Step
from saywhy.models import TextModel
from saywhy.models.rationalizer import build_rationalizer
from saywhy.objectives import objectives, train
from saywhy.objectives.rationalization import Rationalization
from saywhy.types import Example, Span

SMALL = {"encoder_options": {"hidden_size": 12, "embedding_size": 16}}
FILL = ["we came by", "it rained all day", "the room was there", "I had soup", "they said so", "nobody knew why"]
GOOD, BAD = ("great", "lovely", "superb"), ("awful", "dreadful", "nasty")


def reviews(n: int = 240) -> list[Example]:
    """Twelve words or so, one of which decides."""
    made = []
    rng = random.Random(0)
    for i in range(n):
        word = (BAD, GOOD)[i % 2][(i // 2) % 3]
        before, after, end = rng.choices(FILL, k=3)
        text = f"{before} and {word} then {after} {end}"
        start = text.index(word)
        label, place = ("bad", "good")[i % 2], (Span(0, start, start + len(word)),)
        made.append(Example((text,), label, rationales=(place,), truth=True, meta={"environment": i % 3 == 0}))
    return made


def rationalizer(seed: int = 0) -> TextModel:
    labels = ("bad", "good")
    return TextModel(*build_rationalizer(reviews(24), "text", labels, seed, **SMALL), "text", labels)  # type: ignore[arg-type]


def make(name: str, **options: Any) -> Rationalization:
    made = objectives[name].value(rationalizer(), OptimiserSettings(), **options)
    assert isinstance(made, Rationalization)
    return made


def batch_of(objective: Rationalization, n: int = 6) -> Any:
    return objective.collate(objective.items(reviews(n), "head"))


def step(index: int = 0) -> Step:
    return Step(index, 100, 0, seed=0)


def quick(name: str, **options: Any) -> TextModel:
    chosen = {"epochs": 1, "batch_size": 16, "learning_rate": 1e-2, "quiet": True, "model_options": SMALL, **options}
    return train(name, options.pop("data", None) or reviews(48), **{k: v for k, v in chosen.items() if k != "data"})
