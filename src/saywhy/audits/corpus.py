"""A corpus seen through a model's reasons: the words that decide, the errors they make, and those that look wrong."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from saywhy import __version__
from saywhy.audits.shortcuts import Candidate, Deciding, try_words
from saywhy.audits.tallies import Moments, Reservoir, holm, rarely_by_chance
from saywhy.audits.texts import own_texts, word_values
from saywhy.errors import InputError, OptionError
from saywhy.explainers import explain
from saywhy.explainers.base import Request
from saywhy.explainers.inquiry import open_space
from saywhy.metrics.source import open_source
from saywhy.models import TextModel, load
from saywhy.types import Example, Explanation

__all__ = ["Decider", "Errors", "Overview", "overview"]

# Words of a text that are asked about, and how many words a phrase of them may have.
_TOP = 3
# Choices are other texts each time: they have no name in common.
_CHOICE = "choice"


@dataclass(frozen=True)
class Decider:
    """A word or phrase that decides for a label.

    ``present`` counts the texts that have it, ``decided`` those in which its removal moved the predicted label's
    probability most and by enough, ``flipped`` those in which the removal changed the prediction. ``effect`` is the
    mean loss of probability where it decided, with a 95 % interval; ``wrong`` counts the errors among those.
    """

    text: str
    label: str
    present: int
    decided: int
    flipped: int
    effect: float
    low: float
    high: float
    wrong: int
    examples: tuple[str, ...] = ()


@dataclass(frozen=True)
class Errors:
    """Errors that a word or phrase decided, beside what would be expected of as many decisions."""

    text: str
    label: str
    wrong: int
    decided: int
    p_value: float
    examples: tuple[str, ...] = ()


@dataclass(frozen=True)
class Overview:
    """What decides over a whole corpus."""

    data: str
    n: int
    labels: tuple[str, ...]
    predicted: Mapping[str, int]
    accuracy: float | None
    method: str
    deciders: tuple[Decider, ...]
    candidates: tuple[Candidate, ...]
    errors: tuple[Errors, ...]
    tried: tuple[Candidate, ...]
    model: str
    seed: int
    version: str = __version__
    notes: tuple[str, ...] = ()

    def of(self, label: str) -> tuple[Decider, ...]:
        """The deciders of a label, those that decide most often first."""
        return tuple(decider for decider in self.deciders if decider.label == label)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {"kind": "overview", "schema": 1, **asdict(self)}

    def to_json(self, indent: int | None = 2) -> str:
        """The same as a string."""
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=indent)

    def __rich__(self) -> Any:
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        right = "" if self.accuracy is None else f", accuracy {self.accuracy:.3f}"
        parts: list[Any] = [Text(f"{self.data or 'overview'}: {self.n} texts by {self.method}{right}", style="bold")]
        for label in self.labels:
            found = self.of(label)[:10]
            if found:
                table = Table(title=f"decides for {label}", title_justify="left")
                for name in ("word or phrase", "texts", "decided", "flipped", "effect", "wrong"):
                    table.add_column(name, justify="left" if name.startswith("word") else "right")
                for each in found:
                    table.add_row(
                        Text(each.text), str(each.present), str(each.decided), str(each.flipped), f"{each.effect:.2f}",
                        str(each.wrong),
                    )  # fmt: skip
                parts.append(table)
        parts += [Text(f"possible shortcut: {candidate}", style="yellow") for candidate in self.candidates]
        if not self.candidates:
            parts.append(Text(f"no possible shortcut among the {len(self.tried)} words that decide most often"))
        parts += [
            Text(f"{each.text!r} decided {each.wrong} errors of {each.decided} decisions for {each.label}")
            for each in self.errors[:5]
        ]
        return Group(*parts)


@dataclass
class _Unit:
    """What is remembered of a word or phrase that decided for a label."""

    effect: Moments = field(default_factory=Moments)
    flipped: int = 0
    wrong: int = 0
    examples: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


def overview(
    model: Any,
    data: Any,
    *,
    method: str = "auto",
    split: str | None = None,
    limit: int | None = None,
    least: float = 0.1,
    texts: int = 60,
    seed: int = 0,
    batch_size: int = 32,
    truncation: str = "error",
    data_options: Mapping[str, Any] | None = None,
    **options: Any,
) -> Overview:
    """Which words and phrases decide most often, which errors they make, and which of them may be shortcuts.

    Every text is explained; its three best words, neighbours taken together, are removed one by one, and the one whose
    removal costs the predicted label most has decided, if it costs enough. The words that decide most often are put
    before texts with another prediction: a word that turns far more of them than the others do needs no context, and
    is a candidate for a shortcut. Texts are read in blocks; what stays of each is a few sums for its words.

    Args:
        model: anything `saywhy.load` takes, black boxes included.
        data: as for `saywhy.evaluate`.
        method: that names the words.
        split: of a dataset; by default ``test``, else ``dev``, and all of a file of one's own.
        limit: at most so many texts, drawn by ``seed``.
        least: loss of probability from which on a word decides.
        texts: that words are tried on.
        seed: of everything random.
        batch_size: rows of a model call.
        truncation: what happens to texts that are too long.
        data_options: options of the dataset.
        options: of the method.
    """
    loaded = load(model)
    if loaded.task.name == "span-qa":
        raise OptionError("an overview is of labels; a span-qa model has none")
    if not 0 < least < 1:
        raise OptionError(f"least is a loss of probability between 0 and 1, not {least}")
    texts_of, part = own_texts(data, split, data_options)
    source = open_source(texts_of, part, limit, seed)
    walk = _Walk(loaded, least, Reservoir(texts, seed))
    names: set[str] = set()
    for block in source.blocks(loaded.splitter):
        examples = [example for _, example in block]
        request = Request(
            loaded, tuple(examples), (None,) * len(block), (None,) * len(block), seed, batch_size, truncation
        )
        made = explain(
            loaded,
            examples,
            method,
            seed=seed,
            batch_size=batch_size,
            truncation=truncation,
            verdict=False,
            **options,
        )
        names |= {why.method for why in made}
        walk.see(request, made)
    if walk.n == 0:
        raise InputError("there is no text to look at")
    often = sorted(walk.units.items(), key=lambda item: (-item[1].effect.n, item[0]))
    single = [
        Deciding(name, label, walk.present[name], unit.effect.n, walk.gold_share(name, label))
        for (name, label), unit in often
        if " " not in name and label != _CHOICE
    ]
    tried = try_words(loaded, single, walk.texts.kept, batch_size, truncation)
    return Overview(
        data=source.title,
        n=walk.n,
        labels=tuple(sorted(walk.predicted, key=lambda label: -walk.predicted[label])),
        predicted=dict(walk.predicted),
        accuracy=walk.right / walk.judged if walk.judged else None,
        method=", ".join(sorted(names)),
        deciders=tuple(walk.deciders()),
        candidates=tuple(each for each in tried if each.suspect),
        errors=tuple(walk.errors()),
        tried=tuple(tried),
        model=loaded.fingerprint,
        seed=seed,
    )


class _Walk:
    """Sums over the texts seen so far."""

    def __init__(self, model: TextModel, least: float, texts: Reservoir[tuple[Example, str]]) -> None:
        self.model, self.least, self.texts = model, least, texts
        self.n = self.judged = self.right = 0
        self.predicted: dict[str, int] = {}
        self.present: dict[str, int] = {}
        self.gold: dict[str, dict[str, int]] = {}
        self.units: dict[tuple[str, str], _Unit] = {}

    def see(self, request: Request, explanations: Sequence[Explanation]) -> None:
        """Take in a block of texts and their explanations."""
        space = open_space(request, "words")
        units = [list(_units(why)) for why in explanations]
        owner = [i for i, own in enumerate(units) for _ in own]
        keep = np.ones((len(owner), max(len(f) for f in space.features)), dtype=bool)
        for row, unit in zip(keep, (unit for own in units for unit in own), strict=True):
            row[list(unit)] = False
        table = self.model.task.probabilities(space.outputs(np.asarray(owner, dtype=np.int64), keep)).numpy()
        at = 0
        for number, (why, own) in enumerate(zip(explanations, units, strict=True)):
            self._note(request.examples[number], why, own, table[at : at + len(own)])
            at += len(own)

    def _note(self, example: Example, why: Explanation, units: Sequence[tuple[int, ...]], after: np.ndarray) -> None:
        prediction = why.prediction
        words = [word.text for word in getattr(why, "words", ())]
        known = example.label is not None
        gold = str(prediction.labels[example.label] if isinstance(example.label, int) else example.label)
        wrong = known and gold != prediction.label
        label = self._label(example, prediction.label)
        self.n += 1
        self.judged += known
        self.right += known and not wrong
        self.predicted[label] = self.predicted.get(label, 0) + 1
        self.texts.add((example, prediction.label))
        for word in {word.casefold() for word in words}:
            self.present[word] = self.present.get(word, 0) + 1
            if known and not example.choices:
                counts = self.gold.setdefault(word, {})
                counts[gold] = counts.get(gold, 0) + 1
        if not units:
            return
        best = prediction.index
        losses = prediction.probability - after[:, best]
        # A phrase decides only where it costs clearly more than one of its words does.
        place = int((losses - self.least * np.asarray([len(unit) > 1 for unit in units])).argmax())
        if losses[place] < self.least:
            return
        name = " ".join(words[i] for i in units[place]).casefold()
        unit = self.units.setdefault((name, label), _Unit())
        unit.effect.add(float(losses[place]))
        unit.flipped += int(after[place].argmax()) != best
        unit.wrong += wrong
        shown = " ".join(example.fields)
        for wanted, kept in ((True, unit.examples), (wrong, unit.errors)):
            if wanted and len(kept) < 3:
                kept.append(shown)
        if " " in name and name not in self.present:
            self.present[name] = 0
        if " " in name:
            self.present[name] += 1

    @staticmethod
    def _label(example: Example, predicted: str) -> str:
        return _CHOICE if example.choices else predicted

    def gold_share(self, word: str, label: str) -> float | None:
        """How often the texts that have a word bear a label, where labels are known."""
        counts = self.gold.get(word)
        return None if counts is None else counts.get(label, 0) / sum(counts.values())

    def deciders(self) -> Iterator[Decider]:
        order = sorted(self.units.items(), key=lambda item: (-item[1].effect.n, -item[1].effect.mean, item[0]))
        for (name, label), unit in order:
            low, high = unit.effect.interval()
            yield Decider(
                name, label, self.present[name], unit.effect.n, unit.flipped, unit.effect.mean,
                max(low, 0.0), min(high, 1.0), unit.wrong, tuple(unit.examples),
            )  # fmt: skip

    def errors(self) -> Iterator[Errors]:
        if not self.judged:
            return
        rate = 1 - self.right / self.judged
        found = [
            Errors(
                name, label, unit.wrong, unit.effect.n, rarely_by_chance(unit.wrong, unit.effect.n, rate),
                tuple(unit.errors),
            )
            for (name, label), unit in self.units.items()
            if unit.wrong
        ]  # fmt: skip
        corrected = holm(each.p_value for each in found)
        found = [replace(each, p_value=p) for each, p in zip(found, corrected, strict=True)]
        yield from sorted(found, key=lambda each: (-each.wrong, each.p_value, each.text))


def _units(why: Explanation) -> Iterator[tuple[int, ...]]:
    """Numbers of the best words of an explanation, each alone, and neighbours together."""
    words, scores = word_values(why)
    best = sorted((i for i, s in enumerate(scores) if s > 0), key=lambda i: (-scores[i], i))[:_TOP]
    runs: list[list[int]] = []
    for i in sorted(best):
        if runs and runs[-1][-1] == i - 1 and words[i].field == words[i - 1].field:
            runs[-1].append(i)
        else:
            runs.append([i])
    yield from ((i,) for i in sorted(best))
    yield from (tuple(run) for run in runs if len(run) > 1)
