"""Tasks: how examples become rows of a network and how its outputs become scores, one row of K per example.

Softmax over an example's scores gives its probabilities, for every task. Reading out happens in two steps, so that
equal rows are computed once and gradients can be taken row by row: `Task.raw` runs the network on a batch of rows,
`Task.combine` makes the scores of examples from those of their rows (windows are averaged, choices put side by side).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from saywhy.errors import InputError
from saywhy.models.encoding import Batch, Encoded, Row, collate
from saywhy.types import Example

__all__ = [
    "TASKS",
    "Choices",
    "Classification",
    "JointChoices",
    "PairClassification",
    "SpanQA",
    "Task",
    "make_task",
    "reads_last_token",
    "sequence_logits",
]

_NOWHERE = -100  # instead of the place of an answer that was cut off


class Task(ABC):
    """Adapter between examples and a network.

    Args:
        labels: names of the classes, in the order of the network's outputs; empty for choices and span QA.
        pad_id: id that fills up short rows.
    """

    name: ClassVar[str]
    auto_class: ClassVar[str]
    erases_positions: ClassVar[bool] = True
    windows: ClassVar[bool] = True
    anchors: ClassVar[bool] = False

    def __init__(self, labels: Sequence[str], pad_id: int) -> None:
        self.labels = tuple(labels)
        self.pad_id = pad_id

    def collate(self, encoded: Sequence[Encoded]) -> Batch:
        """All rows of some examples in one padded batch; the owner of a row is its example's place in the list."""
        rows = [row for item in encoded for row in item.rows]
        return collate(rows, [i for i, item in enumerate(encoded) for _ in item.rows], self.pad_id)

    @abstractmethod
    def raw(self, network: nn.Module, batch: Batch) -> Tensor:
        """Scores of rows, rows x C."""

    @abstractmethod
    def combine(self, raw: Tensor, owner: Tensor, size: int) -> Tensor:
        """Scores of examples, size x K, from those of their rows."""

    def scores(self, network: nn.Module, batch: Batch) -> Tensor:
        """Scores of the examples in a batch, size x K."""
        return self.combine(self.raw(network, batch), batch.owner, batch.size)

    @abstractmethod
    def check(self, example: Example) -> None:
        """Raise an InputError if the example is not of this task's shape."""

    def names(self, encoded: Encoded) -> tuple[str, ...]:
        """What the K scores of an example are called."""
        return self.labels

    def loss(self, network: nn.Module, batch: Batch, examples: Sequence[Example]) -> Tensor:
        """Cross-entropy of the gold labels, mean over the examples of a batch."""
        gold = torch.tensor([self.gold(example) for example in examples], device=batch.owner.device)
        return F.cross_entropy(self.scores(network, batch), gold)

    def gold(self, example: Example) -> int:
        """Index of an example's gold label."""
        if example.label is None:
            raise InputError(f"{example.where()} has no label")
        if example.label not in self.labels:
            raise InputError(f"{example.where()}: label {example.label!r} is not one of {', '.join(self.labels)}")
        return self.labels.index(str(example.label))

    def teaches(self, encoded: Encoded) -> bool:
        """Whether an example counts in `loss`: not if its answer lies beyond where its text was cut (span QA only)."""
        return True

    def anchored(self, network: nn.Module, encoded: Sequence[Encoded]) -> list[Encoded]:
        """The examples with what they are asked about fixed by the network's output on the whole (span QA only)."""
        return list(encoded)

    def predicted(self, scores: Tensor) -> Tensor:
        """Index of the predicted label, (size,), from scores size x K."""
        return scores.argmax(dim=-1)

    def probabilities(self, scores: Tensor) -> Tensor:
        """From scores to probabilities, size x K."""
        return scores.softmax(dim=-1)


class Classification(Task):
    """One text or a pair of texts; K classes. Windows of a long text vote with the mean of their logits."""

    name = "text"
    auto_class = "AutoModelForSequenceClassification"

    def raw(self, network: nn.Module, batch: Batch) -> Tensor:  # noqa: D102
        return sequence_logits(network, batch.inputs, batch.lengths)

    def combine(self, raw: Tensor, owner: Tensor, size: int) -> Tensor:  # noqa: D102
        if len(owner) == size:
            # One row an example. A batch may hold its rows in another order than its examples.
            return raw if bool((owner == torch.arange(size, device=owner.device)).all()) else raw[owner.argsort()]
        total = torch.zeros(size, raw.shape[1], dtype=raw.dtype, device=raw.device).index_add(0, owner, raw)
        return total / torch.bincount(owner, minlength=size).clamp_min(1).unsqueeze(1)

    def check(self, example: Example) -> None:  # noqa: D102
        if example.choices:
            raise InputError(f"{example.where()}: this model reads a text or a pair of texts, not choices")


class PairClassification(Classification):
    """A premise and a hypothesis, or any other two texts; K classes."""

    name = "pair"

    def check(self, example: Example) -> None:  # noqa: D102
        super().check(example)
        if len(example.texts) != 2:
            raise InputError(f"{example.where()}: this model reads a pair of texts; give two, as (first, second)")


