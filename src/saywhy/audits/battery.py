"""The sanity battery: what an explanation method must do to be believed at all."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from scipy.stats import spearmanr

from saywhy import __version__
from saywhy.audits.corpus import overview
from saywhy.audits.randomised import blocks_of, copy_of, randomise, randomised
from saywhy.audits.shortcuts import Candidate
from saywhy.audits.texts import own_texts, word_before, word_values
from saywhy.errors import InputError, OptionError, SayWhyWarning
from saywhy.explainers import explain
from saywhy.metrics.source import open_source
from saywhy.models import TextModel, load
from saywhy.ops.randomness import numpy_generator
from saywhy.types import Example, Explanation

__all__ = ["Outcome", "SanityReport", "sanity"]

TESTS = ("parameters", "labels", "shortcut", "invariance", "seeds")
# A method whose scores still agree so well with those of a ruined model does not look at the model.
_TOO_ALIKE = 0.5
# From how much on scores are the same but for rounding and batching.
_SAME = 0.98
# How many of the texts in which the model uses a planted word must name it first.
_FOUND = 0.8
# Mean Jaccard index of the top words of two seeds.
_STEADY = 0.6
# Loss of probability from which on a model uses the planted word.
_USED = 0.2
_TOP = 0.25


@dataclass(frozen=True)
class Outcome:
    """One test of one method. ``passed`` is None where it could not be made; ``detail`` says why, or what was seen."""

    method: str
    test: str
    passed: bool | None
    value: float | None
    detail: str
    curve: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True)
class SanityReport:
    """All tests of all methods. ``suspects`` are possible shortcuts of the model itself, as an overview finds them."""

    outcomes: tuple[Outcome, ...]
    data: str
    n: int
    model: str
    seed: int
    suspects: tuple[Candidate, ...] = ()
    version: str = __version__

    @property
    def methods(self) -> tuple[str, ...]:
        """Names of the methods, in their order."""
        return tuple(dict.fromkeys(outcome.method for outcome in self.outcomes))

    def of(self, method: str) -> dict[str, Outcome]:
        """A method's outcomes by test."""
        return {outcome.test: outcome for outcome in self.outcomes if outcome.method == method}

    def verdict(self, method: str) -> str:
        """What a reader should take home."""
        own = self.of(method)
        failed = [test for test, outcome in own.items() if outcome.passed is False]
        made = [test for test, outcome in own.items() if outcome.passed is not None]
        if not made:
            return "nothing could be tested"
        return f"fails {', '.join(failed)}" if failed else f"passes {', '.join(made)}"

    @property
    def passed(self) -> bool:
        """Whether no test failed."""
        return not any(outcome.passed is False for outcome in self.outcomes)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        said = {method: self.verdict(method) for method in self.methods}
        return {"kind": "sanity", "schema": 1, "passed": self.passed, "verdicts": said, **asdict(self)}

    def to_json(self, indent: int | None = 2) -> str:
        """The same as a string."""
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=indent)

    def __rich__(self) -> Any:
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        table = Table(title=f"{self.data or 'sanity'}: {self.n} texts", title_justify="left")
        for name in ("method", "test", "seen", ""):
            table.add_column(name)
        marks = {True: Text("ok", "green"), False: Text("FAILED", "bold red"), None: Text("not made", "dim")}
        for outcome in self.outcomes:
            table.add_row(outcome.method, outcome.test, Text(outcome.detail), marks[outcome.passed])
        said = [Text(f"{method}: {self.verdict(method)}") for method in self.methods]
        said += [Text(f"the model itself: {suspect}", style="yellow") for suspect in self.suspects]
        return Group(table, *said)


