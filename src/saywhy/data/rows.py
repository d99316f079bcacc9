"""One row of a data file, whose fields are checked as they are read."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from saywhy.errors import DataError

__all__ = ["Row"]

_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Row:
    """Values by field name, with the file and line they come from; every fault becomes a `DataError` that says where.

    ``file`` goes into error messages, ``source`` into examples: results then do not depend on where a corpus is kept.
    """

    values: Mapping[str, Any]
    file: str
    line: int | None = None
    source: str = ""

    def error(self, message: str, field: str | None = None) -> DataError:
        """The error to raise about this row."""
        return DataError(message, file=self.file, line=self.line, field=field)

    def with_values(self, values: Mapping[str, Any]) -> Row:
        """The same place with other values."""
        return replace(self, values=values)

    def has(self, field: str) -> bool:
        """Whether the field is there and not null."""
        return self.values.get(field) is not None

    def value(self, field: str) -> Any:
        """The raw value of a field that must be there."""
        value = self.values.get(field)
        if value is None:
            what = "is null" if field in self.values else f"is missing; the row has {', '.join(map(str, self.values))}"
            raise self.error(f"the field {what}", field)
        return value

    def _is_text(self, value: Any, field: str) -> str:
        if not isinstance(value, str):
            raise self.error(f"expected a string, got {_show(value)}", field)
        # Half of a surrogate pair can be written in JSON but is no character: tokenizers fail on it much later.
        if not value.isascii() and _SURROGATE.search(value):
            raise self.error("the text holds half a surrogate pair, which is not a character", field)
        return value

    def text(self, field: str) -> str:
        """A string."""
        return self._is_text(self.value(field), field)

    def texts(self, field: str) -> tuple[str, ...]:
        """A list of strings."""
        return tuple(self._is_text(item, field) for item in self.sequence(field))

    def sequence(self, field: str) -> list[Any]:
        """A list, given as one or as JSON in a string, as tables hold it."""
        value = self.value(field)
        if isinstance(value, str):
            try:
                value = json.loads(value)
            except (ValueError, RecursionError):
                raise self.error(f"expected a list in JSON, got {_show(value)}", field) from None
        if hasattr(value, "tolist"):
            value = value.tolist()
        if not isinstance(value, list | tuple):
            raise self.error(f"expected a list, got {_show(value)}", field)
        return list(value)

    def inner(self, field: str) -> Row:
        """An object, as a row at the same place."""
        value = self.value(field)
        if not isinstance(value, Mapping):
            raise self.error(f"expected an object, got {_show(value)}", field)
        return self.with_values(value)

    def rows(self, field: str) -> list[Row]:
        """A list of objects, each as a row at the same place."""
        items = self.sequence(field)
        for item in items:
            if not isinstance(item, Mapping):
                raise self.error(f"expected a list of objects, found {_show(item)} in it", field)
        return [self.with_values(item) for item in items]

    def integer(self, field: str, *, low: int | None = None, high: int | None = None) -> int:
        """A whole number, inclusive of its bounds."""
        value = self.value(field)
        if isinstance(value, str) and re.fullmatch(r"\s*[+-]?[0-9]{1,18}\s*", value):
            value = int(value)
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if not isinstance(value, int) or isinstance(value, bool):
            raise self.error(f"expected a whole number, got {_show(value)}", field)
        if (low is not None and value < low) or (high is not None and value > high):
            raise self.error(f"expected a whole number between {low} and {high}, got {value}", field)
        return value

    def number(self, field: str) -> float:
        """A finite number."""
        value = self.value(field)
        if isinstance(value, str):
            try:
                value = float(value)
            except ValueError:
                raise self.error(f"expected a number, got {_show(value)}", field) from None
        if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
            raise self.error(f"expected a number, got {_show(value)}", field)
        return float(value)

    def label(self, field: str, labels: Sequence[str], spellings: Mapping[str, str] | None = None) -> str:
        """A class name out of ``labels``, given by name, by index, or in another spelling."""
        value = self.value(field)
        if isinstance(value, str):
            name = (spellings or {}).get(value, value)
            if name in labels:
                return name
            if not re.fullmatch(r"[0-9]{1,9}", value):
                raise self.error(f"unknown label {_show(value)}; known: {', '.join(labels)}", field)
        index = self.integer(field)
        if not 0 <= index < len(labels):
            raise self.error(f"unknown label {index}; known: 0 to {len(labels) - 1} for {', '.join(labels)}", field)
        return labels[index]

    def pairs(self, field: str, length: int) -> list[tuple[int, int]]:
        """Half-open spans ``[start, end)`` within ``length`` characters or tokens, in order of the file."""
        found = []
        for item in self.sequence(field):
            if (
                not isinstance(item, list | tuple)
                or len(item) != 2
                or not all(isinstance(edge, int) and not isinstance(edge, bool) for edge in item)
            ):
                raise self.error(f"expected spans [start, end], found {_show(item)}", field)
            start, end = item
            if not 0 <= start < end <= length:
                raise self.error(f"the span [{start}, {end}] does not lie within 0 to {length}", field)
            found.append((start, end))
        return found


def _show(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else shown[:57] + "..."
