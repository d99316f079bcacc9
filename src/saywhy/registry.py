"""One registry class for methods, objectives, metrics, datasets and models."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from enum import Enum
from typing import Any, Generic, TypeVar, get_args, get_type_hints

from saywhy.errors import OptionError, UnknownNameError

__all__ = ["Entry", "Registry", "check_options"]

T = TypeVar("T")
_PLAIN = (bool, int, float, str, type(None))
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


@dataclass(frozen=True)
class Entry(Generic[T]):
    """What is known about a registered name without running it."""

    name: str
    value: T
    summary: str
    family: str = ""
    tasks: tuple[str, ...] = ()
    spaces: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    fitted: bool = False
    paper: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """The facts as plain JSON types, for `saywhy list KIND --json`."""
        own = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in ("value", "facts")}
        return {key: list(v) if isinstance(v, tuple) else v for key, v in {**own, **self.facts}.items()}


def check_options(what: str, cls: type, options: Mapping[str, Any]) -> None:
    """Raise an OptionError for options a dataclass does not have, or whose value is of the wrong type.

    Args:
        what: the name of the thing in the message, such as ``"method 'lime'"``.
        cls: a dataclass whose fields are the options.
        options: names (with underscores) and values.
    """
    if not options:
        return  # reading the types takes longer than a short explanation should
    known = {f.name for f in fields(cls)}
    shown = ", ".join(sorted(name.rstrip("_").replace("_", "-") for name in known)) or "none"
    hints = get_type_hints(cls)
    for name, value in options.items():
        if name not in known:
            raise OptionError(f"{what} has no option {name.replace('_', '-')!r}; its options: {shown}")
        allowed = [a for a in (get_args(hints[name]) or (hints[name],)) if a in _PLAIN]
        if not allowed or isinstance(value, Enum):
            continue
        number = isinstance(value, int | float) and not isinstance(value, bool)
        fits = any(
            (a is float and number) or (a is type(None) and value is None) or (a is type(value)) for a in allowed
        ) or (int in allowed and hasattr(value, "__index__") and not isinstance(value, bool))
        if not fits:
            names = " or ".join("none" if a is type(None) else a.__name__ for a in allowed)
            raise OptionError(f"{what}: option {name.replace('_', '-')!r} must be {names}, not {value!r}")


class Registry(Generic[T]):
    """Named things of one kind, filled by decorators when their modules are first needed.

    Args:
        kind: the noun used in messages, such as ``"method"``.
        package: the package whose modules register the entries; imported on the first look-up.

    Example:
        >>> shapes: Registry[type] = Registry("shape")
        >>> @shapes.register("unit-square")
        ... class UnitSquare:
        ...     "A square of side one."
        >>> shapes["unit-square"].summary
        'A square of side one.'
    """

    def __init__(self, kind: str, package: str | None = None) -> None:
        self.kind = kind
        self._package = package
        self._entries: dict[str, Entry[T]] = {}

    def register(self, name: str, **facts: Any) -> Callable[[T], T]:
        """Class or function decorator; the first line of the docstring is the summary unless given."""
        if not _NAME.fullmatch(name):
            raise ValueError(f"{self.kind} name {name!r} must be lower case words joined by hyphens")

        def add(value: T) -> T:
            if name in self._entries:
                raise ValueError(f"{self.kind} {name!r} is registered twice")
            summary = facts.pop("summary", None) or (getattr(value, "__doc__", "") or "").strip().split("\n")[0]
            if not summary:
                raise ValueError(f"{self.kind} {name!r} needs a docstring or a summary")
            self._entries[name] = Entry(name=name, value=value, summary=summary, **facts)
            return value

        return add

    def _fill(self) -> None:
        if self._package is not None:
            # The package's `__init__` imports every module that registers something.
            importlib.import_module(self._package)

    def __getitem__(self, name: str) -> Entry[T]:
        self._fill()
        try:
            return self._entries[name]
        except KeyError:
            raise UnknownNameError(self.kind, name, self._entries) from None

    def __contains__(self, name: object) -> bool:
        self._fill()
        return name in self._entries

    def __iter__(self) -> Iterator[Entry[T]]:
        self._fill()
        return iter(sorted(self._entries.values(), key=lambda e: e.name))

    def __len__(self) -> int:
        self._fill()
        return len(self._entries)

    def names(self) -> list[str]:
        """All names, sorted."""
        return [entry.name for entry in self]
