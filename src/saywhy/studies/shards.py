"""Shards: rows of the data that are explained together, each a file that is there whole or not at all."""

from __future__ import annotations

import json
import os
import shutil
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from saywhy.errors import DataError, InputError, OptionError, SayWhyWarning
from saywhy.studies.cells import write_json
from saywhy.studies.explanations import WRITING, explanation_row, explanations_schema, failure_row
from saywhy.studies.work import torch_threads
from saywhy.types import Example, Explanation

if TYPE_CHECKING:
    import pyarrow

    from saywhy.models import TextModel

__all__ = ["Place", "Shard", "do_shard", "loaded_model"]

_SETTINGS, _DIGEST = b"saywhy.settings", b"saywhy.digest"


@dataclass(frozen=True)
class Shard:
    """Rows ``start`` and following of the data, with what is to be done with them."""

    number: int
    start: int
    examples: tuple[Example, ...]
    settings: Mapping[str, Any]

    @property
    def name(self) -> str:
        """Name of its file."""
        return f"shard-{self.number:05d}.parquet"

    @cached_property
    def digest(self) -> str:
        """Hash of its inputs, by which a later run knows that the data is the same."""
        return _hash(json.dumps([[e.texts, e.choices, e.id, str(e.meta)] for e in self.examples]))

    def to_dict(self) -> dict[str, Any]:
        """What a worker is told."""
        told = {"name": self.name, "digest": self.digest, "start": self.start}
        return {**told, "examples": self.examples, "settings": dict(self.settings)}


def _hash(text: str) -> str:
    import xxhash

    return str(xxhash.xxh3_64_hexdigest(text.encode()))


@lru_cache(maxsize=1)
def loaded_model(model: str, labels: tuple[str, ...] | None, task: str | None) -> TextModel:
    """The model of this process, loaded once for all of its shards."""
    from saywhy.models import load

    return load(model, labels=labels, task=task)


def do_shard(given: Mapping[str, Any], root: str) -> str:
    """Explain a shard and write its file, unless it is there; returns its name.

    Two workers may do the same shard, when one was thought dead: both write the same, and a rename is one step.
    """
    path = Path(root) / given["name"]
    if path.exists():
        return str(given["name"])
    settings = given["settings"]
    labels = settings["labels"]
    model = loaded_model(settings["model"], None if labels is None else tuple(labels), settings["task"])
    if model.fingerprint != settings["fingerprint"]:
        loaded_model.cache_clear()
        raise InputError(f"the model {settings['model']} is not the one the run began with; begin anew with force")
    with torch_threads(settings["threads"]), warnings.catch_warnings():
        # What there is to say about a row stands in its notes.
        warnings.simplefilter("ignore", SayWhyWarning)
        rows = _explain(model, given["start"], given["examples"], settings)
    _write(path, rows, {_DIGEST: given["digest"].encode()})
    return str(given["name"])


def _explain(model: TextModel, start: int, examples: Sequence[Example], settings: Mapping[str, Any]) -> list[Any]:
    faults: dict[int, str] = {}
    for i, example in enumerate(examples):
        fault = _fault(model, example, settings["truncation"])
        if fault is not None:
            if settings["on_error"] == "stop":
                where = f" ({example.where()})" if example.source and example.where() not in fault else ""
                raise InputError(f"row {start + i}{where}: {fault}; on_error='skip' goes on without such rows")
            faults[i] = fault
    good = [i for i in range(len(examples)) if i not in faults]
    made: dict[tuple[int, str], Explanation | str] = {}
    for method in settings["methods"]:
        answers = _answers(model, [examples[i] for i in good], method, settings) if good else []
        made |= {(i, method): answer for i, answer in zip(good, answers, strict=True)}
    rows = []
    for i, example in enumerate(examples):
        for method in settings["methods"]:
            answer = made.get((i, method)) or faults[i]
            if isinstance(answer, str):
                rows.append(failure_row(start + i, example, method, answer))
            else:
                rows.append(explanation_row(start + i, example, answer))
    return rows


def _fault(model: TextModel, example: Example, truncation: str) -> str | None:
    """What keeps an example from being explained, found without the network, which is the dear part."""
    if "fault" in example.meta:
        return str(example.meta["fault"])
    try:
        if not model.words(example):
            return "the text has no words to explain"
        model.encode([example], truncation)
    except InputError as error:
        return str(error)
    return None


def _answers(
    model: TextModel, examples: Sequence[Example], method: str, settings: Mapping[str, Any]
) -> list[Explanation | str]:
    from saywhy.explainers import explain

    told = {k: settings[k] for k in ("target", "against", "seed", "batch_size", "truncation", "verdict")}
    try:
        return list(explain(model, list(examples), method, **told, **settings["options"]))
    except InputError as error:
        if settings["on_error"] == "stop":
            raise
        if len(examples) == 1:
            return [str(error)]
    # One of them is at fault: ask one by one.
    return [answer for example in examples for answer in _answers(model, [example], method, settings)]


def _write(path: Path, rows: list[Any], metadata: Mapping[bytes, bytes]) -> None:
    import pyarrow
    import pyarrow.parquet

    table = pyarrow.Table.from_pylist(rows, schema=explanations_schema().with_metadata(metadata))
    new = path.with_name(f".{path.name}.{os.getpid()}.new")
    pyarrow.parquet.write_table(table, new, **WRITING)
    _to_disk(new)
    os.replace(new, path)


