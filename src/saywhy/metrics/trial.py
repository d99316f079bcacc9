"""What metrics look at: a model, examples, and a method's explanations of them, with everything measured once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from saywhy.errors import InputError, OptionError
from saywhy.metrics.erasures import Erasures, Space
from saywhy.metrics.parts import Origin
from saywhy.types import Example, Explanation, Prediction

__all__ = [
    "SENTENCES",
    "SPACES",
    "Model",
    "SpaceMaker",
    "Trial",
    "Workbench",
    "alignment_space",
    "no_space",
    "word_space",
]


class Model(Protocol):
    """The part of a `TextModel` that metrics use."""

    @property
    def fingerprint(self) -> str:
        """Changes when the model does."""
        ...

    @property
    def splitter(self) -> str:
        """How it cuts texts into words."""
        ...

    def predict(self, inputs: Any, *, batch_size: int = 32, truncation: str = "error") -> list[Prediction]:
        """One prediction for each input."""
        ...

    def label_index(self, label: str | int, example: Example | None = None) -> int:
        """Index of a class or choice."""
        ...


SpaceMaker = Callable[["Workbench"], Space]
Explain = Callable[[Sequence[Example], Sequence[int | None]], list[Explanation]]
"""Explanations of other inputs by the same method, each of the class with the given index."""


def word_space(bench: Workbench) -> Space:
    """The space in which words are erased; give another function to a `Workbench` to erase something else."""
    from saywhy.models.word_space import WordSpace

    model: Any = bench.model
    return WordSpace(
        model, bench.examples, erasure=bench.erasure, batch_size=bench.batch_size, truncation=bench.truncation
    )


def alignment_space(bench: Workbench) -> Space:
    """The space in which pairs of words of two texts no longer see each other."""
    from saywhy.models.alignment_space import AlignmentSpace

    model: Any = bench.model
    return AlignmentSpace(model, bench.examples, batch_size=bench.batch_size, truncation=bench.truncation)


SENTENCES = "sentences"


def no_space(bench: Workbench) -> Space:
    """Of sentences nothing is erased."""
    raise OptionError("explanations in sentences name no words of the input, so none can be erased")


SPACES: Mapping[str, SpaceMaker] = {"words": word_space, "alignments": alignment_space, SENTENCES: no_space}
"""What explanations are over; those in plain language are ``sentences``."""


class Workbench:
    """A model and examples; predictions and erasures are computed on first use and shared by all who ask.

    Args:
        model: a `TextModel`.
        examples: what it is measured on.
        space: what explanations are over: ``words``, ``alignments`` or ``sentences``.
        erasure: how words are removed, or alignments cut.
        batch_size: rows of a model call.
        truncation: what happens to texts that are too long.
        seed: of the bootstrap.
        make_space: builds the space of things that may be erased; by default the one named by ``space``.

    Example:
        >>> bench = Workbench(model, examples)                                       # doctest: +SKIP
        >>> Sufficiency(score="normalised").score(bench.trial("lime", explanations)) # doctest: +SKIP
    """

    def __init__(
        self,
        model: Model,
        examples: Sequence[Example],
        *,
        space: str = "words",
        erasure: str = "delete",
        batch_size: int = 32,
        truncation: str = "error",
        seed: int = 0,
        make_space: SpaceMaker | None = None,
    ) -> None:
        if not examples:
            raise InputError("there is no example to measure on")
        if space not in SPACES:
            raise OptionError(f"unknown space {space!r}; use one of {', '.join(SPACES)}")
        self.model = model
        self.examples = tuple(examples)
        self.space = space
        self.erasure = erasure
        self.batch_size = batch_size
        self.truncation = truncation
        self.seed = seed
        self._make_space = make_space or SPACES[space]

    def trial(
        self,
        method: str = "",
        explanations: Sequence[Explanation] = (),
        *,
        rivals: Mapping[str, Sequence[Explanation]] | None = None,
        explain: Explain | None = None,
        others: Mapping[str, Sequence[Explanation]] | None = None,
    ) -> Trial:
        """One method's explanations of the examples, ready to be scored; none for metrics of the model.

        Args:
            method: its name.
            explanations: one for each example.
            rivals: other methods' explanations of the same examples, for metrics that compare methods.
            explain: explains other inputs by the same method, for metrics that change the input.
            others: other models' explanations of the same examples by the same method, for metrics that compare models.
        """
        rivalling, of_models = (
            {name: tuple(given) for name, given in (table or {}).items()} for table in (rivals, others)
        )
        return Trial(self, method, tuple(explanations), rivalling, explain, of_models)

    @cached_property
    def fingerprint(self) -> str:
        """The model's, asked for once: a black box is known only by its answers, which cost calls."""
        return self.model.fingerprint

    @cached_property
    def erasures(self) -> Erasures:
        """What the model says about partly erased examples."""
        # The scores of span QA are of the predicted span against all others together, so its class is always the first.
        return Erasures(
            self._make_space(self),
            target=0 if self.task == "span-qa" else None,
            to_probabilities=getattr(getattr(self.model, "task", None), "probabilities", None),
            fixed=[self.fixed_fields(i) for i in range(len(self.examples))],
        )

    @property
    def task(self) -> str:
        """Name of the model's task, where it says so."""
        return str(getattr(getattr(self.model, "task", None), "name", ""))

    @cached_property
    def read(self) -> list[NDArray[np.bool_] | None]:
        """Per example, which of its words the model reads where the text is too long for it; None where it reads all.

        Nothing can be said of the others, so they are neither ranked nor selected.
        """
        encoder = getattr(self.model, "encoder", None)
        if self.truncation == "error" or encoder is None or self.space == SENTENCES:
            return [None] * len(self.examples)
        encoded = [encoder.encode(example, self.truncation) for example in self.examples]
        return [item.read() if item.notes else None for item in encoded]

    def fixed_fields(self, i: int) -> tuple[int, ...]:
        """Fields of an example whose words are never erased nor selected, such as the query of a document."""
        return tuple(self.examples[i].meta.get("fixed", ())) if self.space == "words" else ()

    @cached_property
    def predictions(self) -> list[Prediction]:
        """What the model says about the examples."""
        return self.model.predict(list(self.examples), batch_size=self.batch_size, truncation=self.truncation)

    @cached_property
    def gold(self) -> list[int | None]:
        """Class indices of the examples' labels, None where there is none.

        A label such as ``non-entailment`` that the model does not have, though it has ``entailment``, stands for all
        its others: its index is the first that no class has.
        """
        return [None if e.label is None else self._gold(i, e.label) for i, e in enumerate(self.examples)]

    def gold_and_predicted(
        self, predictions: Sequence[Prediction] | None = None
    ) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Class indices of the examples that have a label; other ``predictions`` may take the place of the model's."""
        pairs = []
        for i, (gold, said) in enumerate(zip(self.gold, predictions or self.predictions, strict=True)):
            if gold is not None:
                pairs.append((gold, gold if self.denied(i) is not None and self.is_right(i, said) else said.index))
        both = np.asarray(pairs, dtype=np.intp).reshape(-1, 2)
        return both[:, 0], both[:, 1]

    def denied(self, i: int) -> str | None:
        """The label of the model's that an example's label denies, ``entailment`` of ``non-entailment``, if it does."""
        label, names = self.examples[i].label, self._names()
        return _denied(label) if label not in names and _denied(label) in names else None

    def is_right(self, i: int, said: Prediction) -> bool | None:
        """Whether a prediction, the model's or another's, is the label of an example; None where it has no label.

        Where the label is "not this one", all that is not this one is right.
        """
        gold, denied, example = self.gold[i], self.denied(i), self.examples[i]
        if gold is None:
            return None
        if denied is not None:
            return said.label != denied
        if len(said.labels) == len(example.choices or self._names()):
            return said.index == gold
        return self._label_index(example, said.label) == gold  # people know their own label only

    def _names(self) -> tuple[str, ...]:
        return tuple(getattr(self.model, "labels", ()))

    def _gold(self, i: int, label: str | int) -> int:
        return self._label_index(self.examples[i], label) if self.denied(i) is None else len(self._names())

    def _label_index(self, example: Example, label: str | int) -> int:
        try:
            return self.model.label_index(label, example)
        except InputError as error:
            raise InputError(f"{example.where()}: {error}; load the model with labels=[...] as in the data") from None