class Choices(Task):
    """A question and several choices: one row and one score per choice, K is the number of choices."""

    name = "choices"
    auto_class = "AutoModelForMultipleChoice"
    windows = False

    def raw(self, network: nn.Module, batch: Batch) -> Tensor:  # noqa: D102
        # A multiple-choice network takes rows x choices x L; one choice a row lets questions differ in their number.
        inputs = {name: value.unsqueeze(1) for name, value in batch.inputs.items()}
        return network(**inputs).logits.reshape(-1, 1)

    def combine(self, raw: Tensor, owner: Tensor, size: int) -> Tensor:  # noqa: D102
        counts = torch.bincount(owner, minlength=size)
        order = torch.argsort(owner, stable=True)
        start = torch.cumsum(counts, 0) - counts
        place = torch.arange(len(owner), device=owner.device) - start[owner[order]]
        out = torch.full((size, int(counts.max())), -torch.inf, dtype=raw.dtype, device=raw.device)
        return out.index_put((owner[order], place), raw[order, 0])

    def check(self, example: Example) -> None:  # noqa: D102
        if len(example.choices) < 2:
            raise InputError(f"{example.where()}: this model answers questions with choices; give at least two choices")

    def names(self, encoded: Encoded) -> tuple[str, ...]:  # noqa: D102
        return encoded.example.choices

    def gold(self, example: Example) -> int:  # noqa: D102
        if isinstance(example.label, str) and example.label in example.choices:
            return example.choices.index(example.label)
        if not isinstance(example.label, int) or not 0 <= example.label < len(example.choices):
            raise InputError(f"{example.where()}: label {example.label!r} is not the index of one of the choices")
        return example.label


class JointChoices(Choices):
    """A question and all its choices in one row: the network itself has a score for each of them."""

    def raw(self, network: nn.Module, batch: Batch) -> Tensor:  # noqa: D102
        return network(**batch.inputs).logits

    def combine(self, raw: Tensor, owner: Tensor, size: int) -> Tensor:  # noqa: D102
        return raw[owner.argsort()]


