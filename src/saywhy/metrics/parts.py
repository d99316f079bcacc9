"""What metrics keep of the examples they have seen: plain numbers that join end to end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from saywhy.errors import InputError
from saywhy.ops.bootstrap import Statistic, first_column

__all__ = ["Contributions", "Origin", "Parts", "join_parts"]


@dataclass(frozen=True, eq=False)
class Parts:
    """Numbers of one metric and method for a block of examples.

    Attributes:
        index: numbers of the examples that count, in their order, (N,).
        columns: by name, arrays of N rows: what the metric computes its value from.
        seen: examples that were looked at, counted or not.
        counts: by name, numbers that add up over blocks, such as how often a bound acted.
        facts: what must hold for all blocks alike, such as the kind of explanation.
    """

    index: NDArray[np.intp]
    columns: Mapping[str, NDArray[Any]]
    seen: int
    counts: Mapping[str, int] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.index)


@dataclass(frozen=True, eq=False)
class Contributions:
    """What a metric's value is made of, from all of its parts.

    The value is ``statistic`` of the mean of ``rows``, which is what the bootstrap resamples.

    Attributes:
        rows: N, or N x D, one row for each example that counts.
        statistic: from means, M x D, to M values.
        values: the examples' own values, where they have some.
        bins: more numbers by name; the metric's ``bins_are`` says what they are.
        bounds: the range, where it is not that of the variant.
        notes: what a reader should know.
    """

    rows: NDArray[np.float64]
    statistic: Statistic = first_column
    values: tuple[float, ...] = ()
    bins: Mapping[str, float] = field(default_factory=dict)
    bounds: tuple[float, float] | None = None
    notes: tuple[str, ...] = ()

    @classmethod
    def mean(cls, values: ArrayLike, **facts: Any) -> Contributions:
        """Those of a metric that is the mean of its examples' values."""
        rows = np.asarray(values, dtype=np.float64)
        return cls(rows, values=tuple(rows.tolist()), **facts)


@dataclass(frozen=True)
class Origin:
    """Where a result comes from, as it is recorded."""

    method: str
    erasure: str
    seed: int
    model: str


def join_parts(parts: Sequence[Parts]) -> Parts:
    """Parts of several blocks as one, in their order.

    Raises:
        InputError: the blocks hold explanations of different kinds.
    """
    if len(parts) == 1:
        return parts[0]
    first = parts[0]
    for part in parts[1:]:
        if part.facts != first.facts:
            raise InputError(
                "the explanations mix kinds: "
                f"{dict(first.facts)} and, further on, {dict(part.facts)}; measure them apart"
            )
    offsets = np.cumsum([0, *(part.seen for part in parts[:-1])])
    return Parts(
        np.concatenate([part.index + offset for part, offset in zip(parts, offsets, strict=True)]),
        {name: np.concatenate([part.columns[name] for part in parts]) for name in first.columns},
        sum(part.seen for part in parts),
        {name: sum(part.counts[name] for part in parts) for name in first.counts},
        first.facts,
    )
