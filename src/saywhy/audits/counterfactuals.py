"""The smallest change to a text that changes the model's mind."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from itertools import combinations
from math import comb
from typing import Any, ClassVar, TypeAlias, overload

import numpy as np

import saywhy
from saywhy.errors import InputError, OptionError
from saywhy.models import TextModel, load
from saywhy.models.erasures import edit_text
from saywhy.types import Example, TextInput, Word, as_examples

__all__ = ["Change", "Counterfactual", "counterfactual"]

Edits: TypeAlias = "tuple[tuple[int, str], ...]"
"""Words by number with what stands in for each; an empty string takes the word out. Sorted by number."""

_Questions: TypeAlias = "Iterator[list[Edits]]"


@dataclass(frozen=True)
class Change:
    """One word that was taken out, or replaced.

    ``without`` is the first label's probability when all changes but this one are made: how much it was needed.
    """

    word: Word
    replacement: str
    without: float

    def __str__(self) -> str:
        return f"{self.word.text} -> {self.replacement}" if self.replacement else f"- {self.word.text}"


@dataclass(frozen=True)
class Counterfactual:
    """A text as near to the given one as was found that the model judges otherwise.

    ``label`` and ``probability`` are the model's prediction for the given text; ``new_label`` and ``new_probability``
    that for the changed one. Without a flip there are no ``changes``, and the new ones are the old. ``smallest``: every
    smaller set of the allowed changes was tried (without a flip: every set). ``asked`` counts the changed texts that
    were shown to the model.
    """

    texts: tuple[str, ...]
    choices: tuple[str, ...]
    label: str
    probability: float
    new_texts: tuple[str, ...]
    new_choices: tuple[str, ...]
    new_label: str
    new_probability: float
    changes: tuple[Change, ...] = ()
    words: int = 0
    smallest: bool = False
    asked: int = 0
    model: str = ""
    version: str = ""
    notes: tuple[str, ...] = ()
    kind: ClassVar[str] = "counterfactual"

    @property
    def flipped(self) -> bool:
        """Whether one was found."""
        return bool(self.changes)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {"kind": self.kind, "schema": 1, "flipped": self.flipped, **asdict(self)}

    def __rich__(self) -> Any:
        from rich.text import Text

        if not self.flipped:
            tried = "no change" if self.smallest else f"none of {self.asked} changes"
            return Text(f"{tried} of its words turns {self.label} ({self.probability:.2f})", style="yellow")
        made = Text()
        made.append(f"{self.label} ({self.probability:.2f}) -> {self.new_label} ({self.new_probability:.2f}) ", "bold")
        size = "the smallest change" if self.smallest else "a small change"
        made.append(f"{size}: {', '.join(map(str, self.changes))}\n")
        for text in (*self.new_texts, *self.new_choices):
            made.append(f"  {text}\n")
        for change in self.changes if len(self.changes) > 1 else ():
            made.append(f"  without {change}: {self.label} keeps {change.without:.2f}\n", style="dim")
        return made


@overload
def counterfactual(
    model: Any,
    inputs: TextInput,
    *,
    target: str | int | None = ...,
    replace: Sequence[str] = ...,
    most: int | None = ...,
    beam: int = ...,
    budget: int = ...,
    batch_size: int = ...,
    truncation: str = ...,
) -> Counterfactual: ...


@overload
def counterfactual(
    model: Any,
    inputs: Sequence[TextInput],
    *,
    target: str | int | None = ...,
    replace: Sequence[str] = ...,
    most: int | None = ...,
    beam: int = ...,
    budget: int = ...,
    batch_size: int = ...,
    truncation: str = ...,
) -> list[Counterfactual]: ...


def counterfactual(
    model: Any,
    inputs: TextInput | Sequence[TextInput],
    *,
    target: str | int | None = None,
    replace: Sequence[str] = (),
    most: int | None = None,
    beam: int = 8,
    budget: int = 2000,
    batch_size: int = 32,
    truncation: str = "error",
) -> Counterfactual | list[Counterfactual]:
    """Find the fewest words to take out, or to replace, that turn a prediction.

    All single changes are tried, then all pairs, and so on as long as ``budget`` allows; beyond that the ``beam`` sets
    that bring the model nearest to turning are extended. What is found is tried without each of its changes, so that
    every one of them is needed. Texts are changed as text and asked about as the model would be asked: nothing is
    masked inside of it, and it works for black boxes, pairs and choices.

    Args:
        model: a `TextModel` or anything `saywhy.load` takes.
        inputs: a text, a pair, a question with choices, an `Example`, or a list of these. Fields that an example's
            ``meta["fixed"]`` numbers are left alone.
        target: the label to reach; any other than the predicted if None.
        replace: words that may stand in for others. Without any, words are taken out.
        most: changes at most; by default half of the words, and at least three.
        beam: sets that are followed where not all can be tried.
        budget: changed texts at most for each input.
        batch_size: the most rows the model sees at a time.
        truncation: what happens to texts that are too long.

    Returns:
        One for one, a list for a list. Every one that ``flipped`` was seen to flip.

    Example:
        >>> fan = load(lambda ts: [[float("good" in t), float("good" not in t)] for t in ts], labels=["yes", "no"])
        >>> found = counterfactual(fan, "A good film")
        >>> found.new_texts, found.new_label, found.smallest
        (('A film',), 'no', True)
    """
    model = load(model)
    examples, single = as_examples(inputs)
    if beam < 1 or budget < 1 or (most is not None and most < 1):
        raise OptionError("beam, budget and most must be at least 1")
    if model.task.name == "span-qa":
        raise OptionError("a span-qa model answers with a part of the text; there is no other label to turn it to")
    asker = _Asker(model, batch_size, truncation)
    before = asker.ask(examples)
    searches = [
        _Search(asker, example, row, target, tuple(replace), most, beam, budget)
        for example, row in zip(examples, before, strict=True)
    ]
    _advance_together(asker, searches)
    fingerprint = model.fingerprint
    made = [search.result(fingerprint) for search in searches]
    return made[0] if single else made


class _Asker:
    """Probabilities of changed examples."""

    def __init__(self, model: TextModel, batch_size: int, truncation: str) -> None:
        self.model, self.batch_size, self.truncation = model, batch_size, truncation

    def ask(self, examples: Sequence[Example]) -> list[np.ndarray]:
        found = self.model.predict(list(examples), batch_size=self.batch_size, truncation=self.truncation)
        return [np.asarray(prediction.probabilities) for prediction in found]


def _advance_together(asker: _Asker, searches: Sequence[_Search]) -> None:
    """Run all searches side by side, so that the model sees full batches."""
    asking = [(search, search.run()) for search in searches]
    questions = [(search, steps, next(steps, None)) for search, steps in asking]
    while waiting := [(search, steps, wanted) for search, steps, wanted in questions if wanted is not None]:
        changed = [search.edited(edits) for search, _, wanted in waiting for edits in wanted]
        answers = iter(asker.ask(changed))
        for search, _, wanted in waiting:
            search.learn(wanted, [next(answers) for _ in wanted])
        questions = [(search, steps, next(steps, None)) for search, steps, _ in waiting]


@dataclass
class _Search:
    """The search for one input: asks about sets of edits by yielding them, and reads the answers in ``values``."""

    asker: _Asker
    example: Example
    before: np.ndarray
    target: str | int | None
    replace: tuple[str, ...]
    most: int | None
    beam: int
    budget: int
    values: dict[Edits, np.ndarray] = field(default_factory=dict)
    found: Edits = ()
    exhausted: int = 0
    """The largest size of which every set was tried."""

    def __post_init__(self) -> None:
        model = self.asker.model
        self.words = model.words(self.example)
        fixed = set(self.example.meta.get("fixed", ()))
        self.free = [i for i, word in enumerate(self.words) if word.field not in fixed]
        if not self.free:
            raise InputError(f"{self.example.where()} has no word that may be changed")
        self.old = int(self.before.argmax())
        self.goal = None if self.target is None else model.label_index(self.target, self.example)
        self.limit = min(self.most or max(3, len(self.free) // 2), len(self.free))

    def edited(self, edits: Edits) -> Example:
        return edit_text(self.example, self.words, dict(edits))

    def learn(self, asked: Sequence[Edits], answers: Sequence[np.ndarray]) -> None:
        self.values.update(zip(asked, answers, strict=True))

    def run(self) -> _Questions:
        if self.goal == self.old:
            return
        options = [(i, new) for i in self.free for new in (self.replace or ("",)) if new != self.words[i].text]
        front: list[Edits] = [()]
        for size in range(1, self.limit + 1):
            every = comb(len(self.free), size) * (len(self.replace) or 1) ** size
            exhaustive = self.exhausted == size - 1 and len(self.values) + every <= self.budget
            wanted = self._all(options, size) if exhaustive else self._extended(front, options)
            wanted = [edits for edits in wanted if edits not in self.values][: self.budget - len(self.values)]
            if not wanted:
                return
            yield wanted
            flips = [edits for edits in wanted if self._flips(edits)]
            if flips:
                self.found = max(flips, key=self._turned)
                yield from self._prune()
                return
            self.exhausted += exhaustive
            front = sorted(self._of_size(size), key=self._turned, reverse=True)[: self.beam]

    def _all(self, options: Sequence[tuple[int, str]], size: int) -> list[Edits]:
        return [some for some in combinations(options, size) if len({i for i, _ in some}) == size]

    def _extended(self, front: Sequence[Edits], options: Sequence[tuple[int, str]]) -> list[Edits]:
        """The best sets with one change more; what moved the model most on its own comes first."""
        alone = sorted(options, key=lambda option: self._turned((option,)), reverse=True)
        made: dict[Edits, None] = {}
        for option in alone:
            for edits in front:
                if option[0] not in dict(edits):
                    made[tuple(sorted((*edits, option)))] = None
        return list(made)

    def _prune(self) -> _Questions:
        """Take back changes that were not needed, and learn what the others are needed for."""
        while True:
            fewer = [tuple(e for e in self.found if e != left_out) for left_out in self.found]
            asked = [edits for edits in fewer if edits and edits not in self.values]
            if asked:
                yield asked
            flips = [edits for edits in fewer if edits and self._flips(edits)]
            if not flips:
                return
            self.found = max(flips, key=self._turned)

    def _of_size(self, size: int) -> list[Edits]:
        return [edits for edits in self.values if len(edits) == size]

    def _flips(self, edits: Edits) -> bool:
        best = int(self.values[edits].argmax())
        return best == self.goal if self.goal is not None else best != self.old

    def _turned(self, edits: Edits) -> float:
        """How near the model is to turning: higher is nearer."""
        row = self.values.get(edits)
        if row is None:
            return -np.inf
        return float(row[self.goal]) if self.goal is not None else -float(row[self.old])

    def result(self, fingerprint: str) -> Counterfactual:
        names = self.example.choices or self.asker.model.labels
        row = self.values[self.found] if self.found else self.before
        changed = self.edited(self.found)
        changes = []
        for edit in self.found:
            rest = tuple(other for other in self.found if other != edit)
            without = self.values[rest] if rest else self.before
            changes.append(Change(self.words[edit[0]], edit[1], float(without[self.old])))
        smallest = self.exhausted >= (len(self.found) - 1 if self.found else len(self.free)) or self.goal == self.old
        notes = () if self.goal != self.old else (f"the model says {names[self.old]} already",)
        return Counterfactual(
            texts=self.example.texts,
            choices=self.example.choices,
            label=names[self.old],
            probability=float(self.before[self.old]),
            new_texts=changed.texts,
            new_choices=changed.choices,
            new_label=names[int(row.argmax())],
            new_probability=float(row.max()),
            changes=tuple(changes),
            words=len(self.words),
            smallest=smallest,
            asked=len(self.values),
            model=fingerprint,
            version=saywhy.__version__,
            notes=notes,
        )
