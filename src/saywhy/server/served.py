"""A model that is served: its name, what it can do, its two lanes, and how calls to it are answered."""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from saywhy.errors import InputError, OptionError
from saywhy.explainers import explain
from saywhy.models import TextModel, load
from saywhy.models.black_box import BlackBox
from saywhy.models.word_space import WordSpace
from saywhy.plain import plain
from saywhy.server.catalogue import default_methods, describe_methods
from saywhy.server.lanes import Call, Lane, twin
from saywhy.types import Example

__all__ = ["Asked", "Question", "Served", "dumps", "explain_together", "load_models", "predict_together"]


def dumps(value: Any) -> bytes:
    """JSON as UTF-8; numbers that are not finite, which JSON has no word for, become null.

    Example:
        >>> dumps({"error": float("inf"), "scores": [0.5]})
        b'{"error":null,"scores":[0.5]}'
    """
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    except ValueError:
        return json.dumps(_finite(value), ensure_ascii=False, separators=(",", ":")).encode()


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


class Served:
    """One of the models that were named at start.

    Args:
        name: by which it is asked for.
        model: itself.
        most: calls that are answered together.
        seen: told the size of each batch.
    """

    def __init__(
        self, name: str, model: TextModel, most: int = 16, seen: Callable[[int], None] = lambda size: None
    ) -> None:
        if isinstance(model, BlackBox):
            model = _one_at_a_time(model)
        self.name = name
        self.model = model
        self.fingerprint = model.fingerprint
        self.task = model.task.name
        self.black_box = isinstance(model, BlackBox)
        # Two functions may agree on all that a fingerprint asks them.
        self.identity = f"{self.fingerprint} {name}" if self.black_box else self.fingerprint
        """What results are kept by."""
        self.capabilities = sorted(model.capabilities)
        self.checked: dict[Any, Any] = {}
        """Explainers that were found to work here, by method and options."""
        self.live = Lane(f"{name} (live)", lambda: model, most, seen)
        # A black box is a function: the same one serves both.
        other = model if self.black_box else twin(model)
        self.long = Lane(f"{name} (long)", lambda: other, 1, seen)

    @cached_property
    def methods(self) -> list[dict[str, Any]]:
        """All methods and whether they work here."""
        return describe_methods(self.model)

    @cached_property
    def facts(self) -> dict[str, Any]:
        """What the page needs to know."""
        network = self.model.network
        kind = "black box" if network is None else type(network).__name__
        longest = None if network is None else self.model.encoder.max_length
        return {
            "name": self.name,
            "task": self.task,
            "labels": list(self.model.labels),
            "kind": kind,
            "black_box": self.black_box,
            "capabilities": self.capabilities,
            "max_words": longest,
            "methods": [method["name"] for method in self.methods if method["usable"]],
            "default_methods": default_methods(self.model),
            "parameters": None if network is None else sum(p.numel() for p in network.parameters()),
            "fingerprint": self.fingerprint,
        }

    def check(self, example: Example) -> None:
        """Raise an error for an input that is not of the model's shape."""
        texts = 2 if self.task in ("pair", "span-qa") else 1
        if len(example.texts) != texts:
            raise InputError(f"{self.name} reads {texts} text{'s'[: texts - 1]}, not {len(example.texts)}")
        if self.task == "choices" and len(example.choices) < 2:
            raise InputError(f"{self.name} chooses among at least 2 choices, not {len(example.choices)}")
        self.model.task.check(example)


def _one_at_a_time(model: BlackBox) -> BlackBox:
    """A black box whose function is never called by two threads at once; nobody knows whether it could be."""
    lock, ask = threading.Lock(), model.function

    def function(texts: list[Any]) -> Any:
        with lock:
            return ask(texts)

    mask_token = model.mask_token
    return BlackBox(function, model.labels, model.task.name, splitter=model.splitter, mask_token=mask_token)


def load_models(
    sources: Sequence[str], *, labels: Sequence[str] | None = None, task: str | None = None
) -> dict[str, TextModel]:
    """Models by name: ``name=source``, or a source, whose last part is then the name."""
    if not sources:
        raise OptionError("name at least one model to serve")
    found: dict[str, TextModel] = {}
    for given in sources:
        name, equals, source = given.partition("=")
        if not equals or "/" in name or not source:
            source = given
            name = Path(given.rstrip("/")).name or given
        title, number = name, 1
        while title in found:
            number += 1
            title = f"{name}-{number}"
        found[title] = load(source, labels=labels, task=task)
    return found


@dataclass(frozen=True)
class Question:
    """What is to be explained, and how."""

    example: Example
    method: str
    options: tuple[tuple[str, Any], ...]
    target: str | int | None
    against: str | int | None
    seed: int
    verdict: Any
    truncation: str


def explain_together(model: TextModel, calls: list[Call]) -> list[Any]:
    """Explanations as JSON; the questions differ in their inputs and targets only."""
    questions: list[Question] = [call.payload for call in calls]
    first = questions[0]
    made = explain(
        model,
        [question.example for question in questions],
        first.method,
        target=[question.target for question in questions],
        against=[question.against for question in questions],
        seed=first.seed,
        truncation=first.truncation,
        verdict=first.verdict,
        **dict(first.options),
    )
    return [dumps(why.to_dict()) for why in made]


@dataclass(frozen=True)
class Asked:
    """An input without some of its words."""

    example: Example
    removed: tuple[int, ...]
    erasure: str | None


def predict_together(model: TextModel, calls: list[Call]) -> list[Any]:
    """Predictions as JSON for inputs of which some words are removed, all in the same way."""
    asked: list[Asked] = [call.payload for call in calls]
    examples = [given.example for given in asked]
    encoded = model.prepare(examples, "head")
    space = WordSpace(model, examples, erasure=asked[0].erasure, encoded=encoded)
    keep = np.ones((len(asked), max(len(item.words) for item in encoded)), dtype=np.float32)
    for row, given in zip(keep, asked, strict=True):
        row[list(given.removed)] = 0.0
    table = space.probabilities(np.arange(len(asked)), keep)
    answers = []
    for item, given, row in zip(encoded, asked, table, strict=True):
        said = model.prediction(item, row)
        answers.append(
            dumps(
                {
                    "label": said.label,
                    "probabilities": dict(zip(said.labels, said.probabilities, strict=True)),
                    "labels": said.labels,
                    "values": said.probabilities,
                    "words": [
                        plain({"text": w.text, "start": w.start, "end": w.end, "field": w.field}) for w in item.words
                    ],
                    "removed": given.removed,
                    "erasure": space.erasure,
                    "notes": item.notes,
                }
            )
        )
    return answers