def _to_disk(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())


class Place:
    """Where a run writes: the file of all explanations, and beside it the folder of its shards.

    Args:
        out: the file.
        settings: all that decides what will be in it.
    """

    def __init__(self, out: Path, settings: Mapping[str, Any]) -> None:
        self.out, self.settings = out, settings
        self.parts = out.with_name(f"{out.name}.parts")
        self.manifest = self.parts / "manifest.json"
        self.finished = False
        """Whether there is nothing left to do; known after `begin`."""

    def begin(self, force: bool) -> None:
        """Make room for shards; refuse to mix those of two runs.

        Raises:
            OptionError: what is there comes from other settings.
        """
        self.finished = self.out.exists() and not force
        if force:
            self._clear()  # the file itself stays until there is a new one
        elif self.finished:
            found = self._metadata(self.out).get(_SETTINGS)
            if found is None:
                raise OptionError(f"{self.out} exists and is not a file of explanations; choose another name")
            self._compare(json.loads(found), f"{self.out} was made with other settings")
            self._clear()  # a run that ended between the last two steps left them
        elif self.manifest.exists() and any(self.parts.glob("shard-*.parquet")):
            found = json.loads(self.manifest.read_text(encoding="utf-8"))
            self._compare(found, f"{self.parts} holds shards of a run with other settings")
        if not self.finished:
            write_json(self.manifest, self.settings)

    def _compare(self, found: Mapping[str, Any], what: str) -> None:
        names = [k for k in {**found, **self.settings} if found.get(k) != self.settings.get(k)]
        if "on_error" in names and found["on_error"] == "stop":
            names.remove("on_error")  # in what is done no row failed: it is the same either way
        if names:
            said = "; ".join(f"{n} was {found.get(n)!r}, is {self.settings.get(n)!r}" for n in names[:3])
            raise OptionError(f"{what} ({said}); give the same, choose another name, or force a new beginning")

    def has(self, shard: Shard) -> bool:
        """Whether a shard is done.

        Raises:
            DataError: it is, with other rows than these.
        """
        path = self.parts / shard.name
        if not path.exists():
            return False
        if self._metadata(path).get(_DIGEST) != shard.digest.encode():
            rows = f"rows {shard.start} to {shard.start + len(shard.examples) - 1}"
            raise DataError(f"{rows} are not those that were explained before; the data changed: force a new beginning")
        return True

    def check(self, shards: Iterable[Shard]) -> tuple[int, int, int]:
        """Rows, explanations and failures of the finished file, if it was made of this data.

        Raises:
            DataError: it was not.
        """
        import pyarrow.parquet

        rows, digests = 0, []
        for shard in shards:
            rows += len(shard.examples)
            digests.append(shard.digest)
        if self._metadata(self.out).get(_DIGEST) != _hash(" ".join(digests)).encode():
            raise DataError(f"{self.out} was made of other rows; the data changed: force a new beginning")
        with pyarrow.parquet.ParquetFile(self.out) as file:
            failed = sum(_failures(batch) for batch in file.iter_batches(columns=["error_message"]))
            return rows, file.metadata.num_rows - failed, failed

    def merge(self, sizes: Sequence[int], digests: Sequence[str]) -> tuple[int, int]:
        """Put the shards together, one at a time, and remove them; returns explanations and failures.

        Args:
            sizes: how many rows of the data each has.
            digests: theirs.
        """
        import pyarrow.parquet

        metadata = {_SETTINGS: json.dumps(self.settings).encode(), _DIGEST: _hash(" ".join(digests)).encode()}
        new = self.parts / "merged.new"
        made = failed = start = 0
        with pyarrow.parquet.ParquetWriter(new, explanations_schema().with_metadata(metadata), **WRITING) as writer:
            for number, size in enumerate(sizes):
                table = self._shard(Shard(number, start, (), {}).name, start, size)
                writer.write_table(table.replace_schema_metadata(metadata))
                made, failed, start = made + len(table), failed + _failures(table), start + size
        _to_disk(new)
        os.replace(new, self.out)
        self._clear()
        return made - failed, failed

    def _shard(self, name: str, start: int, size: int) -> pyarrow.Table:
        import pyarrow.parquet

        # From the open file: a path would be read as a dataset, with threads and buffers of its own.
        with pyarrow.parquet.ParquetFile(self.parts / name) as file:
            table = file.read(use_threads=False)
        wanted = [row for row in range(start, start + size) for _ in self.settings["methods"]]
        if table.column("row").to_pylist() != wanted:
            raise DataError("does not hold the rows it should; force a new beginning", file=str(self.parts / name))
        return table

    def _metadata(self, path: Path) -> dict[bytes, bytes]:
        import pyarrow
        import pyarrow.parquet

        try:
            return dict(pyarrow.parquet.read_schema(path).metadata or {})
        except pyarrow.ArrowException:
            return {}

    def _clear(self) -> None:
        # The manifest goes first: what a removal leaves behind when it is interrupted must not look like a run.
        self.manifest.unlink(missing_ok=True)
        if self.parts.exists():
            shutil.rmtree(self.parts)


def _failures(table: Any) -> int:
    column = table.column("error_message")
    return len(column) - int(column.null_count)
