"""`saywhy.explain`: any method on any input."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from keyword import iskeyword
from typing import Any, overload

import numpy as np

from saywhy.data.words import example_words
from saywhy.errors import CapabilityError, InputError, OptionError
from saywhy.explainers.auto import Auto
from saywhy.explainers.base import Explainer, Request, methods
from saywhy.explainers.inquiry import SPACES
from saywhy.explainers.verdict import VerdictOptions, judge, verdict_options
from saywhy.models import TextModel, load
from saywhy.models.alignment_space import check_alignments
from saywhy.registry import check_options
from saywhy.types import Example, Explanation, TextInput, as_examples

__all__ = ["check_capabilities", "check_space", "explain", "make_explainer"]

# Texts are explained in blocks, so that memory does not grow with their number.
_BLOCK_TEXTS = 256
_BLOCK_WORDS = 8192


@overload
def explain(
    model: Any, inputs: TextInput, method: str | Explainer = ..., **options: Any
) -> Explanation: ...  # one in, one out


@overload
def explain(
    model: Any, inputs: Sequence[TextInput], method: str | Explainer = ..., **options: Any
) -> list[Explanation]: ...


def explain(
    model: Any,
    inputs: TextInput | Sequence[TextInput],
    method: str | Explainer = Auto.name,
    *,
    target: str | int | Sequence[str | int | None] | None = None,
    against: str | int | Sequence[str | int | None] | None = None,
    seed: int = 0,
    batch_size: int = 32,
    truncation: str = "error",
    verdict: bool | Mapping[str, Any] | VerdictOptions | None = None,
    **options: Any,
) -> Explanation | list[Explanation]:
    """Explain one prediction, or a list of them: one in, one out; list in, list out.

    Args:
        model: a `TextModel` or anything `saywhy.load` takes.
        inputs: a text, a pair as a tuple, a dict, an `Example`, or a list of these.
        method: name of a method (`saywhy list methods`), or an explainer; ``auto`` chooses one and says why.
        target: label to explain, by name or index, or one per input; the predicted one if None.
        against: explain why the target *rather than* this label.
        seed: of everything random.
        batch_size: the most rows the model sees at a time; bounds memory.
        truncation: ``error``, ``head`` or ``window`` for texts that are longer than the model reads.
        verdict: whether each explanation is checked against random words (`why.verdict`), which costs some more rows;
            by default a single input's is, those of a list are not. Or a dict of `VerdictOptions`.
        options: of the method, such as ``erasure``, ``aggregation`` or ``tolerance``.

    Example:
        >>> from saywhy.models import load
        >>> fan = load(lambda ts: [[float("good" in t), float("good" not in t)] for t in ts], labels=["yes", "no"])
        >>> explain(fan, "A good film", method="leave-one-out").top(1)[0][0].text
        'good'
    """
    model = load(model)
    examples, single = as_examples(inputs)
    check = verdict_options(verdict, single)
    explainer = make_explainer(method, options)
    check_capabilities(model, explainer)
    targets, contrasts = _per_example(target, examples, "target"), _per_example(against, examples, "against")
    if batch_size < 1:
        raise OptionError(f"batch_size must be at least 1, not {batch_size}")
    for i, example in enumerate(examples):
        if not example_words(example, model.splitter):
            where = "the text" if single and not example.source else f"input {i}"
            raise InputError(f"{where} has no words to explain; give a text with at least one word")
        for label in (targets[i], contrasts[i]):
            if label is not None:
                model.label_index(label, example)
    made: list[Explanation] = []
    for block in _blocks(examples, model.splitter):
        request = Request(
            model,
            tuple(examples[block]),
            tuple(targets[block]),
            tuple(contrasts[block]),
            seed,
            batch_size,
            truncation,
        )
        explained = explainer.explain(request)
        made.extend(explained if check is None else judge(request, explainer, explained, check))
    return made[0] if single else made


def make_explainer(method: str | Explainer, options: dict[str, Any] | None = None) -> Explainer:
    """An explainer of that name with these options; keys may have hyphens, or be words Python keeps for itself."""
    options = {key.replace("-", "_") + "_" * iskeyword(key): value for key, value in (options or {}).items()}
    if isinstance(method, Explainer):
        if options:
            raise OptionError("options go with the name of a method; this explainer already has its own")
        return method
    cls = methods[method].value
    if "space" in options and "space" not in {f.name for f in fields(cls)}:
        # There is one space only: to name it is no mistake, so that several methods can be asked alike.
        check_space(method, options.pop("space"))
    check_options(f"method {method!r}", cls, options)
    return cls(**options)


def check_space(method: str, space: str) -> None:
    """Raise an error if a method does not explain in a space."""
    if space not in methods[method].spaces:
        able = [entry.name for entry in methods if space in entry.spaces]
        raise OptionError(f"method {method!r} does not explain {space}; these do: {', '.join(able) or 'none'}")


def check_capabilities(model: TextModel, explainer: Explainer) -> None:
    """Raise an error before any work if a method needs more than the model offers."""
    entry = methods[explainer.name]
    missing = entry.value.missing(model)
    if missing or (entry.tasks and model.task.name not in entry.tasks):
        able = [
            e.name
            for e in methods
            if not e.value.missing(model) and (not e.tasks or model.task.name in e.tasks) and not e.fitted
        ]
        reason = f"needs {' and '.join(missing)} of the model" if missing else f"does not do task {model.task.name!r}"
        if "attention" in missing and model.no_attention:
            reason += f" ({model.no_attention})"
        raise CapabilityError(f"method {entry.name!r} {reason}; these would do: {', '.join(able)}")
    lacking = explainer.lacks(model)
    if lacking:
        raise CapabilityError(lacking)
    space = getattr(explainer, "space", "words")
    if space not in SPACES:
        raise OptionError(f"unknown space {space!r}; use one of {', '.join(SPACES)}")
    if space == "alignments":
        check_alignments(model, getattr(explainer, "erasure", None))


def _per_example(label: Any, examples: list[Example], name: str) -> list[str | int | None]:
    if isinstance(label, np.integer):
        label = int(label)
    if label is None or isinstance(label, str | int):
        return [label] * len(examples)
    labels = list(label)
    if len(labels) != len(examples):
        raise OptionError(f"{len(labels)} values of {name} for {len(examples)} inputs; give one, or one per input")
    return labels


def _blocks(examples: list[Example], splitter: str) -> Iterator[slice]:
    start = words = 0
    for i, example in enumerate(examples):
        size = len(example_words(example, splitter))
        if i > start and (i - start >= _BLOCK_TEXTS or words + size > _BLOCK_WORDS):
            yield slice(start, i)
            start, words = i, 0
        words += size
    if start < len(examples):
        yield slice(start, len(examples))
