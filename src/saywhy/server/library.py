"""What can be looked at: examples of datasets, and pages of reports."""

from __future__ import annotations

import html
import itertools
import re
import threading
from collections import OrderedDict
from collections.abc import Collection
from pathlib import Path
from typing import Any
from urllib.parse import quote

from saywhy.data import Dataset, datasets, load_dataset
from saywhy.errors import OptionError, SayWhyError
from saywhy.server.problems import Problem
from saywhy.server.settings import Settings
from saywhy.types import Example

__all__ = ["KINDS", "MADE", "Library"]

KINDS = {
    ".html": "text/html",
    ".csv": "text/csv",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".json": "application/json",
}
"""Files that reports may consist of."""
MADE = ("composed", "critic-pairs", "explanations-alone")
"""Made of other corpora, which takes seconds: offered where they are asked for by name."""
_ROWS = 1000
_SPLITS = 12
_TITLE = re.compile(rb"<title>(.*?)</title>", re.DOTALL | re.IGNORECASE)


class Library:
    """Datasets whose examples fit the models that are served, and reports in the folders that were named.

    Args:
        settings: names the data and the folders.
        tasks: of the models.
    """

    def __init__(self, settings: Settings, tasks: Collection[str]) -> None:
        self._tasks = frozenset(tasks)
        self._data: dict[str, Dataset] = {}
        self._looked = False
        self._lock = threading.Lock()
        self._rows: OrderedDict[tuple[str, str], tuple[list[Example], bool]] = OrderedDict()
        self._folders: dict[str, Path] = {}
        for given in settings.data:
            data = load_dataset(given)
            if data.task not in self._tasks:
                raise OptionError(f"--data {given} is for task {data.task!r}, and no model here does that")
            self._data[Path(data.name).name or given] = data
        for folder in settings.reports:
            name, number = folder.resolve().name or "reports", 1
            while (title := name if number == 1 else f"{name}-{number}") in self._folders:
                number += 1
            self._folders[title] = folder.resolve()

    def datasets(self) -> list[dict[str, Any]]:
        """All that can be read here and fit a model."""
        with self._lock:
            self._look()
            return [
                {"name": name, "task": data.task, "splits": _splits(data), "rows": self._known_rows(name, data)}
                for name, data in self._data.items()
            ]

    def rows(self, name: str, split: str | None, offset: int, limit: int) -> dict[str, Any]:
        """Some examples of a dataset; of a large one only the first can be seen, and ``total`` is then None."""
        with self._lock:
            return self._some(name, split, offset, limit)

    def _some(self, name: str, split: str | None, offset: int, limit: int) -> dict[str, Any]:
        if name not in self._data:
            self._look()
        if name not in self._data:
            raise Problem("not-found", f"no dataset {name!r} is offered here", "name")
        data = self._data[name]
        split = _splits(data)[0] if split is None else split
        if split not in data.splits:
            raise Problem("not-found", f"{name} has no split {split!r}; it has {', '.join(data.splits)}", "split")
        examples, complete = self._read(name, data, split)
        rows = [_row(example, offset + i) for i, example in enumerate(examples[offset : offset + limit])]
        return {"rows": rows, "split": split, "total": len(examples) if complete else None, "seen": len(examples)}

    def reports(self) -> list[dict[str, str]]:
        """Pages in the folders, newest first."""
        found = []
        for name, folder in self._folders.items():
            inside = [path for path in folder.rglob("*.html") if self._inside(folder, path) is not None]
            for path in sorted(inside, key=lambda p: -p.stat().st_mtime)[:500]:
                place, title = path.relative_to(folder).as_posix(), _title(path)
                url = "/reports/" + quote(f"{name}/{place}")
                found.append({"name": f"{name}/{place}", "title": title, "kind": _kind(place, title), "url": url})
        return found

    def report_file(self, name: str, place: str) -> Path:
        """The file of a report; nothing outside the folders, whatever the path or its links say."""
        folder = self._folders.get(name)
        path = None if folder is None or "\0" in place else self._inside(folder, folder / place)
        if path is None or path.suffix not in KINDS or not path.is_file():
            raise Problem("not-found", "there is no such report")
        return path

    def _inside(self, folder: Path, path: Path) -> Path | None:
        try:
            real = path.resolve(strict=True)
        except (OSError, RuntimeError):  # not there, too long a name, or links that go in a circle
            return None
        return real if real.is_relative_to(folder) else None

    def _look(self) -> None:
        if self._looked:
            return
        for name in (name for name in datasets.names() if name not in MADE):
            try:
                data = load_dataset(name)
                # Whether it can be read is known when a row was.
                if data.task in self._tasks and next(iter(data.stream(data.evaluation_split)), None) is not None:
                    self._data.setdefault(name, data)
            except (SayWhyError, OSError):
                continue
        self._looked = True

    def _known_rows(self, name: str, data: Dataset) -> int | None:
        kept = self._rows.get((name, _splits(data)[0]))
        return len(kept[0]) if kept is not None and kept[1] else None

    def _read(self, name: str, data: Dataset, split: str) -> tuple[list[Example], bool]:
        key = (name, split)
        if key not in self._rows:
            some = list(itertools.islice(data.stream(split), _ROWS + 1))
            self._rows[key] = (some[:_ROWS], len(some) <= _ROWS)
            if len(self._rows) > _SPLITS:
                self._rows.popitem(last=False)
        self._rows.move_to_end(key)
        return self._rows[key]


def _splits(data: Dataset) -> list[str]:
    """The splits, the one to look at first; of a file of one's own that is the whole of it."""
    first = "all" if data.name not in datasets and "all" in data.splits else data.evaluation_split
    return [first, *(split for split in data.splits if split != first)]


def _row(example: Example, number: int) -> dict[str, Any]:
    spans = dict.fromkeys(tuple(span) for marked in example.rationales for span in marked)
    return {
        "id": example.id or str(number),
        "input": {"texts": list(example.texts), "choices": list(example.choices)},
        "label": example.label,
        "rationale_spans": [list(span) for span in spans],
    }


def _title(path: Path) -> str:
    try:
        with path.open("rb") as file:
            found = _TITLE.search(file.read(20_000))
    except OSError:
        found = None
    text = found[1].decode("utf-8", "replace").strip() if found is not None else ""
    return html.unescape(text) or path.stem


def _kind(place: str, title: str) -> str:
    words = f"{place} {title}".lower()
    return next((kind for kind in ("overview", "diff", "study") if kind in words), "other")
