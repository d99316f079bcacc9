"""`explain_many`: a file of any size in, a file of explanations out; streamed, in shards, on one machine or on Ray.

The rows are cut into shards. A shard is explained by one worker and written whole or not at all, so a run that is
stopped goes on with the shards that are missing; when all are there they are put together and removed. Neither the data
nor the explanations are ever held whole: at most one shard a worker.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from saywhy import __version__
from saywhy.errors import DataError, OptionError, SayWhyError
from saywhy.studies.engines import Engine, open_engine
from saywhy.studies.shards import Place, Shard, do_shard, loaded_model
from saywhy.types import Example

if TYPE_CHECKING:
    from saywhy.data import Dataset

__all__ = ["ON_ERROR", "BulkResult", "estimate_many", "explain_many"]

_TIMED = 24  # rows that an estimate explains
ON_ERROR = ("stop", "skip")

Progress = Callable[[int, int], None]
"""Told how many rows are done, and how many of them were done before this run."""


@dataclass(frozen=True)
class BulkResult:
    """What became of a run.

    Attributes:
        path: the file of explanations.
        rows: of the data.
        explanations: in the file: rows times methods, less ``failed``.
        failed: how many have an error message instead.
        reused: rows that an earlier run had done.
        seconds: of this run.
    """

    path: Path
    rows: int
    explanations: int
    failed: int
    reused: int
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {**asdict(self), "path": str(self.path)}


def explain_many(
    model: str | os.PathLike[str],
    data: str | os.PathLike[str],
    out: str | os.PathLike[str],
    methods: Sequence[str] = ("auto",),
    *,
    split: str | None = None,
    limit: int | None = None,
    data_options: Mapping[str, Any] | None = None,
    engine: str = "local",
    workers: int = 1,
    threads: int = 1,
    address: str | None = None,
    shard_size: int = 256,
    on_error: str = "stop",
    force: bool = False,
    labels: Sequence[str] | None = None,
    task: str | None = None,
    target: str | None = None,
    against: str | None = None,
    seed: int = 0,
    batch_size: int = 32,
    truncation: str = "error",
    verdict: bool | Mapping[str, Any] = False,
    progress: Progress | None = None,
    **options: Any,
) -> BulkResult:
    """Explain every row of a dataset and write the explanations to one Parquet file.

    Args:
        model: a folder, a hub name, or ``file.py:function``; every worker loads it once.
        data: a file, a folder or a dataset's name, as for `load_dataset`.
        out: the Parquet file. While the run lasts its shards are in ``OUT.parts``; from there a stopped run goes on,
            also with other workers or on another engine.
        methods: names of methods; each explains every row.
        split: which rows; all of a lone file, else the ``test`` split.
        limit: at most so many rows, drawn by the seed.
        data_options: of `load_dataset`, such as ``{"columns": {"text": "review"}}``.
        engine: ``local`` or ``ray``.
        workers: how many shards at a time, each in a process of its own (on ``local``, one is done in this process).
        threads: of each worker. Part of the settings, as it decides the last bits.
        address: of a Ray cluster that is running; its machines must see the folder of ``out``.
        shard_size: rows of a shard: what a worker holds, and the most that is lost when it is killed.
        on_error: a row that cannot be explained (no words, too long): ``stop`` the run and name it, or ``skip`` it,
            with an error message in its place.
        force: begin anew, whatever is there.
        labels: as for `load`.
        task: as for `load`.
        target: label to explain; the predicted one if None.
        against: explain why the target rather than this label.
        seed: of everything random.
        batch_size: the most rows the model sees at a time.
        truncation: ``error``, ``head`` or ``window``.
        verdict: whether each explanation is checked against random words.
        progress: told after every shard.
        options: of the methods.

    Raises:
        OptionError: ``out`` or its parts come from a run with other settings.
        InputError: a row that cannot be explained.
        DataError: data that cannot be read, or that changed since the run was stopped.

    Example:
        >>> explain_many("runs/sst2", "big.parquet", "why.parquet", ["lime"], workers=4)     # doctest: +SKIP
    """
    from filelock import FileLock, Timeout

    started = time.perf_counter()
    if on_error not in ON_ERROR:
        raise OptionError(f"unknown on_error {on_error!r}; use one of {', '.join(ON_ERROR)}")
    if shard_size < 1 or batch_size < 1:
        raise OptionError(f"shard_size and batch_size must be at least 1, not {min(shard_size, batch_size)}")
    dataset, named = _open_data(data, seed, limit, on_error, data_options)
    settings = {
        "model": _absolute(model),
        "labels": None if labels is None else list(labels),
        "task": task,
        "data": named,
        "data_options": dict(data_options or {}),
        "split": split or _split(dataset, named),
        "limit": limit,
        "methods": list(dict.fromkeys(methods)),
        "options": options,
        "target": target,
        "against": against,
        "seed": seed,
        "batch_size": batch_size,
        "truncation": truncation,
        "verdict": dict(verdict) if isinstance(verdict, Mapping) else verdict,
        "on_error": on_error,
        "shard_size": shard_size,
        "threads": threads,
        "version": __version__,
    }
    settings = json.loads(json.dumps(settings, default=str))
    settings["fingerprint"] = _check(settings)
    if engine != "local" or workers > 1:
        loaded_model.cache_clear()  # this process only hands out the work
    place = Place(Path(out).absolute(), settings)
    lock = FileLock(f"{place.out}.lock", timeout=0)
    try:
        place.out.parent.mkdir(parents=True, exist_ok=True)
        with lock:
            place.begin(force)
            shards = _shards(dataset.stream(settings["split"]), settings)
            if place.finished:
                rows, made, failed = place.check(shards)
                reused = rows
            else:
                with open_engine(
                    engine, str(place.parts), workers=workers, threads=threads, address=address, work=do_shard
                ) as opened:
                    sizes, digests, reused = _run(opened, shards, place, progress or _silent)
                rows = sum(sizes)
                made, failed = place.merge(sizes, digests)
            Path(lock.lock_file).unlink(missing_ok=True)
    except Timeout:
        raise OptionError(f"another run is writing {out}; wait for it, or choose another name") from None
    except ConnectionError as error:
        raise OptionError(f"the engine cannot be reached: {error}") from error
    except OSError as error:
        raise OptionError(f"cannot write {out}: {error.strerror or error}") from error
    finally:
        loaded_model.cache_clear()
    return BulkResult(place.out, rows, made, failed, reused, time.perf_counter() - started)


def estimate_many(
    model: str | os.PathLike[str],
    data: str | os.PathLike[str],
    methods: Sequence[str] = ("auto",),
    *,
    split: str | None = None,
    limit: int | None = None,
    workers: int = 1,
    seed: int = 0,
    data_options: Mapping[str, Any] | None = None,
    **options: Any,
) -> dict[str, float]:
    """How long `explain_many` would take, from a few rows drawn evenly; reads all rows once to count them.

    Returns:
        ``rows``, ``seconds_a_row`` of one worker, and ``seconds`` of all workers if each has a processor to itself.
    """
    dataset, named = _open_data(data, seed, None, "stop", data_options)
    rows = sum(1 for _ in dataset.stream(split or _split(dataset, named)))
    told = [(0, time.perf_counter())]
    with tempfile.TemporaryDirectory() as folder:
        explain_many(
            model,
            data,
            Path(folder) / "some.parquet",
            methods,
            split=split,
            limit=min(_TIMED, limit or _TIMED),
            seed=seed,
            data_options=data_options,
            **{**options, "shard_size": _TIMED // 3},
            progress=lambda done, _: told.append((done, time.perf_counter())),
        )
    # The first rows also pay for loading the model, unless there are no others.
    first, last = told[1 if len(told) > 2 else 0], told[-1]
    each = (last[1] - first[1]) / (last[0] - first[0])
    rows = min(rows, limit or rows)
    return {"rows": rows, "seconds_a_row": each, "seconds": each * rows / workers}


def _silent(rows: int, reused: int) -> None:
    return None


def _absolute(model: str | os.PathLike[str]) -> str:
    """A model's place for workers that may stand in another folder; a hub name stays as it is."""
    if not isinstance(model, str | os.PathLike):
        raise OptionError("every worker loads the model itself: give a folder, a hub name or file.py:function")
    text = os.fspath(model)
    file, colon, name = text.rpartition(":")
    if not Path(text).exists() and colon and Path(file).is_file():
        return f"{Path(file).absolute()}:{name}"
    return str(Path(text).absolute()) if Path(text).exists() else text


