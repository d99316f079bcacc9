"""The table of a comparison: saywhy, the peer and the floor, side by side."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["HIGHEST_OVER_FLOOR", "PeerTable", "Row", "write_table"]

HIGHEST_OVER_FLOOR = 1.15
"""The most that anything of ours may cost, relative to its own model calls alone."""

_COLUMNS = ("what", "tokens", "peer", "saywhy", "theirs", "floor", "speed-up", "/ floor", "how")


@dataclass(frozen=True)
class Row:
    """One piece of work at one length of texts; times are CPU seconds a text.

    ``aim`` is the ratio of the peer's time to ours that we want; ``reason`` says why a number is missing.
    """

    what: str
    tokens: int
    peer: str
    texts: int
    ours: float | None = None
    theirs: float | None = None
    floor: float | None = None
    aim: float | None = None
    how: str = ""
    reason: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def speedup(self) -> float | None:
        """The peer's time relative to ours."""
        return self.theirs / self.ours if self.ours and self.theirs else None

    @property
    def over_floor(self) -> float | None:
        """Our time relative to that of the bare model calls."""
        return self.ours / self.floor if self.ours and self.floor else None

    @property
    def missed(self) -> bool:
        """Whether a number is worse than what we want it to be."""
        slow = self.aim is not None and self.speedup is not None and self.speedup < self.aim
        return slow or (self.over_floor is not None and self.over_floor > HIGHEST_OVER_FLOOR)

    def to_dict(self) -> dict[str, Any]:
        """As JSON writes it."""
        return {**asdict(self), "speedup": self.speedup, "over_floor": self.over_floor, "missed": self.missed}

    def cells(self) -> tuple[str, ...]:
        """What a reader sees; numbers that miss what we want are marked with an exclamation mark."""
        slow = self.aim is not None and self.speedup is not None and self.speedup < self.aim
        heavy = self.over_floor is not None and self.over_floor > HIGHEST_OVER_FLOOR
        return (
            self.what,
            str(self.tokens),
            self.peer,
            _seconds(self.ours),
            _seconds(self.theirs),
            _seconds(self.floor),
            _ratio(self.speedup, slow),
            _ratio(self.over_floor, heavy),
            "; ".join(part for part in (self.how, f"aim {self.aim:g}x" if self.aim else "", self.reason) if part),
        )


@dataclass(frozen=True)
class PeerTable:
    """All rows of a comparison, and what it was made of."""

    rows: tuple[Row, ...]
    model: str
    fingerprint: str
    data: str
    seed: int
    versions: Mapping[str, str]
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """As JSON writes it."""
        return {**{k: v for k, v in asdict(self).items() if k != "rows"}, "rows": [row.to_dict() for row in self.rows]}

    def to_markdown(self) -> str:
        """A table for documentation."""
        lines = [_COLUMNS, ("---",) * len(_COLUMNS), *(row.cells() for row in self.rows)]
        return "\n".join(f"| {' | '.join(cells)} |" for cells in lines) + "\n"

    def __rich__(self) -> Any:
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        table = Table(
            title="CPU seconds a text, one thread", title_justify="left", box=None, header_style="bold",
            pad_edge=False, collapse_padding=True,
        )  # fmt: skip
        table.add_column("", justify="right", style="dim")
        for place, column in enumerate(_COLUMNS[:-1]):
            table.add_column(column, justify="right" if place >= 3 else "left", no_wrap=True)
        lines = []
        for number, row in enumerate(self.rows, 1):
            *cells, how = row.cells()
            table.add_row(str(number), *cells, style="yellow" if row.missed else "")
            if how:
                lines.append(Text(f"{number:3} {how}", style="dim"))
        return Group(table, Text(""), *lines, *self.notes)


def _seconds(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}" if value < 1 else f"{value:.2f}"


def _ratio(value: float | None, bad: bool) -> str:
    return "" if value is None else f"{value:.2f}" + ("!" if bad else "")


def write_table(file: Path, table: PeerTable) -> None:
    """Write a table as Markdown if the file's name ends in ``.md``, else as JSON."""
    text = table.to_markdown() if file.suffix == ".md" else json.dumps(table.to_dict(), indent=2) + "\n"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
