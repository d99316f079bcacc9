"""Consistency: are the explanations of texts alike that the model sees as alike?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.stats import rankdata

from saywhy.errors import DataError, OptionError
from saywhy.metrics.base import Metric, check_option, register
from saywhy.metrics.parts import Contributions, Parts
from saywhy.metrics.selection import distribution_of, read_of, require_explanations
from saywhy.metrics.trial import Trial
from saywhy.types import Example

__all__ = ["Consistency"]

READINGS = ("tokens", "pairs")
_FEWEST = 3  # a rank correlation of two points is always 1 or -1


@register
@dataclass(frozen=True, kw_only=True)
class Consistency(Metric):
    """Rank correlation of how far two texts are apart inside the model with how far their explanations are.

    Hidden states are the mean over all layers; a word's are the mean over its pieces. Scores count without their sign
    and sum to 1. Each text is compared with the others of its batch.

    ``tokens``, the paper's (appendix B.4.2): for each pair of texts Spearman's correlation over their words, in the
    order of the text, of the distance of the hidden states with the difference of the scores; a text's value is the
    mean over its pairs. ``pairs`` (Atanasova et al. 2020): a text's value is the correlation over the other texts of
    the distance of mean hidden states with the distance of explanations.

    Reference: IvRA, section 2.2.3, equations 12 and 18.

    Edge cases: words beyond the shorter text, and words that the model does not read, are left out; a correlation with
    something constant is 0; a text that has fewer than 3 words, or partners, is left out.

    Attributes:
        reading: ``tokens`` or ``pairs``.
        batch: texts that are compared with each other, in the order of the data; a rest of 3 or fewer joins the batch
            before it.

    Example:
        >>> Consistency(reading="pairs").range
        (-1.0, 1.0)
    """

    reading: str = "tokens"
    batch: int = 32

    name: ClassVar[str] = "consistency"
    family: ClassVar[str] = "consistency"
    inside: ClassVar[bool] = True
    paper: ClassVar[str] = "IvRA, section 2.2.3"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_option(self.name, "reading", self.reading, READINGS)
        if self.batch < 2:
            raise OptionError(f"{self.name}: batch must be at least 2, not {self.batch}")

    @property
    def range(self) -> tuple[float, float]:
        """A correlation."""
        return (-1.0, 1.0)

    def unusable(self, n: int) -> DataError:
        """The error for texts that cannot be compared."""
        return DataError(
            f"{self.name} compares texts of at least {_FEWEST} words, and the {n} given are too few or short"
        )

    def measure(self, trial: Trial) -> Parts:
        """Keep the examples and their explanations until all are there: batches are not those of memory."""
        require_explanations(self.name, trial)
        n, bench = len(trial.explanations), trial.bench
        columns = {name: np.empty(n, dtype=object) for name in ("examples", "read", "shares")}
        for i, example in enumerate(bench.examples):
            read = read_of(trial, i)
            columns["examples"][i], columns["read"][i] = example, read
            columns["shares"][i] = distribution_of(trial, i)[read]
        return Parts(np.arange(n), columns, n, facts={"model": bench.model, "truncation": bench.truncation})

    def finish(self, parts: Parts, seed: int) -> Parts:
        """Read hidden states, and compare all pairs of a batch."""
        examples, read, shares = (parts.columns[name] for name in ("examples", "read", "shares"))
        index, values = [], []
        for numbers in _batches(parts.seen, self.batch):
            found = _states(parts.facts["model"], [examples[i] for i in numbers], parts.facts["truncation"])
            states = [own[read[i]] for own, i in zip(found, numbers, strict=True)]
            compare = _by_tokens if self.reading == "tokens" else _by_pairs
            for i, value in zip(numbers, compare(states, [shares[i] for i in numbers]), strict=True):
                if value is not None:
                    index.append(i)
                    values.append(value)
        return Parts(np.asarray(index, dtype=np.intp), {"values": np.asarray(values, dtype=np.float64)}, parts.seen)

    def contributions(self, parts: Parts) -> Contributions:
        """The mean over texts."""
        return Contributions.mean(parts.columns["values"])


def _batches(n: int, size: int) -> list[list[int]]:
    """Numbers of the texts that are compared with each other; a rest of few texts joins the batch before it.

    Example:
        >>> [len(numbers) for numbers in _batches(9, 4)]
        [4, 5]
    """
    starts = [start for start in range(0, n, size) if start == 0 or n - start >= min(size, _FEWEST + 1)]
    return [list(range(start, end)) for start, end in zip(starts, [*starts[1:], n], strict=True)]


def _states(model: Any, examples: Sequence[Example], truncation: str) -> list[NDArray[np.float64]]:
    """Mean hidden states of the words of some examples, words x d each."""
    from saywhy.models.hidden_states import keep_hidden_states

    made = []
    encoded = model.encode(list(examples), truncation)
    with model.evaluation() as network, torch.no_grad():
        for item in encoded:
            batch = model.task.collate([item]).to(model.device)
            with keep_hidden_states(network) as kept:
                model.task.raw(network, batch)
            states = kept.value.double().cpu().numpy()
            total, shown = np.zeros((len(item.words), states.shape[-1])), np.zeros(len(item.words))
            for row, own in zip(item.rows, states, strict=True):
                total += row.pieces.word_scores(own[: len(row)].T).T
                shown += row.pieces.word_scores(np.ones(len(row)))
            made.append(total / np.maximum(shown, 1e-9)[:, None])
    return made


def _by_tokens(states: list[NDArray[np.float64]], shares: list[NDArray[np.float64]]) -> list[float | None]:
    found: list[list[float]] = [[] for _ in states]
    for i in range(len(states)):
        for j in range(i + 1, len(states)):
            n = min(len(states[i]), len(states[j]))
            if n < _FEWEST:
                continue
            apart = np.linalg.norm(states[i][:n] - states[j][:n], axis=1)
            value = _spearman(apart, np.abs(shares[i][:n] - shares[j][:n]))
            found[i].append(value)
            found[j].append(value)
    return [float(np.mean(own)) if own else None for own in found]


def _by_pairs(states: list[NDArray[np.float64]], shares: list[NDArray[np.float64]]) -> list[float | None]:
    if len(states) <= _FEWEST:
        return [None] * len(states)
    means = np.stack([s.mean(0) if len(s) else np.zeros(states[0].shape[1]) for s in states])
    padded = np.zeros((len(shares), max(map(len, shares))))
    for i, own in enumerate(shares):
        padded[i, : len(own)] = own
    inside, outside = (np.linalg.norm(x[:, None] - x[None], axis=-1) for x in (means, padded))
    others = ~np.eye(len(states), dtype=bool)
    return [_spearman(inside[i, others[i]], outside[i, others[i]]) for i in range(len(states))]


def _spearman(x: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    a, b = rankdata(x), rankdata(y)
    a, b = a - a.mean(), b - b.mean()
    size = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / size if size > 0 else 0.0
