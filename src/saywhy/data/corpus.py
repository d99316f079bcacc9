"""What a named corpus is: its splits, where its rows come from, and how a row becomes an example.

Three ways in lead to one place. Normalised files, the rows of a hub dataset and official files are all brought to rows
with the normalised field names; `FileCorpus.example` reads those.
"""

from __future__ import annotations

import hashlib
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, TypeAlias

from saywhy.data.files import MAX_LINE_BYTES, read_rows
from saywhy.data.home import data_root
from saywhy.data.rows import Row
from saywhy.errors import DataError, OptionError
from saywhy.registry import Registry
from saywhy.types import Example

__all__ = [
    "HASHED_SPLITS",
    "Corpus",
    "CorpusFactory",
    "FileCorpus",
    "datasets",
    "find_split_files",
    "hash_split",
    "register",
    "text_key",
]

Rows: TypeAlias = "Iterable[Mapping[str, Any]]"
PathLike: TypeAlias = "str | os.PathLike[str]"

HASHED_SPLITS = {"train": 0.8, "dev": 0.1, "test": 0.1}
_SPLIT_WORDS = {
    "train": ("train", "training"),
    "dev": ("dev", "val", "valid", "validation", "trial", "heldout"),
    "test": ("test", "testing", "evaluation"),
}


def text_key(example: Example) -> str:
    """What makes two examples the same text, whatever their case, spacing and tokenisation."""
    return "\x1f".join(re.sub(r"[\W_]+", "", text.casefold()) or text for text in example.fields)


def hash_split(example: Example, seed: int, shares: Mapping[str, float]) -> str:
    """A split drawn by the example's text, so that equal texts always share one and streams need no counting."""
    digest = hashlib.blake2b(f"{seed}\x1f{text_key(example)}".encode(), digest_size=8).digest()
    point = int.from_bytes(digest, "big") / 2**64 * sum(shares.values())
    for name, share in shares.items():
        if point < share:
            return name
        point -= share
    return name


class Corpus(ABC):
    """A source of examples in named splits; made by `load_dataset`, which hands its options to the constructor.

    Attributes:
        name: as registered, or the file's.
        task: ``text``, ``pair``, ``choices`` or ``span-qa``.
        labels: class names in order; empty for choices and span QA; None if only the rows know.
        missing: what the corpus lacks compared with its official release.
        id_space: corpora with the same one use the same ids for the same examples.
    """

    name: str
    task: str = "text"
    labels: tuple[str, ...] | None = ()
    missing: str = ""
    id_space: str = ""

    @abstractmethod
    def splits(self) -> tuple[str, ...]:
        """Names of the splits."""

    @abstractmethod
    def read(self, split: str) -> Iterator[Example]:
        """The examples of one split, in order, each time anew."""


CorpusFactory: TypeAlias = Callable[..., Corpus]
datasets: Registry[CorpusFactory] = Registry("dataset", "saywhy.data")


