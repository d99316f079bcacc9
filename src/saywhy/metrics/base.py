"""What a metric is: a frozen set of options with one verb, `Metric.score`."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, TypeVar

from numpy.typing import ArrayLike

from saywhy import __version__
from saywhy.errors import OptionError
from saywhy.metrics.trial import Trial, Workbench
from saywhy.ops.bootstrap import Statistic, bootstrap_interval, first_column
from saywhy.registry import Registry
from saywhy.types import MetricResult

__all__ = ["Metric", "check_option", "metrics", "register"]

metrics: Registry[type[Metric]] = Registry("metric", "saywhy.metrics")


def check_option(metric: str, option: str, value: object, allowed: Sequence[str]) -> None:
    """Raise `OptionError` unless the value is one of the allowed ones."""
    if value not in allowed:
        raise OptionError(f"{metric}: {option} must be one of {', '.join(allowed)}, not {value!r}")


@dataclass(frozen=True, kw_only=True)
class Metric(ABC):
    """One way to measure explanations, or a model; its fields are its options.

    Subclasses declare ``name``, ``family`` and what they are ``of`` (``"method"`` or ``"model"``), and, where the
    variant decides it, override ``higher_is_better`` and ``range``. Nothing is kept between calls and nothing that is
    given is changed.

    Attributes:
        samples: bootstrap resamples behind the interval.
        level: coverage the interval aims at.
    """

    samples: int = 1000
    level: float = 0.95

    name: ClassVar[str]
    family: ClassVar[str]
    of: ClassVar[str] = "method"
    paper: ClassVar[str] = ""

    def __post_init__(self) -> None:
        if self.samples < 1:
            raise OptionError(f"{self.name}: samples must be at least 1, not {self.samples}")
        if not 0 < self.level < 1:
            raise OptionError(f"{self.name}: level must lie between 0 and 1, not at {self.level}")

    @property
    def higher_is_better(self) -> bool:
        """Direction of this variant."""
        return True

    @property
    def range(self) -> tuple[float, float]:
        """Lowest and highest value this variant can take."""
        return (0.0, 1.0)

    @property
    def options(self) -> dict[str, Any]:
        """All options, as they are recorded in the result."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    @classmethod
    def option_names(cls) -> tuple[str, ...]:
        """Names of the options, as its constructor, `evaluate` and the command line take them."""
        return tuple(inspect.signature(cls).parameters)

    def check(self, bench: Workbench) -> None:  # noqa: B027 - most metrics take any examples
        """Raise an error, before anything is explained, if these examples have nothing the metric could use."""

    def prepare(self, trial: Trial) -> None:  # noqa: B027 - most metrics need no model calls
        """Announce the model calls `score` will need, so that several metrics' calls are made together."""

    @abstractmethod
    def score(self, trial: Trial) -> MetricResult:
        """Measure one method's explanations (or, for a metric of the model, its predictions)."""

    def _result(
        self,
        trial: Trial,
        contributions: ArrayLike,
        statistic: Statistic = first_column,
        *,
        values: Sequence[float] = (),
        bins: Mapping[str, float] | None = None,
        erasure: str | None = None,
        bounds: tuple[float, float] | None = None,
        notes: Sequence[str] = (),
    ) -> MetricResult:
        """The value and its interval from the examples' contributions, N or N x D, with where it comes from."""
        interval = bootstrap_interval(
            contributions, statistic, samples=self.samples, level=self.level, seed=trial.bench.seed
        )
        return MetricResult(
            name=self.name,
            value=interval.value,
            low=interval.low,
            high=interval.high,
            n=len(contributions),  # type: ignore[arg-type]
            values=tuple(float(v) for v in values),
            bins=dict(bins or {}),
            method=trial.method if self.of == "method" else "",
            family=self.family,
            variant=self.options,
            higher_is_better=self.higher_is_better,
            range=bounds or self.range,
            erasure=erasure,
            seed=trial.bench.seed,
            model=trial.bench.fingerprint,
            version=__version__,
            notes=tuple(notes),
        )


M = TypeVar("M", bound=type[Metric])


def register(cls: M) -> M:
    """Class decorator: list a metric under its ``name``, with the facts of its default variant."""
    default = cls()
    metrics.register(
        cls.name,
        family=cls.family,
        paper=cls.paper,
        facts={
            "of": cls.of,
            "higher_is_better": default.higher_is_better,
            "range": list(default.range),
            "options": {k: list(v) if isinstance(v, tuple) else v for k, v in default.options.items()},
        },
    )(cls)
    return cls
