"""Mistakes a user can make, each with what was wrong, where, and what to do about it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = [
    "CapabilityError",
    "DataError",
    "InputError",
    "LoadError",
    "OptionError",
    "SayWhyError",
    "SayWhyWarning",
    "TooLongError",
    "UnknownNameError",
]


class SayWhyError(Exception):
    """A mistake of the user; the command line prints it in one line and exits with 2."""


class SayWhyWarning(UserWarning):
    """Something the user should know about a result, such as a text that was cut."""


class InputError(SayWhyError):
    """A text, pair, choice or label that cannot be used."""


class TooLongError(InputError):
    """A text longer than the model can read."""


class LoadError(SayWhyError):
    """A model that cannot be loaded."""


class OptionError(SayWhyError):
    """An option whose value is not allowed, or that does not go with the others."""


class CapabilityError(SayWhyError):
    """A method that needs more of the model than it offers."""


class DataError(SayWhyError):
    """A data file with something wrong in it; names the file, the line and the field."""

    def __init__(
        self, message: str, *, file: str | None = None, line: int | None = None, field: str | None = None
    ) -> None:
        self.file, self.line, self.field = file, line, field
        where = file or ""
        if line is not None:
            where += f":{line}"
        if field is not None:
            where += f" (field {field!r})"
        super().__init__(f"{where.strip()}: {message}" if where else message)


class UnknownNameError(SayWhyError):
    """A name that is not registered; suggests the closest ones."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        names = sorted(known)
        close = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
        hint = f"did you mean {' or '.join(repr(c) for c in close)}?" if close else f"known: {', '.join(names)}"
        super().__init__(f"unknown {kind} {name!r}; {hint}")