class FileCorpus(Corpus):
    """A corpus in files: normalised ones under the data root, a hub dataset's rows, or official files by path.

    Args:
        name: as registered.
        seed: of the split, for a corpus that has none of its own.
        root: folder of the normalised files; see `data_root`.
        path: official file, folder, or files by split; instead of the normalised files.
        rows: rows with the hub's columns, or such by split (a ``datasets.DatasetDict`` is one); instead of files.
        hub: True fetches the rows with the ``datasets`` library from the hub.
        max_line_bytes: longest line that is read.
    """

    labels: tuple[str, ...] = ()
    files: ClassVar[Mapping[str, str]] = {}
    """Normalised file by split, without ``.jsonl.gz``, ``{part}`` for `part`; a lone ``all``: the splits are drawn."""
    hub_id: ClassVar[tuple[str, ...]] = ()
    """Arguments for ``datasets.load_dataset``."""
    hub_splits: ClassVar[Mapping[str, str]] = {}
    """Our name for a split of the hub's, where it is not ``train``, ``test`` or ``validation`` (which is ``dev``)."""
    hub_columns: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    """Names the hub's datasets use for a normalised field, tried in order."""
    hub_labels: ClassVar[tuple[str, ...]] = ()
    """Class names in the order of the hub's integers, where that differs from ``labels``."""
    shares: ClassVar[Mapping[str, float]] = HASHED_SPLITS

    def __init__(
        self,
        name: str,
        *,
        seed: int = 0,
        root: PathLike | None = None,
        path: PathLike | Mapping[str, PathLike] | None = None,
        rows: Rows | Mapping[str, Rows] | None = None,
        hub: bool = False,
        max_line_bytes: int = MAX_LINE_BYTES,
    ) -> None:
        if sum((path is not None, rows is not None, hub)) > 1:
            raise OptionError("path=, rows= and hub= are three ways to the same examples; give one of them")
        self.name = name
        self.seed = seed
        self.root = data_root(root)
        self.max_line_bytes = max_line_bytes
        self.paths = None if path is None else self.official_files(path)
        self.hub_rows = self._fetch() if hub else self._by_split(rows)

    @property
    def part(self) -> str:
        """What tells this corpus from the others of its family: ``books`` of ``amazon-books``."""
        return self.name.partition("-")[2]

    @abstractmethod
    def example(self, row: Row) -> Example | None:
        """The example in a normalised row; None if the row is not part of the task, such as one without gold label."""

    def official_rows(self, path: Path) -> Iterator[Row]:
        """Rows of an official file, brought to the normalised field names."""
        raise OptionError(f"{self.name} has no reader for official files; read {path} as a table: load_dataset(path)")

    def official_files(self, path: PathLike | Mapping[str, PathLike]) -> dict[str, Path]:
        """Official files by split, found by the split's name in a file's."""
        if isinstance(path, Mapping):
            return {split: Path(file).expanduser() for split, file in path.items()}
        return find_split_files(Path(path).expanduser())

    def hub_row(self, row: Row) -> Row | None:
        """A hub dataset's row, brought to the normalised field names."""
        values = dict(row.values)
        for field, candidates in self.hub_columns.items():
            column = next((c for c in candidates if c in values), None)
            if column is not None:
                values[field] = values[column]
        if values.get("label") == -1:  # the hub's mark for "no gold label"
            return None
        if self.hub_labels and isinstance(values.get("label"), int):
            values["label"] = row.with_values(values).label("label", self.hub_labels)
        return row.with_values(values)

    def splits(self) -> tuple[str, ...]:
        """Names of the splits."""
        given = tuple(self.hub_rows or self.paths or self.files)
        return (*self.shares, "all") if given == ("all",) else given

    def read(self, split: str) -> Iterator[Example]:
        """The examples of one split, in order, each time anew."""
        given = tuple(self.hub_rows or self.paths or self.files)
        drawn = given == ("all",) and split != "all"
        for row in self.rows("all" if drawn else split):
            example = self.example(row)
            if example is not None and (not drawn or hash_split(example, self.seed, self.shares) == split):
                yield example

    def rows(self, split: str) -> Iterator[Row]:
        """Normalised rows of a split that is really there."""
        if self.hub_rows is not None:
            for number, values in enumerate(self.hub_rows[split], start=1):
                place = f"{self.name}/{split}"
                row = self.hub_row(Row(values, place, number, place))
                if row is not None:
                    yield row
        elif self.paths is not None:
            yield from self.official_rows(self.paths[split])
        else:
            yield from self.normalised(self.files[split].format(part=self.part))

    def normalised(self, name: str) -> Iterator[Row]:
        """Rows of a normalised file under the root."""
        file = self.root / f"{name}.jsonl.gz"
        plain = self.root / f"{name}.jsonl"
        if not file.exists() and plain.exists():
            file = plain
        if not file.exists():
            raise DataError(
                f"{self.name} was looked for here and is not there; set SAYWHY_DATA to the folder with the corpora, "
                "or give path= (official files), rows= or hub=True (the hub's)",
                file=str(file),
            )
        source = file.relative_to(self.root).as_posix()
        yield from read_rows(file, format="jsonl", max_line_bytes=self.max_line_bytes, source=source)

    def _fetch(self) -> Mapping[str, Rows]:
        if not self.hub_id:
            raise OptionError(f"{self.name} is not known to be on the hub; give rows= or path=")
        try:
            import datasets as hub_library
        except ImportError:
            raise OptionError("hub=True needs the datasets library: pip install 'saywhy[hub]'") from None
        try:
            fetched = self._by_split(hub_library.load_dataset(*self.hub_id))
        except (OSError, RuntimeError, ValueError) as error:
            # What the library raises for no network, no such dataset, or one that needs a script it no longer runs.
            raise DataError(
                f"the hub did not give it: {error}; fetch it and give rows= or path=", file="/".join(self.hub_id)
            ) from error
        if fetched is None:
            raise DataError("the hub gave no rows", file="/".join(self.hub_id))
        return fetched

    def _by_split(self, rows: Rows | Mapping[str, Rows] | None) -> Mapping[str, Rows] | None:
        if rows is None:
            return None
        if isinstance(rows, Mapping):
            names = {"validation": "dev", "val": "dev", "valid": "dev", "trial": "dev", **self.hub_splits}
            return {names.get(split, split): part for split, part in rows.items()}
        # Every reading of a split starts anew, which a spent iterator cannot.
        return {"all": list(rows) if isinstance(rows, Iterator) else rows}


def _split_of(name: str) -> str | None:
    words = re.split(r"[^a-z]+", name.lower())
    found = [split for split, spellings in _SPLIT_WORDS.items() if any(w in spellings for w in words)]
    return found[0] if len(found) == 1 else None


def find_split_files(place: Path) -> dict[str, Path]:
    """Files by split: a folder's by the split's name in theirs; a lone file as its split, or as ``all``."""
    if not place.is_dir():
        return {_split_of(place.name) or "all": place}
    found: dict[str, Path] = {}
    for file in sorted(p for p in place.iterdir() if p.is_file() and not p.name.startswith(".")):
        split = _split_of(file.name)
        if split and split in found:
            raise DataError(
                f"holds {found[split].name} and {file.name}, both {split}; name the file that is meant",
                file=str(place),
            )
        if split:
            found[split] = file
    if not found:
        raise DataError("no file here has train, dev or test in its name", file=str(place))
    return {split: found[split] for split in _SPLIT_WORDS if split in found}


def register(
    factory: CorpusFactory,
    names: str | Sequence[str],
    *,
    tasks: tuple[str, ...],
    summary: str,
    family: str,
    paper: str = "",
    **facts: Any,
) -> None:
    """Register a corpus class under one or several names."""
    for name in [names] if isinstance(names, str) else names:
        datasets.register(name, summary=summary, family=family, tasks=tasks, paper=paper, facts=facts)(factory)
