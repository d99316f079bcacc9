"""What a metric is: a frozen set of options with one verb, `Metric.score`."""

from __future__ import annotations

import inspect
import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, TypeVar

from saywhy import __version__
from saywhy.errors import CapabilityError, DataError, OptionError, SayWhyError
from saywhy.metrics.parts import Contributions, Origin, Parts
from saywhy.metrics.trial import Trial, Workbench
from saywhy.ops.bootstrap import bootstrap_interval
from saywhy.registry import Registry
from saywhy.types import Example, MetricResult

__all__ = ["BIN_KINDS", "Metric", "bin_kind", "check_option", "metrics", "register"]

BIN_KINDS = ("shares", "thresholds", "histogram", "parts")
"""What bins may be: the value at each share of the words, or at each threshold; the share of the examples in each of
equally wide ranges, by their lower ends; or parts with names, each a number of its own."""

metrics: Registry[type[Metric]] = Registry("metric", "saywhy.metrics")


def check_option(metric: str, option: str, value: object, allowed: Sequence[str]) -> None:
    """Raise `OptionError` unless the value is one of the allowed ones."""
    if value not in allowed:
        raise OptionError(f"{metric}: {option} must be one of {', '.join(allowed)}, not {value!r}")


@dataclass(frozen=True, kw_only=True)
class Metric(ABC):
    """One way to measure explanations, or a model; its fields are its options.

    Measuring has steps, so that a corpus need not be in memory: `measure` turns a block of examples into a few numbers
    each, `finish` does what needs all of them, `summarise` turns them into a result. `score` does all three.

    Subclasses declare ``name``, ``family``, what they are ``of`` (``"method"`` or ``"model"``) and the ``spaces`` whose
    explanations they read, and, where the variant decides it, override ``higher_is_better``, ``range`` and ``erases``.
    One whose result has ``bins`` says in ``bins_are`` which of `BIN_KINDS` they are; reports show them by that.
    Nothing is kept between calls and nothing that is given is changed.

    Attributes:
        samples: bootstrap resamples behind the interval.
        level: coverage the interval aims at.
    """

    samples: int = 1000
    level: float = 0.95

    name: ClassVar[str]
    family: ClassVar[str]
    of: ClassVar[str] = "method"
    spaces: ClassVar[tuple[str, ...]] = ("words",)
    repeats: ClassVar[bool] = False  # explains changed inputs
    inside: ClassVar[bool] = False  # looks inside the network
    across: ClassVar[bool] = False  # looks at other models' explanations
    bins_are: ClassVar[str] = ""  # one of `BIN_KINDS`; empty where there are no bins
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
        """Lowest and highest value this variant can take; infinite where there is no bound."""
        return (0.0, 1.0)

    @property
    def compares(self) -> bool:
        """Whether it looks at the other methods of the run."""
        return False

    @property
    def erases(self) -> bool:
        """Whether this variant asks the model about partly erased inputs."""
        return False

    @property
    def options(self) -> dict[str, Any]:
        """All options, as they are recorded in the result."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    @classmethod
    def option_names(cls) -> tuple[str, ...]:
        """Names of the options, as its constructor, `evaluate` and the command line take them."""
        return tuple(inspect.signature(cls).parameters)

    def usable(self, example: Example, space: str = "words") -> bool:
        """Whether an example has what the metric compares with."""
        return True

    def unusable(self, n: int) -> SayWhyError:
        """The error for data of which none of the n examples can be used."""
        return DataError(f"{self.name} can use none of the {n} examples")

    def check_model(self, bench: Workbench) -> None:
        """Raise an error if this model cannot be measured in this space and in this way."""
        if self.of == "method" and bench.space not in self.spaces:
            able = [e.name for e in metrics if bench.space in e.spaces]
            raise OptionError(
                f"{self.name} measures explanations over {' or '.join(self.spaces)}, not {bench.space}; "
                f"these metrics do: {', '.join(able)}"
            )
        if self.inside and getattr(bench.model, "network", self) is None:
            raise CapabilityError(f"{self.name} looks inside the network, and a black box shows its outputs only")

    def check(self, bench: Workbench) -> None:
        """Raise an error, before anything is explained, if the model or all examples are of no use to the metric."""
        self.check_model(bench)
        if not any(self.usable(example, bench.space) for example in bench.examples):
            raise self.unusable(len(bench.examples))

    def prepare(self, trial: Trial) -> None:  # noqa: B027 - most metrics need no model calls
        """Announce the model calls `measure` will need, so that several metrics' calls are made together."""

    @abstractmethod
    def measure(self, trial: Trial) -> Parts:
        """A few numbers for each example of one method's explanations (or of the model's predictions)."""

    def finish(self, parts: Parts, seed: int) -> Parts:
        """What needs all the examples at once, done once: from the joined numbers of all blocks."""
        return parts

    @abstractmethod
    def contributions(self, parts: Parts) -> Contributions:
        """What the value is made of, from the numbers of all examples, of which there is at least one."""

    def summarise(self, parts: Parts, origin: Origin) -> MetricResult:
        """The value with its interval, from the numbers of all examples.

        Raises:
            SayWhyError: no example counts.
        """
        if not len(parts):
            raise self.unusable(parts.seen)
        made = self.contributions(parts)
        interval = bootstrap_interval(
            made.rows, made.statistic, samples=self.samples, level=self.level, seed=origin.seed
        )
        return MetricResult(
            name=self.name,
            value=interval.value,
            low=interval.low,
            high=interval.high,
            n=len(parts),
            values=made.values,
            bins=dict(made.bins),
            method=origin.method if self.of == "method" else "",
            family=self.family,
            variant=self.options,
            higher_is_better=self.higher_is_better,
            range=made.bounds or self.range,
            erasure=origin.erasure if self.erases else None,
            seed=origin.seed,
            model=origin.model,
            version=__version__,
            notes=made.notes,
            bins_are=self.bins_are,
        )

    def score(self, trial: Trial) -> MetricResult:
        """Measure one method's explanations (or, for a metric of the model, its predictions)."""
        return self.summarise(self.finish(self.measure(trial), trial.origin.seed), trial.origin)


M = TypeVar("M", bound=type[Metric])


def register(cls: M) -> M:
    """Class decorator: list a metric under its ``name``, with the facts of its default variant."""
    if cls.bins_are and cls.bins_are not in BIN_KINDS:
        raise ValueError(f"metric {cls.name!r}: bins_are must be one of {', '.join(BIN_KINDS)}, not {cls.bins_are!r}")
    default = cls()
    metrics.register(
        cls.name,
        family=cls.family,
        spaces=cls.spaces,
        paper=cls.paper,
        facts={
            "of": cls.of,
            "bins_are": cls.bins_are,
            "higher_is_better": default.higher_is_better,
            "range": [None if math.isinf(bound) else bound for bound in default.range],
            "options": {k: list(v) if isinstance(v, tuple) else v for k, v in default.options.items()},
        },
    )(cls)
    return cls


def bin_kind(name: str, recorded: str = "") -> str:
    """What the bins of a result are, one of `BIN_KINDS`.

    Args:
        name: of the metric.
        recorded: what the result says itself. Results of earlier versions say nothing: there it is what the metric
            declares today. Bins of which nothing is known are parts: that claims the least.
    """
    declared = metrics[name].value.bins_are if not recorded and name in metrics else recorded
    return declared if declared in BIN_KINDS else "parts"