def sanity(
    model: Any,
    data: Any,
    methods: str | Sequence[str],
    *,
    tests: Sequence[str] = TESTS,
    train: Any = None,
    strength: float = 0.9,
    word: str = "zygo",
    fit: Callable[[list[Any], list[str]], Any] | None = None,
    split: str | None = None,
    limit: int | None = 20,
    survey: int | None = 200,
    train_limit: int = 1000,
    epochs: int = 2,
    learning_rate: float | None = None,
    seed: int = 0,
    batch_size: int = 32,
    truncation: str = "head",
    method_options: Mapping[str, Mapping[str, Any]] | None = None,
) -> SanityReport:
    """Test explanation methods on a model and one's own data.

    - ``parameters``: the network's weights are put in disorder, block by block from the output down (Adebayo et al.
      2018); scores that hardly change do not explain this model.
    - ``labels``: a copy is trained on shuffled labels; its explanations must be others.
    - ``shortcut``: a word is put before the texts of one label with a chance of ``strength`` and before the others with
      the rest of it, and a copy is trained on them; where the copy uses the word, the method must name it first.
    - ``invariance``: what does not change the input (spaces, the company of other texts in a batch) must not change the
      scores.
    - ``seeds``: two seeds must name much the same words.

    Args:
        model: anything `saywhy.load` takes.
        data: texts to explain, as for `saywhy.evaluate`.
        methods: names of methods.
        tests: which of them.
        train: examples to train copies on, for ``labels`` and ``shortcut``: a dataset (its ``train`` split) or a list.
        strength: of the planted shortcut.
        word: that is planted.
        fit: for black boxes: trains another on texts and labels and returns what `saywhy.load` takes.
        split: of the data.
        limit: texts to explain.
        survey: texts in which possible shortcuts of the model itself are looked for, by the first method that is not
            ``random``; None takes all.
        train_limit: examples to train copies on.
        epochs: of their training.
        learning_rate: of their training; what suits a pretrained encoder if None.
        seed: of everything random.
        batch_size: rows of a model call.
        truncation: what happens to texts that are too long.
        method_options: options of methods, such as ``{"lime": {"samples": 200}}``.
    """
    loaded = load(model)
    unknown = [test for test in tests if test not in TESTS]
    if unknown:
        raise OptionError(f"no test {', '.join(unknown)}; there are {', '.join(TESTS)}")
    if not 0.5 < strength <= 1:
        raise OptionError(f"strength is between 0.5 (no shortcut at all) and 1, not {strength}")
    names = [methods] if isinstance(methods, str) else list(methods)
    texts, part = own_texts(data, split)
    source = open_source(texts, part, limit, seed)
    examples = [example for _, example in source]
    if not examples:
        raise InputError("there is no text to explain")
    lesson = _lesson(train, train_limit, seed)
    how = {"seed": seed, "batch_size": batch_size, "truncation": truncation, "verdict": False}
    battery = _Battery(loaded, examples, names, how, method_options or {}, lesson, fit, epochs, learning_rate)
    found: list[Outcome] = []
    for test in tests:
        found += getattr(battery, f"test_{test}")(
            **({"strength": strength, "word": word} if test == "shortcut" else {})
        )
    scored = next((name for name in names if name != "random"), None)
    suspects: tuple[Candidate, ...] = ()
    if scored is not None and loaded.task.name != "span-qa":
        run: dict[str, Any] = {"seed": seed, "batch_size": batch_size, "truncation": truncation}
        suspects = overview(loaded, texts, method=scored, split=part, limit=survey, **run).candidates
    order = {name: i for i, name in enumerate(names)}
    outcomes = sorted(found, key=lambda outcome: order[outcome.method])
    return SanityReport(tuple(outcomes), source.title, len(examples), loaded.fingerprint, seed, suspects)


def _lesson(train: Any, limit: int, seed: int) -> list[Example]:
    if train is None:
        return []
    if isinstance(train, list | tuple):
        found = [example for _, example in open_source(train, None, limit, seed)]
    else:
        found = [example for _, example in open_source(train, "train", limit, seed)]
    return [example for example in found if example.label is not None]


