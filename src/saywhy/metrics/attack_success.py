"""Attack success: how often harmless changes of a text turn a right prediction?"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from saywhy.data.rewrites import KINDS, Rewrite, apply_rewrites, checklist_rewrites, synonym_rewrites
from saywhy.data.wordnet import open_wordnet
from saywhy.data.words import example_words
from saywhy.errors import DataError, OptionError
from saywhy.metrics.base import Metric, check_option, register
from saywhy.metrics.parts import Contributions, Parts
from saywhy.metrics.trial import Trial, Workbench
from saywhy.ops.randomness import numpy_generator
from saywhy.types import Example, Prediction

__all__ = ["AttackSuccess"]

RECIPES = ("checklist", "synonyms")
SEARCHES = ("greedy", "ranked")


@register
@dataclass(frozen=True, kw_only=True)
class AttackSuccess(Metric):
    """Share of rightly predicted examples whose prediction some small changes turn; low is good.

    ``bins`` of the result has the numbers of the paper's table: ``successes``, ``accuracy`` before and
    ``accuracy-under-attack``, ``words-changed`` (share of the words, mean over the successes), ``words`` and
    ``queries`` (means over the attacked examples). Examples that the model gets wrong by itself are not attacked.

    Reference: REGEX, appendix C, Table 6: the CheckList recipe (contract, extend, change names, places and numbers)
    with greedy search; Ribeiro et al., ACL 2020. The search: Morris et al.: TextAttack, EMNLP demonstrations 2020.

    Departures: names and places come from lists of this project; numbers that are marks are left alone. The search
    stops when no change lowers the probability of the right label any further.

    Edge cases: a label such as ``non-entailment`` that the model does not have is right until ``entailment`` is
    predicted; an example without anything to change is attacked in vain, with no query; of a pair, the fields in
    ``meta["fixed"]`` are left alone; choices are never changed, nor words beyond what the model reads of a long text.

    Attributes:
        recipe: ``checklist``, or ``synonyms`` (words replaced by WordNet's).
        wordnet: folder of WordNet's database files, for ``synonyms``.
        candidates: changes tried at each place.
        search: ``greedy`` tries all changes left after each one; ``ranked`` tries each once, then adds them from the
            most harmful on. ``greedy`` needs many more queries on long texts.
        max_queries: for one example.

    Example:
        >>> AttackSuccess().higher_is_better
        False
    """

    recipe: str = "checklist"
    wordnet: str | None = None
    candidates: int = 3
    search: str = "greedy"
    max_queries: int = 500

    name: ClassVar[str] = "attack-success"
    family: ClassVar[str] = "attack"
    of: ClassVar[str] = "model"
    bins_are: ClassVar[str] = "parts"
    paper: ClassVar[str] = "REGEX, Table 6"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_option(self.name, "recipe", self.recipe, RECIPES)
        check_option(self.name, "search", self.search, SEARCHES)
        if min(self.candidates, self.max_queries) < 1:
            raise OptionError(f"{self.name}: candidates and max_queries must be at least 1")
        if (self.recipe == "synonyms") != (self.wordnet is not None):
            raise OptionError(
                f"{self.name}: recipe='synonyms' goes with wordnet=FOLDER, the folder of WordNet's database files "
                "(Debian's package wordnet-base installs them)"
            )

    @property
    def higher_is_better(self) -> bool:
        """A model should not be turned."""
        return False

    def usable(self, example: Example, space: str = "words") -> bool:
        """Whether it has a label."""
        return example.label is not None

    def unusable(self, n: int) -> DataError:
        """The error for data of which nothing can be attacked."""
        return DataError(f"{self.name} needs labelled examples that the model gets right, and none of the {n} is one")

    def check_model(self, bench: Workbench) -> None:
        """Also reads WordNet, so that a folder without it is found before any work."""
        super().check_model(bench)
        if bench.task == "span-qa":
            raise OptionError(f"{self.name} attacks classifiers; answers of span QA move with the text")
        if self.wordnet is not None:
            open_wordnet(self.wordnet)

    def measure(self, trial: Trial) -> Parts:
        """Attack every example that the model gets right, all of them side by side."""
        bench = trial.bench
        self.check(bench)
        attacks = []
        for i, said in enumerate(bench.predictions):
            if bench.is_right(i, said):
                denied = bench.denied(i)
                aim = said.index if denied is None else said.labels.index(denied)
                changes = self._changes(bench, i)
                attack = _Attack(i, bench.examples[i], aim, denied is not None, changes, self.max_queries)
                attack.value = attack.worth(said)
                attacks.append(attack)
        self._run(bench, attacks)
        words = [len(example_words(attack.example, bench.model.splitter)) for attack in attacks]
        columns = {
            "success": np.asarray([attack.success for attack in attacks], dtype=np.float64),
            "changed": np.asarray([attack.words_changed(bench.model.splitter) for attack in attacks], dtype=np.float64),
            "queries": np.asarray([attack.queries for attack in attacks], dtype=np.float64),
            "words": np.asarray(words, dtype=np.float64),
        }
        labelled = sum(gold is not None for gold in bench.gold)
        index = np.asarray([attack.number for attack in attacks], dtype=np.intp)
        return Parts(index, columns, len(bench.examples), {"labelled": labelled})

    def contributions(self, parts: Parts) -> Contributions:
        """The share of successes, and the table."""
        success = parts.columns["success"]
        labelled, attacked = parts.counts["labelled"], len(parts)
        turned = (parts.columns["changed"] / parts.columns["words"].clip(1))[success > 0]
        bins = {
            "successes": float(success.sum()),
            "accuracy": attacked / labelled,
            "accuracy-under-attack": float(attacked - success.sum()) / labelled,
            "words-changed": float(turned.mean()) if len(turned) else 0.0,
            "words": float(parts.columns["words"].mean()),
            "queries": float(parts.columns["queries"].mean()),
        }
        skipped = labelled - attacked
        notes = (f"{skipped} of {labelled} examples are predicted wrongly by themselves and are not attacked",)
        return Contributions.mean(success, bins=bins, notes=notes * (skipped > 0))

    def _run(self, bench: Workbench, attacks: Sequence[_Attack]) -> None:
        """Let all searches ask in turns, so that the questions of a turn are one call of the model."""
        ways = [(attack, attack.greedy() if self.search == "greedy" else attack.ranked()) for attack in attacks]
        waiting = [(attack, way, next(way, None)) for attack, way in ways]
        while asking := [(attack, way, question) for attack, way, question in waiting if question]:
            texts = [attack.changed(some) for attack, _, question in asking for some in question]
            said = iter(bench.model.predict(texts, batch_size=bench.batch_size, truncation=bench.truncation))
            waiting = []
            for attack, way, question in asking:
                answers = [next(said) for _ in question]
                turned = [attack.turned(answer) for answer in answers]
                values = [attack.worth(answer) for answer in answers]
                waiting.append((attack, way, _send(way, (values, turned))))

    def _changes(self, bench: Workbench, i: int) -> list[Rewrite]:
        example = bench.examples[i]
        rng = numpy_generator(bench.seed, self.name, *example.fields)
        found: list[Rewrite] = []
        for number, text in enumerate(example.texts):
            if number in bench.fixed_fields(i):
                continue
            if self.wordnet is None:
                found += checklist_rewrites(text, rng, field=number, kinds=KINDS, candidates=self.candidates)
            else:
                known = open_wordnet(self.wordnet).synonyms
                found += synonym_rewrites(text, known, field=number, candidates=self.candidates)
        read = bench.read[i]
        if read is None:
            return found
        words = example_words(example, bench.model.splitter)
        seen = [Rewrite(w.field, w.start, w.end, w.text) for w, is_read in zip(words, read, strict=True) if is_read]
        return [change for change in found if any(change.overlaps(word) for word in seen)]


Question = Sequence[Sequence[Rewrite]]
Answer = tuple[list[float], list[bool]]
Way = Generator[Question, Answer, None]


@dataclass
class _Attack:
    """The attack on one example; its searches ask about changed texts and are told what the model says.

    ``aim`` is the right class, or with ``denied`` the one class that is wrong.
    """

    number: int
    example: Example
    aim: int
    denied: bool
    changes: list[Rewrite]
    budget: int
    value: float = 1.0
    made: list[Rewrite] = field(default_factory=list)
    success: bool = False
    queries: int = 0

    def worth(self, said: Prediction) -> float:
        """Probability of what is right."""
        return 1.0 - said.probabilities[self.aim] if self.denied else said.probabilities[self.aim]

    def turned(self, said: Prediction) -> bool:
        """Whether a prediction is no longer right."""
        return (said.index == self.aim) == self.denied

    def changed(self, rewrites: Sequence[Rewrite]) -> Example:
        return replace(self.example, texts=apply_rewrites(self.example.texts, rewrites))

    def words_changed(self, splitter: str) -> int:
        words = example_words(self.example, splitter)
        spans = [(change.field, change.start, change.end) for change in self.made]
        return sum(any(f == w.field and s < w.end and w.start < e for f, s, e in spans) for w in words)

    def greedy(self) -> Way:
        """After each change all that is left is tried; the one that lowers the right label most is made."""
        while not self.success:
            left = [c for c in self.changes if not any(c.overlaps(done) for done in self.made)]
            values, turned = yield from self._ask([[*self.made, change] for change in left])
            if not values or (min(values) >= self.value and not any(turned)):
                return
            best = min(range(len(values)), key=lambda k: (not turned[k], values[k]))
            self._make(left[best], values[best], turned[best])

    def ranked(self) -> Way:
        """Every change is tried once by itself; then they are added from the most harmful on, while they help."""
        values, turned = yield from self._ask([[change] for change in self.changes])
        order = sorted(range(len(values)), key=lambda k: (not turned[k], values[k]))
        for k in order:
            change = self.changes[k]
            if turned[k] and not self.made:
                self._make(change, values[k], True)
                return
            if values[k] >= self.value and not self.made:
                return
            if any(change.overlaps(done) for done in self.made):
                continue
            if not self.made:
                self._make(change, values[k], False)
                continue
            found, flipped = yield from self._ask([[*self.made, change]])
            if not found:
                return
            if flipped[0] or found[0] < self.value:
                self._make(change, found[0], flipped[0])
            if self.success:
                return

    def _ask(self, question: Question) -> Generator[Question, Answer, Answer]:
        question = question[: self.budget - self.queries]
        if not question:
            return [], []
        self.queries += len(question)
        return (yield question)

    def _make(self, change: Rewrite, value: float, turned: bool) -> None:
        self.made.append(change)
        self.value, self.success = value, turned


def _send(way: Way, answer: Answer) -> Question | None:
    try:
        return way.send(answer)
    except StopIteration:
        return None
