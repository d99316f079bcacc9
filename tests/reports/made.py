"""A study that nobody ran: a plan and results made by hand, so that its report can be tested in no time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from saywhy.studies import Study, StudyResult
from saywhy.studies.cells import Cell, Store, write_json
from saywhy.studies.plan import Plan
from saywhy.types import MetricResult, WordScores

from .conftest import scored

TEXTS = ("so very good", "not bad at all")
ENVIRONMENT = {"threads": 1, "saywhy": "0.1.0", "torch": "2"}
RUN = {
    "kind": "run",
    "config": {
        "name": "plain",
        "options": {},
        "data": {"name": "reviews", "train": "c0ffee"},
        "model": {"name": "gru", "options": {"width": 8}},
        "examples": 600,
        "loop": {"epochs": 3, "seed": 0, "patience": None},
        "optimisers": {"model": {"name": "adamw", "learning_rate": 0.001}},
    },
    "environment": {"threads": 1, "versions": {"torch": "2"}},
    "result": {
        "steps": 20,
        "best_step": 20,
        "best_score": 0.81,
        "seconds": 75.0,
        "cpu_seconds": 30.0,
        "peak_bytes": 2**29,
    },
}


def measured(name: str, method: str, values: Sequence[float], *, higher: bool = True, **facts: Any) -> dict[str, Any]:
    """A metric's entry in a cell's result: the mean of the examples' values."""
    mean = sum(values) / len(values)
    found = MetricResult(
        name, mean, mean - 0.1, mean + 0.1, len(values), tuple(values), method=method, higher_is_better=higher, **facts
    )
    return {"method": method, "metric": name, "result": found.to_dict()}


def study(
    folder: Path,
    *,
    models: Mapping[str, Mapping[str, Any]] | None = None,
    data: Sequence[str] = ("reviews",),
    methods: Mapping[str, float] | None = None,
    seeds: Sequence[int] = (0, 1),
    paper: Mapping[str, Any] | None = None,
    text: str = TEXTS[0],
    texts: Sequence[Sequence[str]] = (),
    log: bool = True,
    more: Callable[[str, str, int], list[dict[str, Any]]] | None = None,
    **facts: Any,
) -> StudyResult:
    """Models by datasets by methods by seeds; a method's truth is its number plus a hundredth of seed and model.

    Sufficiency (lower is better) is one less its truth and has bins; accuracy belongs to the model. ``more`` gives
    further results of a model, a method (empty for the model's own) and a seed. ``texts`` are examples to keep,
    in place of the one of ``text``.
    """
    models = models or {"small": {}}
    methods = methods or {"random": 0.1, "lime": 0.6}
    store = Store(folder)
    cells, results = [], {}
    for number, (model, variant) in enumerate(models.items()):
        for seed in seeds:
            known = {"step": "small", "model": model, "variant": dict(variant), "seed": seed}
            train = Cell("train", {"model": "gru", "of": model, "seed": seed}, ENVIRONMENT, (), known)
            cells.append(train)
            losses = [{"step": 10 * i, "loss": 1 / i} for i in (1, 2)] + [{"step": 20, "score": 0.8}]
            results[train.name] = _done({"fingerprint": "f00d", "log": losses if log else []}, 60.0)
            write_json(store.folder(train.name) / "model" / "run.json", RUN)
            write_json(store.folder(train.name) / "model" / "saywhy.json", {"task": "text", "labels": ["neg", "pos"]})
            for name in data:
                for method, level in {"": 0.9, **methods}.items():
                    told = {**known, "step": "truth", "data": name, "method": method}
                    config = {"model": {"cell": train.name}, "data": {"name": name, "split": "test"}, "method": method}
                    cell = Cell("evaluate", {**config, "seed": seed}, ENVIRONMENT, (train.name,), told)
                    cells.append(cell)
                    level += (seed + number) / 100
                    found = _measured(method, level, texts or [[text]]) if method else _accuracy(level)
                    found["results"] += more(model, method, seed) if more is not None else []
                    results[cell.name] = _done(found, 2.0)
    for name, found in results.items():
        write_json(store.folder(name) / "result.json", found)
    step = {"model": "small", "data": list(data), "methods": list(methods), "metrics": ["truth"]}
    document = {"study": "made", "seeds": list(seeds), "evaluate": {"truth": step}, **facts}
    if paper is not None:
        document["paper"] = dict(paper)
    return StudyResult(Plan(Study.model_validate(document), tuple(cells)), results, folder)


def _done(result: dict[str, Any], seconds: float) -> dict[str, Any]:
    return {**result, "seconds": seconds, "machine": {"python": "3.11", "system": "Linux", "processors": 2}}


def _accuracy(level: float) -> dict[str, Any]:
    return {"fingerprint": "f00d", "n": 4, "results": [measured("accuracy", "", [level] * 4)], "explanations": []}


def _why(texts: Sequence[str], method: str) -> WordScores:
    """Scores of the words of the first text, beside which others may stand."""
    why = scored(texts[0], method)
    return replace(why, header=replace(why.header, texts=tuple(texts)))


def _measured(method: str, level: float, texts: Sequence[Sequence[str]]) -> dict[str, Any]:
    values = [level - 0.05, level, level, level + 0.05]
    bins = {"0.1": 1 - level, "0.05": 0.9 - level}
    found = [
        measured("truth", method, values, family="truth", notes=("one text had no gold",)),
        measured("sufficiency", method, [1 - v for v in values], higher=False, bins=bins),
    ]
    gold = {"rationales": [[{"field": 0, "start": 8, "end": 12}]], "answers": [], "truth": True}
    names = ["first", "second", "third", *(f"example {i}" for i in range(3, len(texts)))]
    examples = [
        {"texts": list(kept), "choices": [], "label": "pos", "id": name, **gold}
        for name, kept in zip(names, texts, strict=False)
    ]
    why = [{"method": method, "why": _why(kept, method).to_dict()} for kept in texts]
    return {"fingerprint": "f00d", "n": 4, "results": found, "examples": examples, "explanations": why}
