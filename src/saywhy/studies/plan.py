"""From a study to its cells: sweeps made into single runs, everything checked before any work."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from saywhy.data import load_dataset
from saywhy.data.corpus import datasets
from saywhy.errors import SayWhyError
from saywhy.explainers import methods
from saywhy.explainers.run import make_explainer
from saywhy.metrics import expand_metrics
from saywhy.metrics.base import Metric
from saywhy.metrics.evaluation import own_space
from saywhy.metrics.trial import Workbench
from saywhy.models.networks import networks
from saywhy.objectives import objectives
from saywhy.studies.cells import Cell, environment
from saywhy.studies.checks import check_tagger, check_training
from saywhy.studies.references import refer
from saywhy.studies.schema import DataRef, EvaluateStep, Named, Source, Study
from saywhy.studies.sweeps import digest_of, doubled, title_of, unfold, variant_of

__all__ = ["Plan", "make_plan"]

_SAMPLE = 20  # examples looked at to see what a dataset offers
_OF_EXPLAIN = frozenset({"target", "against"})
_PAIRS = frozenset({"text", "pair"})  # a dataset of pairs has texts as well


@dataclass(frozen=True)
class Plan:
    """All cells of a study, those that others need first."""

    study: Study
    cells: tuple[Cell, ...]

    def only(self, words: Sequence[str]) -> Plan:
        """The cells whose titles have all the words, and what they need."""
        if not words:
            return self
        wanted = {c.name for c in self.cells if all(w.casefold() in c.title.casefold() for w in words)}
        for cell in reversed(self.cells):
            if cell.name in wanted:
                wanted.update(cell.needs)
        return Plan(self.study, tuple(c for c in self.cells if c.name in wanted))


def make_plan(study: Study, source: Source) -> Plan:
    """Check a study and unfold it.

    Raises:
        StudyError: a name that does not exist, an option that a thing does not have, a metric that cannot apply to a
            dataset, steps that need each other; names the line.
    """
    planner = _Planner(study, source)
    for name in study.train:
        planner.train(name)
    for name in study.taggers:
        planner.tagger(name)
    for name in study.evaluate:
        planner.evaluate(name)
    if twice := doubled(planner.cells):
        raise source.error(f"two steps measure {twice}; give a dataset or a metric of one a label", ("evaluate",))
    return Plan(study, tuple({cell.name: cell for cell in planner.cells}.values()))


class _Planner:
    def __init__(self, study: Study, source: Source) -> None:
        self.study = study
        self.source = source
        self.environment = environment(study.threads)
        self.cells: list[Cell] = []
        self.trained: dict[str, list[Cell]] = {}
        self.tagged: dict[str, Cell] = {}
        self.tasks: dict[str, str] = {}  # of the models of a step
        self._open: list[str] = []
        self._samples: dict[str, tuple[str, list[Any]]] = {}

    # -- training ------------------------------------------------------------------------------------------------

    def train(self, name: str) -> list[Cell]:
        """The cells of a step, made on first use."""
        if name in self.trained:
            return self.trained[name]
        if name in self._open:
            circle = " -> ".join([*self._open[self._open.index(name) :], name])
            raise self.source.error(f"these steps wait for each other: {circle}", ("train", name))
        self._open.append(name)
        step, at = self.study.train[name], ("train", name)
        check_training(self.study, step, at, self.source)
        made = []
        for place, data in enumerate(step.data):
            task, _ = self._sample(data, (*at, "data", place))
            self.tasks[name] = task
            for objective, model, options in itertools.product(step.objective, step.model, unfold(step.options)):
                for base in self._bases(model):
                    seeds = step.seeds or self.study.seeds
                    for seed in seeds:
                        started = self._seeded(base, seed)
                        variant = variant_of(step, objective=objective, model=model, data=data.title, **options)
                        given, found = self._option_models(objective, options, seed, at)
                        config = {
                            "objective": objective,
                            "data": self._data(data, seed),
                            "model": {"cell": started.name} if started else model,
                            "options": given,
                            "seed": seed,
                        }
                        title = title_of(name, variant, self.study)
                        facts = {"step": name, "model": title, "variant": variant, "seed": seed}
                        needs = (*((started.name,) if started else ()), *found)
                        made.append(Cell("train", config, self.environment, needs, facts))
        self._open.pop()
        self.cells += made
        self.trained[name] = made
        return made

    def tagger(self, name: str) -> Cell:
        """The cell of a tagger, made on first use; one serves all seeds."""
        if name not in self.tagged:
            step, seed = self.study.taggers[name], self.study.seeds[0]
            _, examples = self._sample(step.data, ("taggers", name, "data"))
            check_tagger(self.study, step, examples, ("taggers", name), self.source)
            config = {"data": self._data(step.data, seed), "options": step.options, "seed": seed}
            facts = {"step": name, "model": name, "variant": {}, "seed": seed}
            self.tagged[name] = Cell("tag", config, self.environment, (), facts)
            self.cells.append(self.tagged[name])
        return self.tagged[name]

    def referred(self, name: str, seed: int) -> Cell | None:
        """What ``step:NAME`` means in a run: a tagger, or the model of a step, of the same seed if there is one."""
        if name in self.study.taggers:
            return self.tagger(name)
        return self._seeded(self.train(name), seed) if name in self.study.train else None

    def _option_models(
        self, objective: str, options: dict[str, Any], seed: int, at: tuple[str | int, ...]
    ) -> tuple[dict[str, Any], list[str]]:
        """The options with steps of ``train`` in them replaced by their cells, and these cells' names."""
        given, found = dict(options), []
        for option in objectives[objective].value.models:
            name = options.get(option)
            if name not in self.study.train:
                if name is not None and not Path(str(name)).exists():
                    raise self.source.error(f"{name!r} is no step of train and no folder", (*at, "options", option))
                continue
            groups = self._bases(str(name))
            if len(groups) > 1:
                raise self.source.error(
                    f"the step {name!r} trains several models; {option} needs one", (*at, "options", option)
                )
            cell = self._seeded(groups[0], seed)
            assert cell is not None
            given[option] = {"cell": cell.name}
            found.append(cell.name)
        return given, found

    def _bases(self, model: str) -> list[list[Cell]]:
        """The models of another step to start from, seeds grouped; an empty group where there is none."""
        # A step may bear the name of the network that it trains.
        own = bool(self._open) and model == self._open[-1] and model in networks
        if model not in self.study.train or own:
            return [[]]
        groups: dict[str, list[Cell]] = {}
        for cell in self.train(model):
            groups.setdefault(cell.facts["model"], []).append(cell)
        return list(groups.values())

    @staticmethod
    def _seeded(group: list[Cell], seed: int) -> Cell | None:
        same = [cell for cell in group if cell.facts["seed"] == seed]
        return next(iter(same or group), None)

    # -- measuring -----------------------------------------------------------------------------------------------

    def evaluate(self, name: str) -> None:
        """The cells of a step."""
        step, at = self.study.evaluate[name], ("evaluate", name)
        chosen = self._check_names(step, at)
        together = any(m.compares or m.family == "agreement" for m in chosen)  # looks at several methods at once
        groups = [step.methods] if together else [[method] for method in step.methods]
        for place, data in enumerate(step.data):
            task, examples = self._sample(data, (*at, "data", place))
            self._check_fit(step, at, chosen, data, task, examples)
            for number, model in enumerate(step.model):
                for cell, seed in self._models(model, step, (*at, "model", number), task):
                    shared = {
                        "model": {"cell": cell.name} if cell else {"path": model},
                        "data": self._data(data, seed),
                        "space": step.space,
                        "erasure": step.erasure,
                        "truncation": step.truncation,
                        "batch_size": step.batch_size,
                        "examples": step.examples,
                        "seed": seed,
                    }
                    others = self._against(step, at, cell, task)
                    if others:  # named only where there are some: what was measured without stays the same cell
                        shared["against"] = others
                    for group, wanted in self._tasks_of(groups, step, chosen):
                        with self.source.errors((*at, "metrics")):
                            named, judges = refer(wanted, partial(self.referred, seed=seed))
                        chosen_methods = [{"name": m.name, "options": m.options, "title": m.title} for m in group]
                        config = {**shared, "methods": chosen_methods, "metrics": named}
                        facts = {
                            "step": name,
                            "model": cell.facts["model"] if cell else model,
                            "variant": dict(cell.facts["variant"]) if cell else {},
                            "data": data.title,
                            "method": ", ".join(m.title for m in group),
                            "seed": seed,
                        }
                        found = [cell.name] if cell else []
                        found += [other["cell"] for other in others.values() if "cell" in other]
                        needs = tuple(dict.fromkeys([*found, *judges]))
                        self.cells.append(Cell("evaluate", config, self.environment, needs, facts))

    @staticmethod
    def _tasks_of(
        groups: list[list[Named]], step: EvaluateStep, chosen: Sequence[Metric]
    ) -> Iterator[tuple[list[Named], list[Named]]]:
        """What is measured in one cell: metrics of the model by themselves, those of methods method by method."""
        of = {m.name: m.of for m in chosen}
        families = {m.family for m in chosen if m.of == "model"}
        of_model = [m for m in step.metrics if of.get(m.name) == "model" or m.name in families]
        of_methods = [m for m in step.metrics if m not in of_model]
        if of_model:
            yield [], of_model
        if of_methods:
            for group in groups:
                yield group, of_methods

    def _check_names(self, step: EvaluateStep, at: tuple[str | int, ...]) -> list[Metric]:
        titles: set[str] = set()
        for place, method in enumerate(step.methods):
            path = (*at, "methods", place)
            with self.source.errors(path):
                make_explainer(method.name, {k: v for k, v in method.options.items() if k not in _OF_EXPLAIN})
            if method.title in titles:
                raise self.source.error(f"method {method.title!r} comes twice; give one of them a label", path)
            titles.add(method.title)
        with self.source.errors((*at, "space")):
            space = own_space(step.space, [m.name for m in step.methods])
        chosen: list[Metric] = []
        titles = set()
        for place, metric in enumerate(step.metrics):
            if metric.title in titles:
                raise self.source.error(
                    f"metric {metric.title!r} comes twice; give one of them a label", (*at, "metrics", place)
                )
            titles.add(metric.title)
            with self.source.errors((*at, "metrics", place)):
                found = expand_metrics(metric.name, metric.options, space)
            for one in found:
                if one.of == "method" and space not in one.spaces:
                    raise self.source.error(f"metric {one.name!r} does not apply to {space}", (*at, "metrics", place))
                if one.of == "method" and not step.methods:
                    raise self.source.error(
                        f"metric {one.name!r} measures explanations: name at least one method", (*at, "metrics", place)
                    )
            chosen += found
        across = [one.name for one in chosen if one.across]
        if bool(across) != bool(step.against):
            told = f"{across[0]} compares models: name others" if across else "no metric here compares models"
            raise self.source.error(f"against: {told}", (*at, "against" if step.against else "metrics"))
        return chosen

    def _check_fit(
        self,
        step: EvaluateStep,
        at: tuple[str | int, ...],
        chosen: Sequence[Metric],
        data: DataRef,
        task: str,
        examples: list[Any],
    ) -> None:
        for place, method in enumerate(step.methods):
            entry = methods[method.name]
            if entry.tasks and task not in entry.tasks:
                raise self.source.error(
                    f"method {method.name!r} does {', '.join(entry.tasks)}; {data.title} is {task}",
                    (*at, "methods", place),
                )
        space = own_space(step.space, [m.name for m in step.methods])
        bench = Workbench(_Anything(), examples, erasure=step.erasure or "delete", space=space)
        for place, metric in enumerate(step.metrics):
            for one in expand_metrics(metric.name, metric.options, space):
                try:
                    one.check(bench)
                except SayWhyError as error:
                    raise self.source.error(
                        f"metric {one.name!r} cannot apply to {data.title}: {error}", (*at, "metrics", place)
                    ) from None

    def _models(
        self, model: str, step: EvaluateStep, at: tuple[str | int, ...], task: str
    ) -> Iterator[tuple[Cell | None, int]]:
        if model in self.study.train:
            trained = self.train(model)
            own = self.tasks[model]
            if own != task and {own, task} != _PAIRS:
                raise self.source.error(f"the models of {model!r} do {own}; the data is {task}", at)
            chosen = [cell for cell in trained if step.seeds is None or cell.facts["seed"] in step.seeds]
            if not chosen:
                found = ", ".join(str(s) for s in dict.fromkeys(cell.facts["seed"] for cell in trained))
                raise self.source.error(f"the models of {model!r} have the seeds {found}, none of those asked for", at)
            for cell in chosen:
                yield cell, int(cell.facts["seed"])
            return
        if not Path(model).exists():
            raise self.source.error(f"{model!r} is no step of train and no folder or file", at)
        for seed in step.seeds or self.study.seeds:
            yield None, seed

    def _against(
        self, step: EvaluateStep, at: tuple[str | int, ...], own: Cell | None, task: str
    ) -> dict[str, dict[str, str]]:
        """The models that one is compared with, by title: all of the named steps but itself."""
        made: dict[str, dict[str, str]] = {}
        for place, name in enumerate(step.against):
            for cell, seed in self._models(name, step, (*at, "against", place), task):
                if cell is None:
                    made[name] = {"path": name}
                elif own is None or cell.name != own.name:
                    made[f"{cell.facts['model']} (seed {seed})"] = {"cell": cell.name}
        if step.against and not made:
            raise self.source.error("there is no other model to compare with; give more seeds", (*at, "against"))
        return made

    # -- data ----------------------------------------------------------------------------------------------------

    def _data(self, data: DataRef, seed: int) -> dict[str, Any]:
        config = data.model_dump(exclude={"label"})
        config["seed"] = seed if data.seed == "run" else data.seed
        if data.name not in datasets:
            config["content"] = digest_of(Path(data.name))
        return config

    def _sample(self, data: DataRef, path: tuple[str | int, ...]) -> tuple[str, list[Any]]:
        """The task of a dataset, and some of its examples."""
        if not isinstance(data.seed, int) and data.seed != "run":
            raise self.source.error(f"seed must be a number or 'run', not {data.seed!r}", path)
        key = json.dumps(data.model_dump(exclude={"limit", "label"}), sort_keys=True, default=str)
        if key not in self._samples:
            with self.source.errors(path):
                found = load_dataset(data.name, **data.options)
                # Streamed: the rest of a long file need not be read to see what it offers.
                examples = list(itertools.islice(found.stream(data.split or found.evaluation_split), _SAMPLE))
            self._samples[key] = (found.task, examples)
        return self._samples[key]


class _Anything:
    """Stands in for a model where only examples are looked at."""

    fingerprint = ""
    splitter = "unicode"

    def predict(self, inputs: Any, *, batch_size: int = 32, truncation: str = "error") -> list[Any]:
        raise RuntimeError("a plan has no model to ask")

    def label_index(self, label: str | int, example: Any = None) -> int:
        return 0
