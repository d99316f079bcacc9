"""The method that suits what a model offers and what may be spent."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

from saywhy.data.words import example_words
from saywhy.errors import OptionError
from saywhy.explainers.base import Explainer, Request, methods, register
from saywhy.explainers.inquiry import SPACES
from saywhy.models import TextModel
from saywhy.types import Example, Explanation

__all__ = ["Auto", "Choice"]

BUDGET = 512
"""Rows of model input for one text, where none is given."""
OWN = ("rationale", "sentence", "ivra")
"""Methods by which a model explains itself; they need what only such models offer."""
FEW_FEATURES = 12
"""Up to so many features, all 2^n masks may be tried."""
ROWS_A_FEATURE = 4
"""With fewer rows for each feature, estimated Shapley values are mostly noise."""
FEWEST_POINTS, MOST_POINTS = 9, 64


@dataclass(frozen=True)
class Choice:
    """A method, its options, and why it was chosen."""

    method: str
    options: tuple[tuple[str, Any], ...]
    reason: str


@register
@dataclass(frozen=True)
class Auto(Explainer):
    """The method that suits what the model offers and what may be spent; a note says which and why.

    The rules, in this order; a method counts only where it is registered and does the task and the space:

    1. A model that explains itself does so: ``rationale``, ``sentence``, ``ivra``.
    2. A model with gradients and embeddings: ``integrated-gradients``, with at most ``budget`` points; below 9 points
       ``input-x-gradient`` (``leave-one-out`` or the next rules for alignments).
    3. Otherwise, with n words (or word pairs): ``shapley``, exactly, for n up to 12 if 2^n rows are within the budget;
       ``kernel-shap`` if there are at least 4 rows for each; ``leave-one-out`` if its n + 1 rows are within the budget;
       else ``occlusion`` of whole sentences.

    The explanation bears the name of the method that was chosen; its parameters say that auto chose it. Texts of one
    list may get different methods.

    Options:
        budget: rows of model input that may be spent on one text, a gradient counting as a row; 512 if None. Adaptive
            methods stop earlier.
        space: ``words`` (default) or ``alignments``.
    """

    name: ClassVar[str] = "auto"
    family: ClassVar[str] = "choice"
    needs: ClassVar[tuple[str, ...]] = ("outputs",)
    spaces: ClassVar[tuple[str, ...]] = SPACES

    budget: int | None = None
    space: str = "words"

    def __post_init__(self) -> None:
        if self.budget is not None and self.budget < 1:
            raise OptionError(f"budget must be at least 1 row, not {self.budget}")

    def explain(self, request: Request) -> list[Explanation]:  # noqa: D102
        groups: dict[Choice, list[int]] = {}
        for number, example in enumerate(request.examples):
            groups.setdefault(self.choose(request.model, example), []).append(number)
        made: dict[int, Explanation] = {}
        for choice, numbers in groups.items():
            explainer = methods[choice.method].value(**dict(choice.options))
            part = request if len(groups) == 1 else _part(request, numbers)
            for number, why in zip(numbers, explainer.explain(part), strict=True):
                header = why.header
                notes = (*header.notes, f"auto chose {choice.method}: {choice.reason}")
                parameters = {**header.parameters, "chosen-by": self.name, "budget": self._rows}
                made[number] = replace(why, header=replace(header, notes=notes, parameters=parameters))
        return [made[number] for number in range(len(request.examples))]

    def choose(self, model: TextModel, example: Example) -> Choice:
        """What to explain an example of a model by.

        Example:
            >>> from saywhy.models import load
            >>> fan = load(lambda ts: [[0.5, 0.5]] * len(ts), labels=["yes", "no"])
            >>> Auto(budget=4).choose(fan, Example(("A good film",))).method
            'leave-one-out'
        """
        own = next((name for name in OWN if self._able(model, name)), None)
        if own is not None:
            return self._choice(own, "the model explains itself")
        with_gradients = "integrated-gradients" if self._rows >= FEWEST_POINTS else "input-x-gradient"
        if self._able(model, with_gradients):
            reason = "the model has gradients and embeddings"
            if self._rows < FEWEST_POINTS:
                return self._choice(with_gradients, f"{reason}, and {self._rows} rows are too few for a path")
            return self._choice(with_gradients, reason, max_points=min(self._rows, MOST_POINTS))
        return self._by_outputs(model, example)

    def _by_outputs(self, model: TextModel, example: Example) -> Choice:
        size, what = _size(model, example, self.space)
        # A mask of a question with choices is one row for each of them.
        masks = self._rows // max(1, len(example.choices))
        seen = f"only outputs can be used, and {size} {what} allow"
        if size <= FEW_FEATURES and 2**size <= masks and self._able(model, "shapley"):
            return self._choice("shapley", f"{seen} exact Shapley values in {2**size} rows")
        if ROWS_A_FEATURE * size <= masks and self._able(model, "kernel-shap"):
            # The whole and the empty input come on top of the samples.
            return self._choice(
                "kernel-shap", f"{seen} Shapley values estimated with at most {masks} rows", samples=masks - 2
            )
        if size + 1 <= masks or not self._able(model, "occlusion"):
            beyond = "" if size + 1 <= masks else f", more than the {masks} of the budget"
            return self._choice("leave-one-out", f"{seen} one row each{beyond}")
        many = f"only outputs can be used, and {size} {what} are too many for {masks} rows: whole sentences are erased"
        return self._choice("occlusion", many, unit="sentence")

    @property
    def _rows(self) -> int:
        return BUDGET if self.budget is None else self.budget

    def _able(self, model: TextModel, name: str) -> bool:
        if name not in methods:
            return False
        entry = methods[name]
        # A sentence explains as well as scores on words do; alignments are asked for by those who want them.
        spaces = (*entry.spaces, "words") if entry.spaces == ("sentences",) else entry.spaces
        return (
            set(entry.needs) <= model.capabilities
            and (not entry.tasks or model.task.name in entry.tasks)
            and self.space in spaces
            and not (entry.fitted and entry.value().lacks(model))
        )

    def _choice(self, method: str, reason: str, **options: Any) -> Choice:
        # Methods that do words only have no such option.
        space = {} if self.space == "words" else {"space": self.space}
        return Choice(method, tuple({**options, **space}.items()), reason)


def _size(model: TextModel, example: Example, space: str) -> tuple[int, str]:
    words = example_words(example, model.splitter)
    if space == "words":
        return len(words), "words"
    first = sum(word.field == 0 for word in words)
    return first * (len(words) - first), "word pairs"


def _part(request: Request, numbers: list[int]) -> Request:
    return replace(
        request,
        examples=tuple(request.examples[n] for n in numbers),
        target=tuple(request.target[n] for n in numbers),
        against=tuple(request.against[n] for n in numbers),
    )
