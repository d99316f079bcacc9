"""Two versions of a model on the same texts: what they say differently, and which words changed their role."""

from __future__ import annotations

import heapq
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from saywhy import __version__
from saywhy.audits.tallies import Moments, holm
from saywhy.audits.texts import own_texts, word_values
from saywhy.errors import InputError, OptionError
from saywhy.explainers import explain
from saywhy.metrics.source import open_source
from saywhy.models import TextModel, load
from saywhy.types import Example, Explanation, Span, Word

__all__ = ["Difference", "Role", "Turned", "diff"]


@dataclass(frozen=True)
class Role:
    """A word's part in the decisions for a label, in the old model and in the new one.

    ``old`` and ``new`` are the mean of its scores in the texts that have it, each text's scores divided by their
    largest; ``change`` is the mean of the differences with a 95 % interval, ``p_value`` that of a paired t-test,
    corrected for the number of words.
    """

    word: str
    label: str
    texts: int
    old: float
    new: float
    change: float
    low: float
    high: float
    p_value: float


@dataclass(frozen=True)
class Turned:
    """A text whose prediction changed, or that moved most, with both explanations."""

    example: Example
    gold: str | None
    old: Explanation
    new: Explanation

    @property
    def moved(self) -> float:
        """How much probability the old model's label lost."""
        before = self.old.prediction
        return before.probability - self.new.prediction.probabilities[before.index]

    @property
    def turned(self) -> bool:
        """Whether the prediction is another."""
        return self.old.prediction.index != self.new.prediction.index


@dataclass(frozen=True)
class Difference:
    """What changed between two models.

    ``turned`` counts the predictions that changed, ``mended`` those of them that became right and ``broken`` those that
    became wrong. ``agreement`` is the mean rank correlation of the two models' scores of a text's words.
    """

    data: str
    n: int
    turned: int
    mended: int
    broken: int
    judged: int
    old_accuracy: float | None
    new_accuracy: float | None
    moved: float
    agreement: float | None
    roles: tuple[Role, ...]
    examples: tuple[Turned, ...]
    method: str
    old_model: str
    new_model: str
    seed: int
    version: str = __version__

    @property
    def same(self) -> bool:
        """Whether nothing at all was seen to differ."""
        return self.turned == 0 and self.moved == 0 and not self.changed

    @property
    def changed(self) -> tuple[Role, ...]:
        """The words whose role changed by more than chance would have it."""
        return tuple(role for role in self.roles if role.p_value < 0.05)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        made = {k: v for k, v in asdict(replace(self, examples=())).items() if k != "examples"}
        shown = [
            {"turned": t.turned, "gold": t.gold, "old": t.old.to_dict(), "new": t.new.to_dict()} for t in self.examples
        ]
        return {"kind": "difference", "schema": 1, "same": self.same, **made, "examples": shown}

    def to_json(self, indent: int | None = 2) -> str:
        """The same as a string."""
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=indent)

    def __rich__(self) -> Any:
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        if self.same:
            return Text(f"{self.data or 'diff'}: {self.n} texts; nothing changed", style="bold")
        head = f"{self.data or 'diff'}: {self.turned} of {self.n} predictions changed"
        if self.judged:
            head += f" ({self.mended} became right, {self.broken} wrong; accuracy {self.old_accuracy:.3f} -> "
            head += f"{self.new_accuracy:.3f})"
        parts: list[Any] = [Text(head, style="bold")]
        if self.agreement is not None:
            parts.append(Text(f"rank correlation of the words' scores: {self.agreement:.2f} in the mean"))
        if self.changed:
            table = Table(title="words that changed their role", title_justify="left")
            for name in ("word", "for", "texts", "old", "new", "change"):
                table.add_column(name, justify="left" if name in ("word", "for") else "right")
            for role in self.changed[:20]:
                table.add_row(
                    Text(role.word), Text(role.label), str(role.texts), f"{role.old:.2f}", f"{role.new:.2f}",
                    f"{role.change:+.2f} [{role.low:+.2f}, {role.high:+.2f}]",
                )  # fmt: skip
            parts.append(table)
        else:
            parts.append(Text("no word changed its role by more than chance would have it"))
        for shown in self.examples:
            old, new = shown.old.prediction, shown.new.prediction
            parts += [Text(f"{old} -> {new}" + (f", gold {shown.gold}" if shown.gold else "")), shown.old, shown.new]
        return Group(*parts)


def diff(
    old: Any,
    new: Any,
    data: Any,
    *,
    method: str = "auto",
    split: str | None = None,
    limit: int | None = None,
    keep: int = 6,
    fewest: int = 5,
    seed: int = 0,
    batch_size: int = 32,
    truncation: str = "error",
    data_options: Mapping[str, Any] | None = None,
    **options: Any,
) -> Difference:
    """Compare two versions of a model on the same texts, block by block.

    Both explain why the *old* model's label: a word's change of role is a change in what speaks for the same label.

    Args:
        old: anything `saywhy.load` takes.
        new: likewise, with the same labels.
        data: as for `saywhy.evaluate`.
        method: that both are explained by.
        split: of a dataset; by default ``test``, else ``dev``, and all of a file of one's own.
        limit: at most so many texts, drawn by ``seed``.
        keep: texts that are shown: those whose prediction changed most.
        fewest: texts that must have a word before anything is said about it.
        seed: of everything random.
        batch_size: rows of a model call.
        truncation: what happens to texts that are too long.
        data_options: options of the dataset.
        options: of the method.
    """
    before, after = load(old), load(new)
    _check_labels(before, after)
    texts, part = own_texts(data, split, data_options)
    source = open_source(texts, part, limit, seed)
    walk = _Walk(keep)
    how: dict[str, Any] = {"seed": seed, "batch_size": batch_size, "truncation": truncation, "verdict": False}
    for block in source.blocks(before.splitter):
        examples = [example for _, example in block]
        first = explain(before, examples, method, **how, **options)
        targets = [why.prediction.index for why in first]
        second = explain(after, examples, method, target=targets, **how, **options)
        for example, a, b in zip(examples, first, second, strict=True):
            walk.see(example, a, b)
    if walk.n == 0:
        raise InputError("there is no text to compare on")
    return walk.result(source.title, fewest, before.fingerprint, after.fingerprint, seed)


