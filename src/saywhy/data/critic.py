"""`critic-pairs` and `explanations-alone`: what those learn from who judge explanations."""

from __future__ import annotations

import os
import random
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from saywhy.data.corpus import Corpus, datasets, register
from saywhy.errors import OptionError
from saywhy.types import Example

__all__ = ["CriticPairs", "ExplanationsAlone", "critic_texts"]


def critic_texts(example: Example, label: str, sentence: str) -> tuple[str, str]:
    """What a critic reads: the input, and the label with its explanation.

    Example:
        >>> critic_texts(Example(("It rains.", "It is dry.")), "contradiction", "Rain is wet.")
        ('It rains. | It is dry.', 'contradiction: Rain is wet.')
    """
    return " | ".join(example.fields), f"{label}: {sentence}"


class _Derived(Corpus):
    """A corpus made of another one's explanations.

    Args:
        name: as registered.
        seed: of what is drawn.
        source: name of the dataset.
        dev_share: as in `load_dataset`: what is cut is the source, so that no example is both learned from and
            selected on, in different company.
        train_share: as there; for a source without ``train``, otherwise it does not matter.
        root: folder of the normalised files; see `data_root`.
        path: official files of the source, in their place.
    """

    def __init__(
        self,
        name: str,
        *,
        seed: int = 0,
        source: str = "esnli",
        dev_share: float = 0.0,
        train_share: float = 0.9,
        root: str | os.PathLike[str] | None = None,
        path: str | os.PathLike[str] | None = None,
    ) -> None:
        if source not in datasets or source == name:
            raise OptionError(f"{name}: {source!r} is not a dataset that explanations can be taken from")
        self.name, self.seed, self.source = name, seed, source
        places = {"root": root, "path": path}
        self._given: dict[str, Any] = {name: place for name, place in places.items() if place is not None}
        self._given |= {"dev_share": dev_share, "train_share": train_share}

    def _data(self) -> Any:
        from saywhy.data.loading import load_dataset

        # The same draw whatever the seed, so that critics and models share their train and dev.
        return load_dataset(self.source, **self._given)

    def splits(self) -> tuple[str, ...]:
        """Those of the source that have explanations."""
        return tuple(split for split in self._data().splits if not split.endswith("unlabelled"))

    def explained(self, split: str) -> list[Example]:
        """The source's examples that people explained."""
        return [e for e in self._data()[split] if e.explanations and e.label is not None]


class CriticPairs(_Derived):
    """Inputs with a label and an explanation: their own (yes), or one that belongs to a near example (no).

    Reference: MPII, section 3.4, Table 3: the other explanation is that of an example with the same premise or
    hypothesis; for questions with choices that of a question with the same answer, else of any.
    """

    task = "pair"
    labels: tuple[str, ...] = ("no", "yes")

    def read(self, split: str) -> Iterator[Example]:
        """Every explanation twice, once with its own example and once with a near one."""
        examples = self.explained(split)
        near: dict[str, list[int]] = defaultdict(list)
        keys = [_keys(example) for example in examples]
        for i, found in enumerate(keys):
            for key in found:
                near[key].append(i)
        for i, example in enumerate(examples):
            rng = random.Random(f"{self.seed}/{self.name}/{split}/{i}")
            others = [j for key in keys[i] for j in near[key] if j != i] or [j for j in range(len(examples)) if j != i]
            label = str(example.choices[int(example.label)] if example.choices else example.label)  # type: ignore[arg-type]
            own = rng.choice(example.explanations)
            told = [("yes", own)]
            if others:
                other = rng.choice(examples[rng.choice(others)].explanations)
                if other == own:  # a sentence that was given for several examples
                    unlike = [e for j in others for e in examples[j].explanations if e != own]
                    unlike = unlike or [e for x in examples for e in x.explanations if e != own]
                    other = rng.choice(unlike) if unlike else own
                if other != own:
                    told.append(("no", other))
            for answer, sentence in told:
                yield Example(
                    critic_texts(example, label, sentence), answer, id=f"{example.id}-{answer}", source=example.source
                )


class ExplanationsAlone(_Derived):
    """Explanations without what they explain, labelled by what they explain: for a reader that sees nothing else.

    Where there are choices the reader sees these, too: without them an answer has no number.
    """

    @property
    def task(self) -> str:  # type: ignore[override]
        """``choices`` if the source has choices, else ``text``."""
        return "choices" if self._data().task == "choices" else "text"

    @property
    def labels(self) -> tuple[str, ...]:  # type: ignore[override]
        """Those of the source."""
        return tuple(self._data().labels)

    def read(self, split: str) -> Iterator[Example]:
        """One example for every explanation."""
        for example in self.explained(split):
            for i, said in enumerate(example.explanations):
                if said.strip():
                    name = f"{example.id}-{i}"
                    yield Example((said,), example.label, example.choices, id=name, source=example.source)


def _keys(example: Example) -> tuple[str, ...]:
    if example.choices:
        return (f"answer {example.choices[int(example.label)]}",) if isinstance(example.label, int) else ()
    return tuple(f"{i} {text}" for i, text in enumerate(example.texts))


register(
    CriticPairs,
    "critic-pairs",
    tasks=("pair",),
    family="explanations",
    paper="MPII, section 3.4",
    summary="Inputs with their own explanation or a near example's, for a critic that tells them apart.",
)
register(
    ExplanationsAlone,
    "explanations-alone",
    tasks=("text", "choices"),
    family="explanations",
    summary="Explanations without what they explain, for a reader that tells the label from them.",
)
