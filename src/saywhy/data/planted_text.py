"""What the planted and composed corpora share: frames that know where their fillings stand, and split sizes."""

from __future__ import annotations

from collections.abc import Mapping

from saywhy.errors import OptionError

__all__ = ["COUNTS", "article", "capitalise", "check_counts", "fill_frame"]

COUNTS: Mapping[str, int] = {"train": 4000, "dev": 500, "test": 500}


def fill_frame(frame: str, values: Mapping[str, str]) -> tuple[str, dict[str, tuple[int, int]]]:
    """A frame with its slots filled, and where the fillings stand.

    Example:
        >>> fill_frame("the {noun} was {op}", {"noun": "soup", "op": "bad"})
        ('the soup was bad', {'noun': (4, 8), 'op': (13, 16)})
    """
    text, places = "", {}
    for i, part in enumerate(frame.replace("}", "{").split("{")):
        if i % 2:
            places[part] = (len(text), len(text) + len(values[part]))
            part = values[part]
        text += part
    return text, places


def capitalise(text: str) -> str:
    """The first letter large, the others as they are."""
    return text[:1].upper() + text[1:]


def article(noun: str) -> str:
    """``a`` or ``an``, by the first letter: enough for the words of the planted corpora."""
    return "an" if noun[0] in "aeiou" else "a"


def check_counts(name: str, n: int | Mapping[str, int] | None) -> dict[str, int]:
    """Examples by split: the defaults, with another number for ``train``, or with others by split."""
    given: Mapping[str, int] = {"train": n} if isinstance(n, int) else (n or {})
    counts = {**COUNTS, **given}
    if set(counts) != set(COUNTS) or any(isinstance(c, bool) or c < 1 for c in counts.values()):
        raise OptionError(f"{name}: n must be a positive number for train, or such for {', '.join(COUNTS)}; got {n!r}")
    return counts
