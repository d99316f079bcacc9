"""What a study would cost: cells that are done, cells like them, two timed steps, and a rule of thumb for the rest."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from saywhy.data import load_dataset
from saywhy.data.words import example_words
from saywhy.errors import SayWhyError
from saywhy.explainers.arec import Arec
from saywhy.metrics import AttackSuccess, Simulatability, expand_metrics
from saywhy.studies.cells import Cell, Store
from saywhy.studies.plan import Plan
from saywhy.studies.references import follow_references
from saywhy.studies.schema import QUICK, Study

__all__ = ["CellEstimate", "PlanEstimate", "estimate_plan", "folder_of"]

# Rows of model input that a method needs for n features, which are words or pairs of words; a gradient counts as three.
ROWS: Mapping[str, Callable[[float], float]] = {
    "random": lambda n: 1,
    "attention": lambda n: 1,
    "co-attention": lambda n: 1,
    "ivra": lambda n: 1,
    "rationale": lambda n: 1,
    "sentence": lambda n: 2,  # and the answer behind it
    "smat": lambda n: 1,
    "scaled-attention": lambda n: 3,
    "gradient": lambda n: 3,
    "input-x-gradient": lambda n: 3,
    "integrated-gradients": lambda n: 52,
    "deeplift": lambda n: 12,
    "leave-one-out": lambda n: n + 1,
    "occlusion": lambda n: n + 1,
    "back-select": lambda n: min(n * n / 4, 5 * n),  # one at a time for short inputs, then a twentieth
    "diffmask": lambda n: 3,
    "arec": lambda n: 3600,  # see `_rows_of`
    "interaction": lambda n: 13 * (n / 3 + n**0.5 + 1),  # contexts of all sizes, each by each of its words
    "lime": lambda n: 250,
    "kernel-shap": lambda n: 250,
    "shapley": lambda n: 20 * n,
}
UNKNOWN_ROWS = 100.0
QUERIES = 60  # that an attack makes on an example
SECONDS_A_ROW = 0.02  # where nothing could be timed
_SAMPLE = 20


@dataclass(frozen=True)
class CellEstimate:
    """A cell, how long it may take, and how that is known; 0 seconds where it is done."""

    cell: Cell
    seconds: float
    basis: str


@dataclass(frozen=True)
class PlanEstimate:
    """The plan of a study with a guess at its time."""

    study: Study
    cells: tuple[CellEstimate, ...]
    workers: int

    @property
    def seconds(self) -> float:
        """Of all that is to do, over the workers; that some wait for others is not counted."""
        return sum(c.seconds for c in self.cells) / self.workers

    @property
    def to_do(self) -> int:
        """Cells that are not done."""
        return sum(c.basis != "done" for c in self.cells)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {
            "study": self.study.study,
            "cells": [
                {"name": c.cell.name, "title": c.cell.title, "seconds": c.seconds, "basis": c.basis} for c in self.cells
            ],
            "to_do": self.to_do,
            "workers": self.workers,
            "seconds": self.seconds,
        }

    def __rich__(self) -> Any:
        from rich.table import Table

        table = Table(
            title=f"{self.study.study}: {len(self.cells)} cells, {self.to_do} to do, "
            f"about {_duration(self.seconds)} with {self.workers} worker{'s' if self.workers > 1 else ''}",
            box=None,
            title_justify="left",
        )
        table.add_column("cell")
        table.add_column("time", justify="right")
        table.add_column("known from")
        for c in self.cells:
            table.add_row(c.cell.title, "" if c.basis == "done" else _duration(c.seconds), c.basis)
        return table


def folder_of(study: Study, scale: str) -> Path:
    """Where the results of a study lie unless said otherwise."""
    return Path("runs") / (study.study if scale == QUICK else f"{study.study}-{scale}")


def estimate_plan(plan: Plan, folder: str | Path, *, workers: int = 1) -> PlanEstimate:
    """Guess how long a plan takes on this machine; times two steps of every kind of training that is new."""
    guesser = _Guesser(plan, Store(folder))
    return PlanEstimate(plan.study, tuple(guesser.guess(cell) for cell in plan.cells), workers)


class _Guesser:
    def __init__(self, plan: Plan, store: Store) -> None:
        self.plan, self.store = plan, store
        self.by_name = {cell.name: cell for cell in plan.cells}
        self.seen: dict[tuple[str, ...], float] = {}
        for cell in plan.cells:
            if store.done(cell.name):
                self.seen[_kind(cell)] = float(store.read(cell.name)["seconds"])
        self._trainings: dict[str, tuple[float, float]] = {}
        self._data: dict[str, tuple[int, float, float]] = {}
        self._rows: dict[str, float] = {}

    def guess(self, cell: Cell) -> CellEstimate:
        if self.store.done(cell.name):
            return CellEstimate(cell, 0.0, "done")
        if _kind(cell) in self.seen:
            return CellEstimate(cell, self.seen[_kind(cell)], "another seed")
        if cell.kind == "train":
            seconds, _ = self._training(cell)
            return CellEstimate(cell, seconds, "two steps timed" if seconds else "not known")
        if cell.kind == "tag":
            return CellEstimate(cell, 0.0, "not known")
        return CellEstimate(cell, self._evaluation(cell), "rule of thumb")

    def _training(self, cell: Cell) -> tuple[float, float]:
        """Seconds of a training run, and of one row of input going forward."""
        from saywhy.objectives import train

        config = cell.config
        key = json.dumps({k: v for k, v in config.items() if k != "seed"}, sort_keys=True, default=str)
        if key not in self._trainings:
            model, options = self._start(cell)
            for name, value in options.items():
                if isinstance(value, Mapping) and set(value) == {"cell"}:
                    options[name] = str(self.store.folder(value["cell"]) / "model")
                    if not Path(options[name]).exists():
                        # As long as the training of the model it needs, until that is there.
                        return self._training(self.by_name[value["cell"]])
            data = config["data"]
            found = load_dataset(data["name"], limit=data["limit"], seed=data["seed"], **data["options"])
            try:
                guess = train(
                    config["objective"],
                    found,
                    model,
                    seed=config["seed"],
                    quiet=True,
                    dry_run=True,
                    **options,
                )
            except SayWhyError:
                given = config["model"]
                # Some trainings need what only the other one makes; as long as that one, then.
                return (
                    self._training(self.by_name[given["cell"]]) if isinstance(given, Mapping) else (0.0, SECONDS_A_ROW)
                )
            batch = int(config["options"].get("batch_size") or 32)
            self._trainings[key] = (guess.seconds, guess.seconds_per_step / (3 * batch))  # type: ignore[union-attr]
        return self._trainings[key]

    def _start(self, cell: Cell) -> tuple[str | Path, dict[str, Any]]:
        """A model to time a training on: what it starts from, or, until that is there, what that one starts from."""
        model, options = cell.config["model"], dict(cell.config["options"])
        while isinstance(model, Mapping):
            ready = self.store.folder(model["cell"]) / "model"
            if ready.exists():
                return ready, options
            base = self.by_name[model["cell"]].config
            model = base["model"]
            options |= {name: base["options"][name] for name in ("model_options",) if name in base["options"]}
        return model, options

    def _evaluation(self, cell: Cell) -> float:
        config = cell.config
        n, words, cells = self._size(config["data"])
        features = cells if config["space"] == "alignments" else words
        metrics = [
            one
            for metric in config["metrics"]
            for one in expand_metrics(metric["name"], follow_references(metric["options"], self.store))
        ]
        rows = 1.0 + sum(min(QUERIES, one.max_queries) for one in metrics if isinstance(one, AttackSuccess))
        for method in config["methods"]:
            own = _rows_of(method, features)
            rows += own
            for one in metrics:
                if one.family in ("faithfulness", "erasure"):
                    # What is left of a text is on average half as long.
                    rows += 0.5 * (len(getattr(one, "bins", ())) or 10)
                elif one.family == "robustness":
                    rows += own * 5
                elif isinstance(one, Simulatability):
                    # A student with attention of its own, whose steps cost twice a plain one's.
                    rows += 2 * 3 * one.epochs * one.train + 1
                elif one.name == "loo-correlation":
                    rows += features
        return n * rows * self._row_seconds(cell)

    def _row_seconds(self, cell: Cell) -> float:
        where = cell.config["model"]
        if "cell" in where:
            return self._training(self.by_name[where["cell"]])[1]
        if where["path"] not in self._rows:
            from saywhy.models import load

            data = cell.config["data"]
            found = load_dataset(data["name"], limit=data["limit"], seed=data["seed"], **data["options"])
            some = list(found[data["split"] or found.evaluation_split])[:8]
            model = load(where["path"])
            model.predict(some, truncation="head")
            started = time.perf_counter()
            model.predict(some, truncation="head")
            self._rows[where["path"]] = (time.perf_counter() - started) / len(some)
        return self._rows[where["path"]]

    def _size(self, config: Mapping[str, Any]) -> tuple[int, float, float]:
        """Examples of a dataset, the words of one, and its pairs of a word of the first and one of the second text."""
        key = json.dumps(config, sort_keys=True, default=str)
        if key not in self._data:
            found = load_dataset(config["name"], limit=config["limit"], seed=config["seed"], **config["options"])
            examples = list(found[config["split"] or found.evaluation_split])
            fields = [[word.field for word in example_words(e)] for e in examples[:_SAMPLE]]
            some = max(1, len(fields))
            pairs = sum(own.count(0) * own.count(1) for own in fields)
            self._data[key] = (len(examples), sum(map(len, fields)) / some, pairs / some)
        return self._data[key]


def _rows_of(method: Mapping[str, Any], features: float) -> float:
    """Rows of model input that a method needs with its options."""
    rows = ROWS.get(method["name"], lambda _: UNKNOWN_ROWS)(features)
    given = method["options"]
    if method["name"] == "arec":
        # A gradient for each sample; half of the steps, as most pairs are done before the last.
        return rows * given.get("steps", Arec.steps) / Arec.steps * given.get("samples", Arec.samples) / Arec.samples
    if method["name"] in ("lime", "kernel-shap"):
        return min(rows, given.get("samples", rows))
    return rows


def _kind(cell: Cell) -> tuple[str, ...]:
    return (cell.kind, *(str(cell.facts.get(k, "")) for k in ("step", "model", "data", "method")))


def _duration(seconds: float) -> str:
    if seconds < 60:
        return f"{max(1, round(seconds))} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"
