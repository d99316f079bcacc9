"""A dataset: examples in named splits, read when they are asked for."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from saywhy.errors import DataError, OptionError
from saywhy.types import Example

__all__ = ["Dataset", "Splits", "take"]


class Splits(Mapping[str, Sequence[Example]]):
    """Splits by name, each read on its first look-up and then kept.

    Args:
        names: the splits there are.
        read: gives the examples of a split; called for each stream anew.
    """

    def __init__(self, names: Sequence[str], read: Callable[[str], Iterator[Example]]) -> None:
        self._names = tuple(names)
        self._read = read
        self._kept: dict[str, tuple[Example, ...]] = {}

    def __getitem__(self, split: str) -> Sequence[Example]:
        if split not in self._kept:
            self._kept[split] = tuple(self.stream(split))
        return self._kept[split]

    def __contains__(self, split: object) -> bool:
        return split in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __repr__(self) -> str:
        return f"Splits({', '.join(self._names)})"

    def stream(self, split: str) -> Iterator[Example]:
        """The examples of a split one by one, without keeping them."""
        if split not in self._names:
            raise OptionError(f"no split {split!r}; there are {', '.join(self._names)}")
        return iter(self._kept[split]) if split in self._kept else self._read(split)


@dataclass(frozen=True)
class Dataset:
    """Examples in named splits, with what is known about all of them.

    Attributes:
        name: the registered name, or the file's.
        task: ``text``, ``pair``, ``choices`` or ``span-qa``.
        splits: examples by split; nothing is read before a split is looked up.
        known_labels: class names in order, if known without reading; `labels` gives them in any case.
        summary: one line on what it is.
        missing: what is not there, compared with the official release.
        id_space: datasets with the same one use the same ids for the same examples.

    Example:
        >>> from saywhy.data import load_dataset
        >>> data = load_dataset("planted-reviews", size="demo")
        >>> data.labels, list(data.splits)
        (('negative', 'positive'), ['train', 'dev', 'test'])
    """

    name: str
    task: str
    splits: Mapping[str, Sequence[Example]]
    known_labels: tuple[str, ...] | None = None
    summary: str = ""
    missing: str = ""
    id_space: str = field(default="", repr=False)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Class names in order; empty for choices and span QA. Reads the splits if nothing else tells."""
        if self.known_labels is not None:
            return self.known_labels
        if self.task in ("choices", "span-qa"):
            return ()
        found = {str(e.label) for split in self.splits for e in self.stream(split) if e.label is not None}
        return tuple(
            sorted(found, key=lambda label: (not label.isdecimal(), int(label) if label.isdecimal() else 0, label))
        )

    @property
    def evaluation_split(self) -> str:
        """The split to measure on: ``test``, else ``dev``, else the first."""
        return next((s for s in ("test", "dev") if s in self.splits), next(iter(self.splits)))

    def __getitem__(self, split: str) -> Sequence[Example]:
        if split not in self.splits:
            raise OptionError(f"{self.name} has no split {split!r}; it has {', '.join(self.splits)}")
        return self.splits[split]

    def stream(self, split: str) -> Iterator[Example]:
        """The examples of a split one by one, without keeping them in memory."""
        if split not in self.splits:
            raise OptionError(f"{self.name} has no split {split!r}; it has {', '.join(self.splits)}")
        return self.splits.stream(split) if isinstance(self.splits, Splits) else iter(self.splits[split])

    def describe(self) -> dict[str, object]:
        """Sizes, labels, lengths and how many examples carry which gold, per split; reads everything."""
        parts = {}
        for split in self.splits:
            sizes, labels, gold = [], Counter[str](), Counter[str]()
            for example in self.stream(split):
                sizes.append(sum(len(text.split()) for text in example.texts))
                labels[str(example.label)] += 1
                for kind in ("rationales", "alignments", "answers", "explanations"):
                    gold[kind] += bool(getattr(example, kind))
            parts[split] = {
                "examples": len(sizes),
                "labels": dict(sorted(labels.items())),
                "words": {"min": min(sizes), "mean": sum(sizes) / len(sizes), "max": max(sizes)} if sizes else {},
                "gold": {kind: count for kind, count in gold.items() if count},
            }
        return {
            "name": self.name,
            "task": self.task,
            "summary": self.summary,
            "missing": self.missing,
            "labels": list(self.labels),
            "splits": parts,
        }

    @classmethod
    def from_examples(
        cls, name: str, splits: Mapping[str, Sequence[Example]], *, labels: tuple[str, ...] | None = None
    ) -> Dataset:
        """A dataset of examples that are already there."""
        shapes = {e.shape for part in splits.values() for e in part}
        if len(shapes) != 1:
            raise DataError(f"{name}: all examples must have one shape, found {', '.join(sorted(shapes)) or 'none'}")
        return cls(name, shapes.pop(), dict(splits), known_labels=labels)


def take(examples: Iterator[Example], limit: int, seed: int) -> Iterator[Example]:
    """``limit`` examples drawn evenly by ``seed``, in their order; all if there are no more than that.

    One pass and ``limit`` examples of memory (reservoir sampling), so that a stream stays a stream.
    """
    rng = random.Random(f"{seed}/limit")
    kept: list[tuple[int, Example]] = []
    for i, example in enumerate(examples):
        if i < limit:
            kept.append((i, example))
        else:
            j = rng.randrange(i + 1)
            if j < limit:
                kept[j] = (i, example)
    return (example for _, example in sorted(kept, key=lambda pair: pair[0]))