@dataclass(frozen=True)
class _Battery:
    model: TextModel
    examples: list[Example]
    methods: list[str]
    how: Mapping[str, Any]
    options: Mapping[str, Mapping[str, Any]]
    lesson: list[Example]
    fit: Callable[[list[Any], list[str]], Any] | None
    epochs: int
    learning_rate: float | None

    def explained(
        self, model: TextModel, examples: Sequence[Example], method: str, **more: Any
    ) -> list[tuple[Explanation, np.ndarray]]:
        made = explain(model, list(examples), method, **{**self.how, **self.options.get(method, {}), **more})
        return [(why, word_values(why)[1]) for why in made]

    def test_parameters(self) -> list[Outcome]:
        if self.model.network is None:
            return self._skipped("parameters", "a black box shows no parameters")
        blocks = [name for name, _ in blocks_of(self.model.module)]
        curves: dict[str, list[tuple[str, float]]] = {method: [] for method in self.methods}
        first = {method: self.explained(self.model, self.examples, method) for method in self.methods}
        for block, other in randomised(self.model, int(self.how["seed"])):
            for method in self.methods:
                targets = [why.prediction.index for why, _ in first[method]]
                again = self.explained(other, self.examples, method, target=targets)
                curves[method].append((block, _agreement(first[method], again)))
        made = []
        for method, curve in curves.items():
            last = curve[-1][1]
            detail = f"rank correlation {curve[0][1]:.2f} without {blocks[0]}, {last:.2f} with all weights in disorder"
            made.append(Outcome(method, "parameters", abs(last) < _TOO_ALIKE, last, detail, tuple(curve)))
        return made

    def test_labels(self) -> list[Outcome]:
        if reason := self._cannot_train():
            return self._skipped("labels", reason)
        rng = numpy_generator(int(self.how["seed"]), "labels")
        order = rng.permutation(len(self.lesson))
        shuffled = [
            replace(example, label=self.lesson[int(i)].label) for example, i in zip(self.lesson, order, strict=True)
        ]
        other = self._trained(shuffled)
        made = []
        for method in self.methods:
            first = self.explained(self.model, self.examples, method)
            again = self.explained(other, self.examples, method, target=[why.prediction.index for why, _ in first])
            value = _agreement(first, again)
            detail = f"rank correlation {value:.2f} with a copy trained on shuffled labels"
            made.append(Outcome(method, "labels", abs(value) < _TOO_ALIKE, value, detail))
        return made

    def test_shortcut(self, strength: float, word: str) -> list[Outcome]:
        if reason := self._cannot_train():
            return self._skipped("shortcut", reason)
        if self.model.task.name not in ("text", "pair"):
            return self._skipped("shortcut", f"a shortcut to a label needs labels; the task is {self.model.task.name}")
        rng = numpy_generator(int(self.how["seed"]), "shortcut")
        label = self.model.labels[-1]
        planted = [
            word_before(example, word) if (rng.random() < strength) == (example.label == label) else example
            for example in self.lesson
        ]
        other = self._trained(planted)
        seen = [word_before(example, word) for example in self.examples]
        size, truncation = int(self.how["batch_size"]), str(self.how["truncation"])
        with_word = other.predict(seen, batch_size=size, truncation=truncation)
        without = other.predict(self.examples, batch_size=size, truncation=truncation)
        place = self.model.labels.index(label)
        used = [
            example
            for example, a, b in zip(seen, with_word, without, strict=True)
            if a.index == place and a.probabilities[place] - b.probabilities[place] >= _USED
        ]
        if not used:
            return self._skipped("shortcut", f"the copy does not use {word!r}; train on more, or raise the strength")
        made = []
        for method in self.methods:
            hits = sum(
                bool(len(scores)) and word_values(why)[0][int(scores.argmax())].text == word
                for why, scores in self.explained(other, used, method, target=label)
            )
            value = hits / len(used)
            detail = f"names {word!r} first in {hits} of the {len(used)} texts in which the copy uses it"
            made.append(Outcome(method, "shortcut", value >= _FOUND, value, detail))
        return made

    def test_invariance(self) -> list[Outcome]:
        made = []
        spaced = [replace(e, texts=tuple(text.replace(" ", "  ") for text in e.texts)) for e in self.examples]
        longest = max(self.examples, key=lambda example: sum(map(len, example.fields)))
        for method in self.methods:
            first = self.explained(self.model, self.examples, method)
            values = [_agreement(first, self.explained(self.model, spaced, method))]
            beside = [self.explained(self.model, [example, longest], method)[0] for example in self.examples]
            values.append(_agreement(first, beside))
            value = min(values)
            detail = f"rank correlation {values[0]:.3f} with wider spaces, {values[1]:.3f} in other company"
            made.append(Outcome(method, "invariance", value >= _SAME, value, detail))
        return made

    def test_seeds(self) -> list[Outcome]:
        made = []
        for method in self.methods:
            first = self.explained(self.model, self.examples, method)
            again = self.explained(self.model, self.examples, method, seed=int(self.how["seed"]) + 1)
            value = float(np.mean([_overlap(a, b) for (_, a), (_, b) in zip(first, again, strict=True)]))
            detail = f"two seeds share {value:.0%} of the words that they name"
            made.append(Outcome(method, "seeds", value >= _STEADY, value, detail))
        return made

    def _cannot_train(self) -> str:
        if not self.lesson:
            return "there is nothing to train a copy on; give train="
        if self.model.network is None and self.fit is None:
            return "a black box cannot be trained; give fit="
        return ""

    def _trained(self, examples: list[Example]) -> TextModel:
        if self.fit is not None:
            given = [example.texts[0] if len(example.texts) == 1 else example.texts for example in examples]
            return load(self.fit(given, [str(example.label) for example in examples]), labels=self.model.labels)
        from saywhy.objectives import train

        start = copy_of(self.model)
        # A new head: what the old one knows of the labels would be explained else.
        randomise(start.module, blocks_of(start.module)[0][1], int(self.how["seed"]))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SayWhyWarning)
            return train(
                "plain", examples, start, epochs=self.epochs, seed=int(self.how["seed"]),
                batch_size=int(self.how["batch_size"]), learning_rate=self.learning_rate, quiet=True,
            )  # fmt: skip

    def _skipped(self, test: str, reason: str) -> list[Outcome]:
        return [Outcome(method, test, None, None, reason) for method in self.methods]


def _agreement(first: Sequence[tuple[Any, np.ndarray]], again: Sequence[tuple[Any, np.ndarray]]) -> float:
    """The mean rank correlation of scores; texts whose scores are all alike say nothing."""
    found = [
        float(spearmanr(a, b).statistic)
        for (_, a), (_, b) in zip(first, again, strict=True)
        if len(a) == len(b) > 1 and a.std() > 0 and b.std() > 0
    ]
    return float(np.mean(found)) if found else 0.0


def _overlap(a: np.ndarray, b: np.ndarray) -> float:
    size = max(1, int(np.ceil(_TOP * len(a))))
    tops = [set(np.argsort(-scores, kind="stable")[:size].tolist()) for scores in (a, b)]
    return len(tops[0] & tops[1]) / len(tops[0] | tops[1])
