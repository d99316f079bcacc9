"""Synonyms out of WordNet's own database files, as Debian's ``wordnet-base`` and others install them."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path

from saywhy.errors import DataError

__all__ = ["WordNet", "open_wordnet"]

_PARTS = ("noun", "verb", "adj", "adv")


class WordNet:
    """A folder with ``index.noun``, ``data.noun`` and so on, read as words are asked for.

    Args:
        folder: the folder, such as ``/usr/share/wordnet``.

    Example:
        >>> WordNet("/usr/share/wordnet").synonyms("movie")                                     # doctest: +SKIP
        ('film', 'picture', 'flick', 'pic')
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        self._index: dict[str, list[tuple[str, int]]] = {}
        for part in _PARTS:
            for kind in ("index", "data"):
                if not (self.folder / f"{kind}.{part}").is_file():
                    raise DataError(
                        f"no file {kind}.{part}; WordNet's database files are in Debian's package wordnet-base",
                        file=str(self.folder),
                    )
            self._read_index(part)

    def synonyms(self, word: str) -> tuple[str, ...]:
        """Single words that share the first sense of a word, in any part of speech; the word itself is not among them.

        Only base forms are known: ``films`` has none.
        """
        found: dict[str, None] = {}
        for part, offset in self._index.get(word.lower(), ()):
            found.update(dict.fromkeys(_synset(self.folder / f"data.{part}", offset)))
        return tuple(other for other in found if other.isalpha() and other.lower() != word.lower())

    def _read_index(self, part: str) -> None:
        path = self.folder / f"index.{part}"
        with path.open(encoding="latin-1") as file:
            for number, line in enumerate(file, 1):
                if line.startswith("  "):
                    continue  # the licence
                fields = line.split()
                try:
                    # lemma, part, senses, pointers p, p symbols, senses, tagged senses, then an offset for each sense
                    first = fields[6 + int(fields[3])]
                    if not first.isdecimal():
                        raise ValueError(first)
                    self._index.setdefault(fields[0], []).append((part, int(first)))
                except (IndexError, ValueError):
                    raise DataError("not a line of WordNet's index", file=str(path), line=number) from None


@lru_cache(maxsize=2)
def open_wordnet(folder: str) -> WordNet:
    """The WordNet in a folder, read once."""
    return WordNet(folder)


@lru_cache(maxsize=65536)
def _synset(path: Path, offset: int) -> tuple[str, ...]:
    """The words of the synset that stands at an offset."""
    with path.open("rb") as file:
        file.seek(offset)
        fields = file.readline().decode("latin-1").split()
    try:
        if int(fields[0]) != offset:
            raise ValueError(fields[0])
        count = int(fields[3], 16)
        words = fields[4 : 4 + 2 * count : 2]
    except (IndexError, ValueError):
        raise DataError(f"no synset at offset {offset}", file=str(path)) from None
    # Adjectives may say where they stand: "galore(ip)".
    return tuple(word.split("(")[0] for word in words)
