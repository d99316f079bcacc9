"""What methods cost beside a prediction, and objectives beside plain training: CPU time, in turn, in one run."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from saywhy.benchmarks.training import Side, TrainingPlan, our_loop, prepare
from saywhy.errors import OptionError, SayWhyWarning
from saywhy.explainers import explain
from saywhy.loop import BatchOrder, LoopSettings
from saywhy.models import TextModel
from saywhy.types import Example

__all__ = ["Cost", "CostTable", "Named", "method_costs", "objective_costs"]

Named = tuple[str, Mapping[str, Any]]
"""A method or an objective, and its options."""


@dataclass(frozen=True)
class Cost:
    """CPU seconds an input, and how many times those of the first line."""

    name: str
    seconds: float
    ratio: float


@dataclass(frozen=True)
class CostTable:
    """Costs beside each other; the first line is what the others are compared with."""

    title: str
    rows: tuple[Cost, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return asdict(self)

    def __rich__(self) -> Any:
        from rich.table import Table

        table = Table(title=self.title, title_justify="left")
        table.add_column("")
        for column in ("CPU ms each", "ratio"):
            table.add_column(column, justify="right")
        for row in self.rows:
            table.add_row(row.name, f"{1000 * row.seconds:.2f}", f"{row.ratio:.2f}")
        return table


def method_costs(
    model: TextModel,
    examples: Sequence[Example],
    methods: Sequence[Named],
    *,
    rounds: int = 3,
    batch_size: int = 32,
    say: Callable[[str], None] = lambda line: None,
) -> CostTable:
    """What it costs to explain all examples by each method, beside predicting them.

    All take turns, ``rounds`` times; the fastest of each counts, as other programs can only slow it down. Splitting
    into words and tokenizing is in every number. Of texts that the model cannot read whole the beginning is read.

    Example:
        >>> method_costs(model, texts, [("ivra", {}), ("attention", {})])                    # doctest: +SKIP
    """
    if not examples or rounds < 1:
        raise OptionError("costs are measured on at least one example, at least once")
    work: dict[str, Callable[[], Any]] = {
        "predict": lambda: model.predict(examples, batch_size=batch_size, truncation="head")
    }
    for name, options in methods:

        def run(name: str = name, options: Mapping[str, Any] = options) -> None:
            explain(model, examples, name, batch_size=batch_size, truncation="head", verdict=False, **options)

        work[_title(name, options)] = run
    best = dict.fromkeys(work, float("inf"))
    for turn in range(rounds + 1):
        for name, once in work.items():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", SayWhyWarning)  # of cut texts: the same in every round
                began = time.process_time()
                once()
                spent = time.process_time() - began
            if turn:  # the first turn pays for what is made once
                best[name] = min(best[name], spent)
        say(f"round {turn} of {rounds}" if turn else "warm")
    return _table(f"explaining {len(examples)} inputs in batches of {batch_size}", best, len(examples))


def objective_costs(
    plan: TrainingPlan, others: Sequence[Named], *, say: Callable[[str], None] = lambda line: None
) -> CostTable:
    """What a training step costs by each objective, beside those of ``plan``; all see the same batches, in turn.

    Example:
        >>> plan = TrainingPlan(data="sst2", objective="plain", network="minilm", limit=256, epochs=1)
        >>> objective_costs(plan, [("ivra", {"criteria": "comp"})])                          # doctest: +SKIP
    """
    asked: list[Named] = [(plan.objective, plan.options), *others]
    sides, lengths = {}, None
    for name, options in asked:
        objective, items = prepare(replace(plan, objective=name, options=options))
        settings = LoopSettings(epochs=plan.epochs, batch_size=plan.batch_size, seed=plan.seed)
        found = [max(len(row) for row in item.rows) for item in items]
        if lengths is not None and found != lengths:
            raise OptionError(f"{name} encodes the examples otherwise than {asked[0][0]}; they cannot share batches")
        lengths = found
        order = BatchOrder(len(items), plan.batch_size, seed=plan.seed, lengths=lengths)
        sides[_title(name, options)] = Side(our_loop(objective, items, settings, plan.epochs * len(order)))
    done = 0
    for epoch in range(plan.epochs):
        for batch in order.epoch(epoch):
            for side in sides.values():
                side.step(batch, done, epoch, len(batch))
            done += 1
        say(f"epoch {epoch + 1} of {plan.epochs}")
    if done < 2:
        raise OptionError("the first step is not counted: take more examples, more epochs or smaller batches")
    each = {name: side.seconds / max(side.tokens, 1) for name, side in sides.items()}
    return _table(f"training on {plan.data}, {done - 1} steps of {plan.batch_size}", each, 1)


def _table(title: str, seconds: Mapping[str, float], inputs: int) -> CostTable:
    first = next(iter(seconds.values()))
    return CostTable(title, tuple(Cost(name, spent / inputs, spent / first) for name, spent in seconds.items()))


def _title(name: str, options: Mapping[str, Any]) -> str:
    told = ", ".join(f"{key}={value}" for key, value in options.items())
    return f"{name} ({told})" if told else name
