"""What people answered: means with intervals per method, who is preferred to whom, and how far raters agree."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saywhy.data.files import read_rows
from saywhy.errors import DataError, OptionError
from saywhy.ops.agreement import krippendorff_alpha
from saywhy.ops.bootstrap import bootstrap_interval
from saywhy.studies.rating import Scale

__all__ = ["Preference", "Rated", "Ratings", "read_ratings"]


@dataclass(frozen=True)
class Rated:
    """Mean rating of a method, with its interval by the bootstrap over inputs; ``counts`` by answer."""

    method: str
    mean: float
    low: float
    high: float
    ratings: int
    inputs: int
    counts: Mapping[str, int]


@dataclass(frozen=True)
class Preference:
    """How often raters who rated both found ``first`` better than ``second``.

    ``share`` counts a tie as half; its interval is by the bootstrap over inputs, and 0.5 means no preference.
    """

    first: str
    second: str
    wins: int
    ties: int
    losses: int
    share: float
    low: float
    high: float


@dataclass(frozen=True)
class Ratings:
    """All that a sheet's answers say.

    ``alpha`` is Krippendorff's, ordinal for numbers and nominal for yes and no; None where nobody rated the same.
    ``answered`` of ``asked`` ratings were given.
    """

    sheet: str
    question: str
    scale: str
    raters: tuple[str, ...]
    answered: int
    asked: int
    alpha: float | None
    level: str
    methods: tuple[Rated, ...]
    preferences: tuple[Preference, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {"kind": "ratings", "schema": 1, **json.loads(json.dumps(asdict(self)))}

    def __rich__(self) -> Any:
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        table = Table("method", "mean", "95 % interval", "ratings", "inputs", "answers", title=Text(self.question))
        for rated in self.methods:
            answers = ", ".join(f"{n} x {answer}" for answer, n in rated.counts.items() if n)
            interval = f"[{rated.low:.2f}, {rated.high:.2f}]"
            cells = (rated.method, f"{rated.mean:.2f}", interval, str(rated.ratings), str(rated.inputs), answers)
            table.add_row(*map(Text, cells))
        agreement = "not defined" if self.alpha is None else f"{self.alpha:.3f}"
        lines = [
            f"{p.first} rather than {p.second}: {p.share:.2f} [{p.low:.2f}, {p.high:.2f}] "
            f"({p.wins} better, {p.ties} equal, {p.losses} worse)"
            for p in self.preferences
        ]
        lines.append(f"Krippendorff's alpha ({self.level}): {agreement}")
        raters = f"{len(self.raters)} rater{'s' if len(self.raters) > 1 else ''}"
        lines.append(f"{raters}, {self.answered} of {self.asked} ratings answered")
        return Group(table, *map(Text, lines))


@dataclass(frozen=True)
class _Answer:
    rater: str
    item: str
    value: int


def read_ratings(
    sheets: Sequence[str | os.PathLike[str]], key: str | os.PathLike[str] | None = None, *, seed: int = 0
) -> Ratings:
    """Read filled-in sheets, all of the same key.

    Args:
        sheets: CSV files: the answers that the page hands out, or filled-in tables, one or several raters each. A row
            without a rater's name is taken for one of a rater named as the file.
        key: the key; looked for beside the first sheet if None.
        seed: of the bootstrap.

    Raises:
        DataError: an answer out of the scale, an item that is not on the sheet, two answers of one rater to one item;
            with file and line.
    """
    if not sheets:
        raise OptionError("give at least one sheet to read")
    found = _find_key(Path(sheets[0])) if key is None else _read_key(Path(key))
    scale = Scale.parse(found["scale"])
    answers: dict[tuple[str, str], int] = {}
    places: dict[tuple[str, str], str] = {}
    raters: dict[str, None] = {}
    for sheet in sheets:
        for rater, item, value, place in _read_sheet(Path(sheet), found, scale):
            raters[rater] = None
            if (rater, item) in places:
                file, _, line = place.rpartition(":")
                before = places[rater, item]
                raise DataError(
                    f"{rater} has answered item {item} already, at {before}", file=file, line=int(line), field="rater"
                )
            places[rater, item] = place
            if value is not None:
                answers[rater, item] = value
    if not answers:
        raise DataError("no rating is filled in", file=", ".join(map(str, sheets)))
    return _summary(found, scale, tuple(raters), [_Answer(*who, value) for who, value in answers.items()], seed)


def _read_sheet(path: Path, key: Mapping[str, Any], scale: Scale) -> list[tuple[str, str, int | None, str]]:
    made = []
    for row in read_rows(path, format="csv", encoding="utf-8"):
        item, text = row.text("item").strip(), row.text("rating").strip()
        if row.text("sheet").strip() != key["sheet"]:
            raise row.error(f"the answer belongs to sheet {row.text('sheet')!r}, the key to {key['sheet']!r}", "sheet")
        if item not in key["items"]:
            raise row.error(f"there is no item {item!r} on the sheet", "item")
        value = scale.read(text) if text else None
        if text and value is None:
            raise row.error(f"{text!r} is no answer on the scale {scale}; leave it empty if there is none", "rating")
        made.append((row.text("rater").strip() or path.stem, item, value, f"{path}:{row.line}"))
    return made


def _read_key(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise DataError("no such key", file=str(path)) from None
    except ValueError as error:
        raise DataError(f"not a key: {error}", file=str(path)) from None
    if not isinstance(found, dict) or found.get("kind") != "rating-key":
        raise DataError("not the key of a rating sheet; `saywhy rate export` wrote one beside it", file=str(path))
    return found


def _find_key(sheet: Path) -> dict[str, Any]:
    first = next(read_rows(sheet, format="csv"), None)
    name = first.text("sheet").strip() if first is not None else ""
    for path in sorted(sheet.parent.glob("*.key.json")):
        found = _read_key(path)
        if found["sheet"] == name:
            return found
    raise OptionError(f"no key of sheet {name!r} is beside {sheet}; name it with --key")


def _summary(
    key: Mapping[str, Any], scale: Scale, raters: tuple[str, ...], answers: Sequence[_Answer], seed: int
) -> Ratings:
    items = key["items"]
    methods = sorted({item["method"] for item in items.values()})
    units: dict[str, list[float]] = {}
    for answer in answers:
        units.setdefault(answer.item, []).append(float(answer.value))
    rated = [_rated(name, answers, items, scale, seed) for name in methods]
    kept = sorted((r for r in rated if r is not None), key=lambda r: (-r.mean, r.method))
    pairs = itertools.combinations([r.method for r in kept], 2)
    preferences = [p for a, b in pairs if (p := _preference(a, b, answers, items, seed)) is not None]
    return Ratings(
        sheet=key["sheet"],
        question=key["question"],
        scale=str(scale),
        raters=raters,
        answered=len(answers),
        asked=len(items) * len(raters),
        alpha=krippendorff_alpha(list(units.values()), scale.level),
        level=scale.level,
        methods=tuple(kept),
        preferences=tuple(preferences),
    )


def _ratio(means: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sum over number: inputs with more ratings weigh more, in the mean as in its resamples."""
    return means[:, 0] / means[:, 1]