class SpanQA(Task):
    """A question and a context; the score is that of the span predicted on the whole text.

    K is 2: the logarithm of the probability of the span, start probability times end probability, and of anything else.
    The span is fixed by `anchored`, and only erasures that keep positions make sense.
    """

    name = "span-qa"
    auto_class = "AutoModelForQuestionAnswering"
    erases_positions = False
    windows = False
    anchors = True
    longest_answer: ClassVar[int] = 30

    def raw(self, network: nn.Module, batch: Batch) -> Tensor:  # noqa: D102
        start, end = self._log_probabilities(network, batch)
        spans = [row.span if row.span is not None else self._best(start[i], end[i]) for i, row in enumerate(batch.rows)]
        index = torch.arange(len(spans), device=start.device)
        first, last = torch.tensor(spans, device=start.device).unbind(1)
        inside = (start[index, first] + end[index, last]).clamp_max(-1e-7)
        return torch.stack([inside, torch.log(-torch.expm1(inside))], dim=1)

    def combine(self, raw: Tensor, owner: Tensor, size: int) -> Tensor:  # noqa: D102
        return raw[owner.argsort()]

    def check(self, example: Example) -> None:  # noqa: D102
        if example.choices or len(example.texts) != 2:
            raise InputError(f"{example.where()}: this model reads a question and a context; give both")

    def names(self, encoded: Encoded) -> tuple[str, ...]:  # noqa: D102
        row = encoded.rows[0]
        if row.span is None:
            return ("answer",)
        start, end = row.offsets[row.span[0]][0], row.offsets[row.span[1]][1]
        return (encoded.example.texts[1][start:end],)

    def predicted(self, scores: Tensor) -> Tensor:  # noqa: D102
        # The answer is the likeliest span, however unlikely it is.
        return scores.new_zeros(len(scores), dtype=torch.long)

    def anchored(self, network: nn.Module, encoded: Sequence[Encoded]) -> list[Encoded]:
        """The examples with the span that the network predicts for each."""
        batch = self.collate(encoded).to(next(network.parameters()).device)
        start, end = self._log_probabilities(network, batch)
        return [
            replace(item, rows=(replace(item.rows[0], span=self._best(start[i], end[i])),))
            for i, item in enumerate(encoded)
        ]

    def loss(self, network: nn.Module, batch: Batch, examples: Sequence[Example]) -> Tensor:
        """Cross-entropy of the gold start and end, mean of both; rows whose answer was cut off do not count."""
        start, end = self._log_probabilities(network, batch)
        found = [_pieces_of_answer(row, example) for row, example in zip(batch.rows, examples, strict=True)]
        if not any(found):
            # Nothing to learn here. The zero still hangs on the network, so that a step can be taken with it.
            return 0.0 * (start.exp().sum() + end.exp().sum())
        gold = torch.tensor([pieces or (_NOWHERE, _NOWHERE) for pieces in found], device=start.device)
        return (
            F.nll_loss(start, gold[:, 0], ignore_index=_NOWHERE) + F.nll_loss(end, gold[:, 1], ignore_index=_NOWHERE)
        ) / 2

    def teaches(self, encoded: Encoded) -> bool:  # noqa: D102
        return _pieces_of_answer(encoded.rows[0], encoded.example) is not None

    def gold(self, example: Example) -> int:  # noqa: D102
        return 0

    def _log_probabilities(self, network: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
        out = network(**batch.inputs)
        allowed = torch.zeros_like(batch.inputs["input_ids"], dtype=torch.bool)
        for i, row in enumerate(batch.rows):
            inside = torch.tensor([field == 1 for field in row.fields], device=allowed.device)
            allowed[i, : len(row)] = inside if bool(inside.any()) else True
        lowest = torch.finfo(out.start_logits.dtype).min
        return (
            out.start_logits.masked_fill(~allowed, lowest).log_softmax(-1),
            out.end_logits.masked_fill(~allowed, lowest).log_softmax(-1),
        )

    def _best(self, start: Tensor, end: Tensor) -> tuple[int, int]:
        length = start.shape[0]
        table = start.detach()[:, None] + end.detach()[None, :]
        offset = torch.arange(length, device=start.device)
        width = offset[None, :] - offset[:, None]
        table = table.masked_fill((width < 0) | (width >= self.longest_answer), -torch.inf)
        best = int(table.argmax())
        return best // length, best % length


def _pieces_of_answer(row: Row, example: Example) -> tuple[int, int] | None:
    """First and last piece of the gold answer, or None where a cut text ends before the answer does."""
    if not example.answers:
        raise InputError(f"{example.where()} has no answer")
    answer = example.answers[0]
    inside = [
        i
        for i, (field, (start, end)) in enumerate(zip(row.fields, row.offsets, strict=True))
        if field == answer.field and start < answer.end and answer.start < end
    ]
    if not inside:
        return None
    # Pieces leave out the space around words, of which an answer may have some.
    text = example.fields[answer.field][answer.start : answer.end]
    first, last = answer.start + len(text) - len(text.lstrip()), answer.start + len(text.rstrip())
    whole = row.offsets[inside[0]][0] <= first and last <= row.offsets[inside[-1]][1]
    return (inside[0], inside[-1]) if whole else None


def reads_last_token(network: nn.Module) -> bool:
    """Whether a classifier reads its decision off the last real token, as decoder-only ones do."""
    config = getattr(network, "config", None)
    return (
        isinstance(getattr(network, "score", None), nn.Linear)
        and getattr(network, "base_model", network) is not network
        and not getattr(config, "is_encoder_decoder", False)
    )


def sequence_logits(network: nn.Module, inputs: Mapping[str, Any], lengths: Tensor) -> Tensor:
    """Logits of a sequence classifier, rows x C, from padded inputs and the lengths (rows,) of what is no padding."""
    inputs = dict(inputs)
    config = getattr(network, "config", None)
    if reads_last_token(network):
        # transformers looks for the last id that is not padding, which fails without a padding id and misreads texts
        # whose words were replaced by it; the lengths are known here.
        hidden = network.base_model(**inputs, use_cache=False).last_hidden_state  # type: ignore[operator]
        last = (lengths - 1).to(hidden.device)
        return network.score(hidden[torch.arange(len(last), device=hidden.device), last])  # type: ignore[operator]
    if getattr(config, "is_encoder_decoder", False):
        inputs["use_cache"] = False
        ids = inputs["input_ids"]
        real = torch.arange(ids.shape[1], device=ids.device) < lengths.to(ids.device).unsqueeze(1)
        ends = (ids == config.eos_token_id) & real  # type: ignore[union-attr]
        if hasattr(network, "classification_head") and bool((ends.sum(1) != ends[0].sum()).any()):
            return _logits_at(network, inputs, ends)
    return network(**inputs).logits


def _logits_at(network: nn.Module, inputs: dict[str, Any], ends: Tensor) -> Tensor:
    """Logits of an encoder-decoder, read at the last end token of each row.

    transformers reads there too, but refuses batches whose rows differ in the number of end tokens: texts beside pairs,
    or a text that has one written in it.
    """
    shift = getattr(network, "_shift_right", None)
    if shift is not None:
        inputs = {**inputs, "decoder_input_ids": shift(inputs["input_ids"])}
    hidden = network.base_model(**inputs).last_hidden_state  # type: ignore[operator]
    place = torch.arange(ends.shape[1], device=ends.device).expand_as(ends)
    last = place.masked_fill(~ends, -1).amax(1)
    return network.classification_head(hidden[torch.arange(len(last), device=hidden.device), last])  # type: ignore[operator]


TASKS: dict[str, type[Task]] = {cls.name: cls for cls in (Classification, PairClassification, Choices, SpanQA)}


def make_task(name: str, labels: Sequence[str], pad_id: int, *, joint_choices: bool = False) -> Task:
    """The task of that name; a network may read all choices in one row."""
    if name not in TASKS:
        raise InputError(f"unknown task {name!r}; known: {', '.join(TASKS)}")
    if name == "choices" and joint_choices:
        return JointChoices(labels, pad_id)
    return TASKS[name](labels, pad_id)