def _check_labels(old: TextModel, new: TextModel) -> None:
    if (old.task.name, old.labels) != (new.task.name, new.labels):
        raise OptionError(
            f"the models do different things: {old.task.name} with labels {', '.join(old.labels) or 'none'}, and "
            f"{new.task.name} with labels {', '.join(new.labels) or 'none'}"
        )


@dataclass
class _Tally:
    old: Moments = field(default_factory=Moments)
    new: Moments = field(default_factory=Moments)
    change: Moments = field(default_factory=Moments)


class _Walk:
    """Sums over the texts seen so far, and the texts that moved most."""

    def __init__(self, keep: int) -> None:
        self.keep = keep
        self.n = self.turned = self.mended = self.broken = self.judged = self.right_old = self.right_new = 0
        self.moved = 0.0
        self.agreement = Moments()
        self.words: dict[tuple[str, str], _Tally] = {}
        self.shown: list[tuple[float, int, Turned]] = []
        self.methods: set[str] = set()

    def see(self, example: Example, old: Explanation, new: Explanation) -> None:
        a, b = old.prediction, new.prediction
        gold = a.labels[example.label] if isinstance(example.label, int) else example.label
        self.n += 1
        self.turned += a.index != b.index
        self.moved = max(self.moved, max(abs(x - y) for x, y in zip(a.probabilities, b.probabilities, strict=True)))
        if gold is not None:
            was, is_now = a.label == gold, b.label == gold
            self.judged += 1
            self.right_old += was
            self.right_new += is_now
            self.mended += is_now and not was
            self.broken += was and not is_now
        self.methods |= {old.method, new.method}
        label = "choice" if example.choices else a.label
        self._compare(label, old, new)
        shown = Turned(example, None if gold is None else str(gold), old, new)
        if self.keep and shown.moved > 0:
            # The count breaks ties: examples have no order.
            item = (shown.moved + shown.turned, -self.n, shown)
            (heapq.heappush if len(self.shown) < self.keep else heapq.heappushpop)(self.shown, item)

    def _compare(self, label: str, old: Explanation, new: Explanation) -> None:
        first, second = _scores(old), _scores(new)
        spans = [span for span in first if span in second]
        x = np.asarray([first[span][1] for span in spans])
        y = np.asarray([second[span][1] for span in spans])
        x, y = (v / max(float(np.abs(v).max(initial=0.0)), 1e-12) for v in (x, y))
        if len(spans) > 1 and x.std() > 0 and y.std() > 0:
            from scipy.stats import spearmanr

            self.agreement.add(float(spearmanr(x, y).statistic))
        own: dict[str, list[int]] = {}
        for place, span in enumerate(spans):
            own.setdefault(first[span][0].text.casefold(), []).append(place)
        for word, places in own.items():
            tally = self.words.setdefault((word, label), _Tally())
            tally.old.add(float(x[places].mean()))
            tally.new.add(float(y[places].mean()))
            tally.change.add(float(y[places].mean() - x[places].mean()))

    def result(self, data: str, fewest: int, old: str, new: str, seed: int) -> Difference:
        enough = [(key, tally) for key, tally in self.words.items() if tally.change.n >= fewest]
        corrected = holm(tally.change.p_value() for _, tally in enough)
        roles = [
            Role(word, label, t.change.n, t.old.mean, t.new.mean, t.change.mean, *t.change.interval(), p)
            for ((word, label), t), p in zip(enough, corrected, strict=True)
        ]
        judged = self.judged
        return Difference(
            data=data,
            n=self.n,
            turned=self.turned,
            mended=self.mended,
            broken=self.broken,
            judged=judged,
            old_accuracy=self.right_old / judged if judged else None,
            new_accuracy=self.right_new / judged if judged else None,
            moved=self.moved,
            agreement=self.agreement.mean if self.agreement.n else None,
            roles=tuple(sorted(roles, key=lambda r: (r.p_value, -abs(r.change), r.word))),
            examples=tuple(shown for _, _, shown in sorted(self.shown, key=lambda item: item[:2], reverse=True)),
            method=", ".join(sorted(self.methods)),
            old_model=old,
            new_model=new,
            seed=seed,
        )


def _scores(why: Explanation) -> dict[Span, tuple[Word, float]]:
    """Words and their scores by where they stand, so that models that cut texts differently can be compared."""
    words, values = word_values(why)
    return {word.span: (word, value) for word, value in zip(words, values.tolist(), strict=True)}