def _rated(method: str, answers: Sequence[_Answer], items: Mapping[str, Any], scale: Scale, seed: int) -> Rated | None:
    answers = [answer for answer in answers if items[answer.item]["method"] == method]
    if not answers:
        return None
    inputs: dict[int, list[int]] = {}
    for answer in answers:
        inputs.setdefault(items[answer.item]["input"], []).append(answer.value)
    interval = bootstrap_interval([[sum(v), len(v)] for v in inputs.values()], _ratio, seed=seed)
    counts = {name: sum(a.value == value for a in answers) for value, name in scale.answers}
    return Rated(method, *interval, len(answers), len(inputs), counts)


def _preference(
    first: str, second: str, answers: Sequence[_Answer], items: Mapping[str, Any], seed: int
) -> Preference | None:
    by_method: dict[tuple[str, int], dict[str, int]] = {}
    for answer in answers:
        item = items[answer.item]
        by_method.setdefault((answer.rater, item["input"]), {})[item["method"]] = answer.value
    inputs: dict[int, list[float]] = {}
    wins = ties = losses = 0
    for (_, number), values in by_method.items():
        if first in values and second in values:
            gap = values[first] - values[second]
            wins, ties, losses = wins + (gap > 0), ties + (gap == 0), losses + (gap < 0)
            inputs.setdefault(number, []).append(0.5 * (1 + (gap > 0) - (gap < 0)))
    if not inputs:
        return None
    interval = bootstrap_interval([[sum(v), len(v)] for v in inputs.values()], _ratio, seed=seed)
    return Preference(first, second, wins, ties, losses, *interval)
