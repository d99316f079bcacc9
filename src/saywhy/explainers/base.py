"""What all explainers share: a request, what is asked about, and how an answer is written down."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, TypeVar

import numpy as np
import torch
from torch import Tensor

import saywhy
from saywhy.errors import InputError, OptionError
from saywhy.models import Encoded, TextModel
from saywhy.registry import Registry
from saywhy.types import Alignments, Example, Explanation, Header, WordScores

__all__ = ["AGGREGATIONS", "OUTPUTS", "Explainer", "Request", "aggregate", "check_output", "methods", "register"]

methods: Registry[type[Explainer]] = Registry("method", "saywhy.explainers")

OUTPUTS = ("logit", "probability")
AGGREGATIONS = ("sum", "l2", "mean")

Label = str | int | None
T = TypeVar("T", bound="Explainer")


@dataclass(frozen=True)
class Request:
    """What an explainer is asked: which model, which inputs, why which label.

    ``target`` and ``against`` hold one entry per example; a target of None is the predicted label.
    """

    model: TextModel
    examples: tuple[Example, ...]
    target: tuple[Label, ...]
    against: tuple[Label, ...]
    seed: int = 0
    batch_size: int = 32
    truncation: str = "error"
    _encoded: list[Encoded] = field(default_factory=list, init=False, repr=False, compare=False)

    def part(self, which: slice) -> Request:
        """The same request for some of its examples."""
        return replace(self, examples=self.examples[which], target=self.target[which], against=self.against[which])

    def reseeded(self, seed: int) -> Request:
        """The same request with another seed."""
        other = replace(self, seed=seed)
        other._encoded.extend(self._encoded)
        return other

    def prepare(self) -> list[Encoded]:
        """The examples, encoded; once, so that a text that is cut is warned of once."""
        if not self._encoded:
            self._encoded.extend(self.model.prepare(self.examples, self.truncation, self.batch_size))
        return list(self._encoded)

    def targets(self, scores: Tensor, owner: np.ndarray) -> tuple[Tensor, Tensor]:
        """Indices of the label asked about and of the one to contrast it with (-1: none), for scores n x K."""
        predicted = self.model.task.predicted(scores.detach())
        chosen, other = predicted.clone(), self._contrasts(owner, predicted)
        for i, number in enumerate(owner):
            target = self.target[number]
            if target is not None:
                chosen[i] = self.model.label_index(target, self.examples[number])
            if other[i] == chosen[i]:
                raise InputError(f"target and against are both {self.against[number]!r}; a contrast needs two labels")
        return chosen, other

    def _contrasts(self, owner: np.ndarray, like: Tensor) -> Tensor:
        found = [
            -1 if self.against[number] is None else self.model.label_index(self.against[number], self.examples[number])
            for number in owner
        ]
        return torch.tensor(found, dtype=like.dtype, device=like.device)

    def value(self, scores: Tensor, owner: np.ndarray, output: str, targets: Tensor | None = None) -> Tensor:
        """The number to explain, (n,): the target's logit or probability, less that of the contrast if there is one.

        ``targets`` (n,) stand in for the predicted labels where an explainer must hold on to those of the whole input.
        """
        if targets is None:
            chosen, other = self.targets(scores, owner)
        else:
            # What is left of an input may be predicted as the contrast; that is no mistake of the user's.
            chosen = targets.to(scores.device)
            other = self._contrasts(owner, chosen)
        table = self.model.task.probabilities(scores) if output == "probability" else scores
        value = table.gather(1, chosen.unsqueeze(1)).squeeze(1)
        contrast = table.gather(1, other.clamp_min(0).unsqueeze(1)).squeeze(1)
        return torch.where(other >= 0, value - contrast, value)


@dataclass(frozen=True)
class Explainer(ABC):
    """Base of all explainers: a frozen dataclass whose fields are its options, and one verb, `explain`.

    Subclasses declare their ``name``, ``family``, what they need of a model, and the tasks and spaces they work on.
    ``fitted`` ones must be trained before they explain.
    """

    name: ClassVar[str]
    family: ClassVar[str]
    needs: ClassVar[tuple[str, ...]]
    tasks: ClassVar[tuple[str, ...]] = ("text", "pair", "choices", "span-qa")
    spaces: ClassVar[tuple[str, ...]] = ("words",)
    fitted: ClassVar[bool] = False
    paper: ClassVar[str] = ""

    @abstractmethod
    def explain(self, request: Request) -> list[Explanation]:
        """Explain every example of a request, in order."""

    @classmethod
    def missing(cls, model: TextModel) -> list[str]:
        """What it needs and a model does not offer."""
        return [need for need in cls.needs if need not in model.capabilities]

    def lacks(self, model: TextModel) -> str:
        """What keeps a fitted method from explaining a model that was not trained for it; nothing if it can."""
        return ""

    def options(self) -> dict[str, Any]:
        """The options it ran with."""
        # A name that Python keeps for itself, such as lambda, has an underscore behind it.
        return {f.name.rstrip("_").replace("_", "-"): getattr(self, f.name) for f in fields(self)}

    def header(
        self,
        request: Request,
        number: int,
        encoded: Encoded,
        scores: np.ndarray,
        fingerprint: str,
        notes: tuple[str, ...] = (),
        **facts: Any,
    ) -> Header:
        """The header of the explanation of example ``number``, whose scores on the whole input are given."""
        names = request.model.task.names(encoded)
        table = torch.as_tensor(scores).reshape(1, -1)
        target, against = request.targets(table, np.asarray([number]))
        options = {**self.options(), **facts}
        return Header(
            method=self.name,
            target=names[int(target)],
            against=names[int(against)] if int(against) >= 0 else None,
            labels=names,
            probabilities=tuple(request.model.task.probabilities(table.double())[0, : len(names)].tolist()),
            texts=encoded.example.texts,
            choices=encoded.example.choices,
            output=str(options.pop("output", "")),
            space=str(options.pop("space", "words")),
            erasure=options.pop("erasure", None),
            parameters=options,
            seed=request.seed,
            model=fingerprint,
            version=saywhy.__version__,
            notes=encoded.notes + notes,
        )

    def word_scores(
        self,
        request: Request,
        encoded: Sequence[Encoded],
        scores: Sequence[np.ndarray],
        words: Sequence[np.ndarray],
        errors: Sequence[float | None] | None = None,
        costs: Sequence[Mapping[str, int]] | None = None,
        notes: Sequence[tuple[str, ...]] | None = None,
        **facts: Any,
    ) -> list[Explanation]:
        """Explanations by scores on words, from the model's scores (K,) and the words' (words,) of each example.

        In the space of alignments the scores are those of word pairs (|p| |h|,), row by row.
        """
        fingerprint = request.model.fingerprint
        made: list[Explanation] = []
        for i, (item, given, values) in enumerate(zip(encoded, scores, words, strict=True)):
            if not np.isfinite(values).all():
                raise InputError(f"{item.example.where()}: the scores are not finite; is the model trained?")
            header = self.header(request, i, item, given, fingerprint, () if notes is None else notes[i], **dict(facts))
            error, cost = None if errors is None else errors[i], {} if costs is None else costs[i]
            if header.space == "words":
                made.append(WordScores(header, item.words, tuple(float(v) for v in values), error, cost))
                continue
            premise = tuple(word for word in item.words if word.field == 0)
            hypothesis = tuple(word for word in item.words if word.field == 1)
            table = np.asarray(values, dtype=np.float64).reshape(len(premise), len(hypothesis))
            rows = tuple(tuple(row) for row in table.tolist())
            made.append(Alignments(header, premise, hypothesis, rows, error=error, cost=cost))
        return made


def register(cls: type[T]) -> type[T]:
    """Class decorator: list an explainer under its ``name``."""
    facts = {fact: getattr(cls, fact) for fact in ("family", "needs", "tasks", "spaces", "fitted", "paper")}
    methods.register(cls.name, **facts)(cls)
    return cls


def aggregate(values: np.ndarray, how: str) -> np.ndarray:
    """Pieces' embedding dimensions to one number: (..., d) to (...).

    ``sum`` keeps signs and completeness, ``l2`` is the norm, ``mean`` the absolute value of the mean, for use where a
    distribution is needed.
    """
    if how == "sum":
        return np.asarray(values.sum(-1))
    if how == "l2":
        return np.asarray(np.sqrt((values**2).sum(-1)))
    if how == "mean":
        return np.asarray(np.abs(values.mean(-1)))
    raise OptionError(f"unknown aggregation {how!r}; use one of {', '.join(AGGREGATIONS)}")


def check_output(output: str) -> None:
    """Raise an error for an unknown kind of output."""
    if output not in OUTPUTS:
        raise OptionError(f"unknown output {output!r}; use one of {', '.join(OUTPUTS)}")