def _open_data(
    data: str | os.PathLike[str], seed: int, limit: int | None, on_error: str, options: Mapping[str, Any] | None
) -> tuple[Dataset, str]:
    """The dataset, and what it is called in the settings: a file by its full path."""
    from saywhy.data import datasets, load_dataset

    given, more = os.fspath(data), dict(options or {})
    if given in datasets:
        return load_dataset(given, seed=seed, limit=limit, **more), given
    if on_error == "skip":
        more["keep_faulty"] = True
    return load_dataset(given, seed=seed, limit=limit, **more), str(Path(given).expanduser().absolute())


def _split(dataset: Dataset, named: str) -> str:
    """All rows of a lone file, which saywhy would else split by itself; the test split of anything else."""
    return "all" if os.sep in named and "all" in dataset.splits else dataset.evaluation_split


def _check(settings: Mapping[str, Any]) -> str:
    """Raise every mistake that can be seen before the first row; returns the model's fingerprint."""
    from saywhy.explainers.run import check_capabilities, make_explainer

    loaded_model.cache_clear()  # a folder of that name may hold another model since
    labels = settings["labels"]
    model = loaded_model(settings["model"], None if labels is None else tuple(labels), settings["task"])
    for method in settings["methods"]:
        check_capabilities(model, make_explainer(method, dict(settings["options"])))
    if model.labels:
        for label in (settings["target"], settings["against"]):
            if label is not None:
                model.label_index(label)
    return model.fingerprint


def _shards(examples: Iterator[Example], settings: Mapping[str, Any]) -> Iterator[Shard]:
    number, size = 0, settings["shard_size"]
    while some := tuple(islice(examples, size)):
        yield Shard(number, number * size, some, settings)
        number += 1


def _run(engine: Engine, shards: Iterator[Shard], place: Place, tell: Progress) -> tuple[list[int], list[str], int]:
    """Do the shards that are missing; returns the shards' sizes and digests, and how many rows were done before."""
    sizes: list[int] = []
    digests: list[str] = []
    done = reused = running = 0
    failed: BaseException | None = None
    while True:
        # No more shards are read than there are workers, so that memory does not grow with the data.
        while failed is None and running < engine.workers and (shard := next(shards, None)) is not None:
            sizes.append(len(shard.examples))
            digests.append(shard.digest)
            if place.has(shard):
                reused += len(shard.examples)
            else:
                engine.submit(shard)
                running += 1
        if not running:
            break
        for shard, error in engine.wait():
            running -= 1
            if error is None:
                done += len(shard.examples)
                tell(done + reused, reused)
            else:
                failed = failed or error
    if isinstance(failed, SayWhyError):
        raise failed
    if failed is not None:
        raise RuntimeError(f"a worker failed, what is done is kept: {type(failed).__name__}: {failed}") from failed
    if not sizes:
        raise DataError("there are no rows to explain", file=place.settings["data"])
    return sizes, digests, reused
