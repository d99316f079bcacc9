"""Doing one cell: the only code of a study that trains, explains or measures."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import shutil
import threading
import time
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from saywhy.errors import OptionError
from saywhy.studies.cells import Cell, Store
from saywhy.studies.references import follow_references

__all__ = ["do_cell", "forget_data", "torch_threads", "watch_parent"]


def do_cell(given: Mapping[str, Any], root: str) -> str:
    """Do a cell, unless it is done; returns its name.

    Safe to call from several processes at once: one works, the others wait and find it done.
    """
    from filelock import FileLock

    cell, store = Cell.from_dict(given), Store(root)
    store.cells.mkdir(parents=True, exist_ok=True)
    with FileLock(store.lock(cell.name)):
        if not store.done(cell.name):
            started = time.perf_counter()
            with torch_threads(int(cell.environment["threads"])):
                result = _WORK[cell.kind](cell, store)
            store.finish(cell, {**result, "seconds": time.perf_counter() - started, "machine": _machine()})
    store.lock(cell.name).unlink(missing_ok=True)
    return cell.name


def watch_parent() -> None:
    """End this process when the study that it works for is gone, so that a killed one leaves nobody working."""
    study = multiprocessing.parent_process()
    if study is None:
        return

    def watch() -> None:
        study.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _train(cell: Cell, store: Store) -> dict[str, Any]:
    from saywhy.loop import read_run
    from saywhy.objectives import train

    config = cell.config
    model = config["model"]
    base = _model(model, store) if isinstance(model, Mapping) else model
    options: dict[str, Any] = {
        name: str(_model(value, store)) if isinstance(value, Mapping) and set(value) == {"cell"} else value
        for name, value in config["options"].items()
    }
    part = store.part(cell.name)
    begun = (part / "model").exists()

    def learn(resume: bool) -> Any:
        return train(
            config["objective"],
            _dataset(config["data"]),
            base,
            out=part / "model",
            seed=config["seed"],
            resume=resume,
            quiet=True,
            **options,
        )

    try:
        trained = learn(resume=True)  # a run that was stopped goes on where it was, bit for bit
    except OptionError:
        if not begun:
            raise
        trained = learn(resume=False)  # begun by a version that trained otherwise
    log = part / "model" / "log.jsonl"
    run = read_run(part / "model") or {}
    return {
        "fingerprint": trained.fingerprint,
        "log": _read_log(log) if log.exists() else [],
        "report": run.get("report", {}),
        "cpu_seconds": run.get("result", {}).get("cpu_seconds"),
    }


def _evaluate(cell: Cell, store: Store) -> dict[str, Any]:
    from saywhy.metrics import evaluate, expand_metrics
    from saywhy.metrics.evaluation import own_space
    from saywhy.models import load

    config = cell.config
    shutil.rmtree(store.part(cell.name), ignore_errors=True)
    model = load(_model(config["model"], store))
    data = config["data"]
    space = own_space(config["space"], [m["name"] for m in config["methods"]])
    asked = [
        (m["title"], one)
        for m in config["metrics"]
        for one in expand_metrics(m["name"], follow_references(m["options"], store), space)
    ]
    table = evaluate(
        model,
        _dataset(data),
        [m["name"] for m in config["methods"]],
        [one for _, one in asked],
        split=data["split"],
        seed=config["seed"],
        batch_size=config["batch_size"],
        space=config["space"],
        erasure=config["erasure"],
        truncation=config["truncation"],
        keep=config["examples"],
        against={title: _model(where, store) for title, where in config.get("against", {}).items()},
        method_options={m["name"]: m["options"] for m in config["methods"] if m["options"]},
    )
    called = {m["name"]: m["title"] for m in config["methods"]}
    results = []
    for result in table.results:
        # A metric's own title, unless it stands for a whole family.
        named = [
            title for title, one in asked if (one.name, _plain(one.options)) == (result.name, _plain(result.variant))
        ]
        families = {m["title"] for m in config["metrics"] if m["name"] != result.name and m["title"] == m["name"]}
        title = named[0] if named and named[0] not in families else result.name
        results.append({"method": called.get(result.method, ""), "metric": title, "result": result.to_dict()})
    return {
        "fingerprint": table.model,
        "n": table.n,
        "results": results,
        "examples": [_example(e) for e in table.examples],
        "explanations": [{"method": called.get(e.method, e.method), "why": e.to_dict()} for e in table.explanations],
    }


def _tag(cell: Cell, store: Store) -> dict[str, Any]:
    from saywhy.objectives.roles import role_f1, tagged_sentences, train_roles

    config, folder = cell.config, store.part(cell.name) / "model"
    data = _dataset(config["data"])
    tagger = train_roles(data, out=folder, seed=config["seed"], progress=False, **config["options"])
    split = data.evaluation_split
    return {"f1": {"split": split, **role_f1(tagger, tagged_sentences(list(data[split])))}}


_WORK = {"train": _train, "tag": _tag, "evaluate": _evaluate}


def _model(where: Mapping[str, str], store: Store) -> Any:
    """Where a model lies: in the cell that trained it, or in a folder of the user's."""
    return store.folder(where["cell"]) / "model" if "cell" in where else where["path"]


def _dataset(config: Mapping[str, Any]) -> Any:
    """A cell's data; the cells of a study mostly share theirs, so what one has read is there for the next."""
    data = _load_dataset(json.dumps({key: value for key, value in config.items() if key != "split"}))
    split = config.get("split")
    if config["limit"] is not None and split in data.splits:
        data[split]  # to draw a few examples the whole file is read: once, not for every cell
    return data


def forget_data() -> None:
    """Let go of the data that cells have read in this process; files may be others the next time."""
    _load_dataset.cache_clear()


@lru_cache(maxsize=2)
def _load_dataset(config: str) -> Any:
    from saywhy.data import load_dataset

    given = json.loads(config)
    return load_dataset(given["name"], limit=given["limit"], seed=given["seed"], **given["options"])


def _read_log(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def _plain(options: Mapping[str, Any]) -> dict[str, Any]:
    return {key: list(value) if isinstance(value, tuple) else value for key, value in options.items()}


def _example(example: Any) -> dict[str, Any]:
    gold = [[span._asdict() for span in marked] for marked in example.rationales]
    return {
        "texts": list(example.texts),
        "choices": list(example.choices),
        "label": example.label,
        "id": example.id,
        "rationales": gold,
        "answers": [span._asdict() for span in example.answers],
        "truth": example.truth,
    }


def _machine() -> dict[str, Any]:
    import platform

    return {"python": platform.python_version(), "system": platform.system(), "processors": os.cpu_count()}


@contextlib.contextmanager
def torch_threads(number: int) -> Iterator[None]:
    """So many threads of torch inside; as many as before outside."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(number)
    try:
        yield
    finally:
        torch.set_num_threads(before)