def _denied(label: str | int | None) -> str | None:
    """What a label denies: ``entailment`` of ``non-entailment``."""
    return label.removeprefix("non-") if isinstance(label, str) and label.startswith("non-") else None


@dataclass(frozen=True)
class Trial:
    """One method on a workbench; explanation i is of example i."""

    bench: Workbench
    method: str = ""
    explanations: tuple[Explanation, ...] = ()
    rivals: Mapping[str, tuple[Explanation, ...]] = field(default_factory=dict)
    explain: Explain | None = None
    others: Mapping[str, tuple[Explanation, ...]] = field(default_factory=dict)

    @property
    def origin(self) -> Origin:
        """What is recorded about where a result comes from."""
        return Origin(self.method, self.bench.erasure, self.bench.seed, self.bench.fingerprint)

    def rival(self, name: str) -> Trial:
        """The same examples, explained by another method."""
        return Trial(self.bench, name, self.rivals[name])

    def other(self, name: str) -> Trial:
        """The same examples, explained for another model."""
        return Trial(self.bench, name, self.others[name])

    def __post_init__(self) -> None:
        given, wanted = len(self.explanations), len(self.bench.examples)
        if given not in (0, wanted):
            raise InputError(f"{self.method or 'the method'}: {given} explanations for {wanted} examples")
        for i, (example, explanation) in enumerate(zip(self.bench.examples, self.explanations, strict=False)):
            header = explanation.header
            if (header.texts, header.choices) != (example.texts, example.choices):
                raise InputError(
                    f"{self.method or 'the method'}: explanation {i} is of another text than {example.where()}; "
                    "give explanations in the order of the examples"
                )
