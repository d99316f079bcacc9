"""Is one method better than another? The paired bootstrap's answer, in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saywhy.errors import OptionError
from saywhy.ops.bootstrap import Statistic, first_column, paired_difference
from saywhy.types import SCHEMA, MetricResult

__all__ = ["Comparison", "Evidence", "compare_results", "is_mean"]


@dataclass(frozen=True, eq=False)
class Evidence:
    """What one result was computed from: the numbers of the examples that count, their rows, and the statistic."""

    index: NDArray[np.intp]
    rows: NDArray[np.float64]
    statistic: Statistic = first_column


@dataclass(frozen=True)
class Comparison:
    """Two methods by one metric on the same examples.

    ``difference`` is how much better ``first`` is than ``second``, whichever direction of the metric is the good one;
    ``low`` and ``high`` bound it by the bootstrap, which draws the same examples for both.

    Example:
        >>> print(Comparison("sufficiency", "lime", "random", 0.04, 0.02, 0.06, n=100))
        sufficiency: lime is better than random by 0.040 [0.020, 0.060]
        >>> print(Comparison("sufficiency", "lime", "random", 0.01, -0.02, 0.04, n=100))
        sufficiency: no clear difference between lime and random, 0.010 [-0.020, 0.040]
    """

    metric: str
    first: str
    second: str
    difference: float
    low: float
    high: float
    n: int
    level: float = 0.95
    variant: Mapping[str, Any] = field(default_factory=dict)

    @property
    def enough(self) -> bool:
        """Whether there are so many examples that all of them could agree by chance less often than the level allows.

        The bootstrap of very few examples is too sure of itself; at 95 % it takes six.
        """
        return 2.0 ** (1 - self.n) <= 1 - self.level

    @property
    def verdict(self) -> str:
        """``better``, ``worse`` or ``no clear difference``, of the first method."""
        if not self.enough:
            return "no clear difference"
        if self.low > 0:
            return "better"
        return "worse" if self.high < 0 else "no clear difference"

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        names = ("metric", "first", "second", "difference", "low", "high", "n", "level")
        facts = {name: getattr(self, name) for name in names}
        return {"kind": "comparison", "schema": SCHEMA, **facts, "verdict": self.verdict}

    def __str__(self) -> str:
        sign = -1 if self.verdict == "worse" else 1
        low, high = sorted((sign * self.low, sign * self.high))
        numbers = f"{sign * self.difference:z.3f} [{low:z.3f}, {high:z.3f}]"
        if self.verdict == "no clear difference":
            few = "" if self.enough else f"; {self.n} example{'s' * (self.n != 1)} cannot tell"
            return f"{self.metric}: no clear difference between {self.first} and {self.second}, {numbers}{few}"
        return f"{self.metric}: {self.first} is {self.verdict} than {self.second} by {numbers}"


def compare_results(
    first: MetricResult,
    second: MetricResult,
    evidence: tuple[Evidence, Evidence] | None = None,
) -> Comparison:
    """Compare two methods' results of one metric by the paired bootstrap over the examples that count for both.

    Args:
        first: a method's result.
        second: another method's result of the same variant of the metric, on the same examples.
        evidence: what they were computed from; by default the examples' own values, which will do for results that are
            their means.

    Raises:
        OptionError: the results do not belong together, or cannot be compared by their values.
    """
    if (first.name, dict(first.variant), first.seed) != (second.name, dict(second.variant), second.seed):
        raise OptionError(f"{first.name} of {first.method} and {second.name} of {second.method} are not of one variant")
    if evidence is None:
        evidence = _from_values(first), _from_values(second)
    a, b = evidence
    _, at, bt = np.intersect1d(a.index, b.index, assume_unique=True, return_indices=True)
    if not len(at):
        raise OptionError(f"{first.name}: no example counts for both {first.method} and {second.method}")
    level = float(first.variant.get("level", 0.95))
    gap = paired_difference(
        a.rows[at],
        b.rows[bt],
        a.statistic,
        samples=int(first.variant.get("samples", 1000)),
        level=level,
        seed=first.seed,
    )
    value, low, high = gap if first.higher_is_better else (-gap.value, -gap.high, -gap.low)
    return Comparison(first.name, first.method, second.method, value, low, high, len(at), level, dict(first.variant))


def is_mean(result: MetricResult) -> bool:
    """Whether a result is the mean of its examples' values, so that these will do to compare it."""
    values = np.asarray(result.values, dtype=np.float64)
    # Micro averages and the like have values of examples too, but are not their mean.
    return len(values) == result.n > 0 and bool(np.isclose(values.mean(), result.value, rtol=1e-9, atol=1e-12))


def _from_values(result: MetricResult) -> Evidence:
    values = np.asarray(result.values, dtype=np.float64)
    if not is_mean(result):
        raise OptionError(
            f"{result.name} of {result.method} is not the mean of its examples' values; compare in a table"
        )
    return Evidence(np.arange(len(values)), values)
