"""Word vectors from files in GloVe's text format."""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from saywhy.data.home import data_root
from saywhy.errors import DataError

__all__ = ["GloVe", "read_glove"]


@dataclass(frozen=True)
class GloVe:
    """Words and their vectors.

    Row 0 of ``vectors`` is the zero vector, for padding and unknown words; ``words[i]`` has row i + 1.
    """

    words: tuple[str, ...]
    vectors: NDArray[np.float32]

    @property
    def dimensions(self) -> int:
        """Length of a vector."""
        return int(self.vectors.shape[1])


def read_glove(
    path: str | os.PathLike[str], *, words: Collection[str] | None = None, first: int | None = None
) -> GloVe:
    """Read vectors from ``.txt`` or ``.txt.gz``: a word and its numbers on each line.

    A header line of two numbers (word2vec's text format) is skipped, and words that hold spaces are read right. Of a
    word that comes twice the first vector counts.

    Args:
        path: the file, or a folder that holds exactly one; looked for under the data root if it is not there.
        words: keep only these words, and those of ``first``; None keeps all.
        first: keep the first so many words of the file, which are the most frequent ones.

    Raises:
        DataError: a file that is not there, or a line that is not a word and its numbers.

    Example:
        >>> read_glove("glove.6B.100d.txt.gz", words={"good", "bad"}).vectors.shape             # doctest: +SKIP
        (3, 100)
    """
    file = _find(Path(path).expanduser())
    wanted = None if words is None else frozenset(words)
    found: dict[str, NDArray[np.float32]] = {}
    width: int | None = None
    for number, line in enumerate(_lines(file), start=1):
        if not line.strip():
            continue
        if width is None:
            parts = line.split(" ")
            if number == 1 and len(parts) == 2 and all(p.strip().isdecimal() for p in parts):
                continue
            width = len(parts) - 1
            if width < 1:
                raise DataError("not a word and its numbers, separated by single spaces", file=str(file), line=number)
        # From the right, because a few words of the larger files hold spaces.
        word, *numbers = line.rstrip("\r\n").rsplit(" ", width)
        kept = wanted is None or word in wanted or (first is not None and number <= first)
        if not kept or word in found:
            continue
        try:
            vector = np.array(numbers, dtype=np.float32)
        except ValueError:
            vector = np.empty(0, dtype=np.float32)
        if len(vector) != width or not np.isfinite(vector).all():
            raise DataError(f"not a word and {width} finite numbers", file=str(file), line=number)
        found[word] = vector
    if width is None:
        raise DataError("holds no vectors", file=str(file))
    table = np.zeros((len(found) + 1, width), dtype=np.float32)
    if found:
        table[1:] = np.stack(list(found.values()))
    return GloVe(tuple(found), table)


def _find(path: Path) -> Path:
    place = path if path.exists() else data_root() / path
    if place.is_dir():
        files = sorted(p for p in place.iterdir() if p.name.endswith((".txt", ".txt.gz")))
        if len(files) != 1:
            raise DataError(f"holds {len(files)} files .txt or .txt.gz; name the one that is meant", file=str(place))
        return files[0]
    if not place.is_file():
        raise DataError(
            f"no such file, and none under {data_root()}; give the path of a GloVe text file (glove.6B.100d.txt)",
            file=str(path),
        )
    return place


def _lines(file: Path) -> Iterator[str]:
    try:
        if file.suffix == ".gz":
            with gzip.open(file, "rt", encoding="utf-8", newline="\n") as stream:
                yield from stream
        else:
            with file.open(encoding="utf-8", newline="\n") as stream:
                yield from stream
    except UnicodeDecodeError as error:
        raise DataError(f"is not UTF-8 ({error.reason})", file=str(file)) from error
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(f"is not a whole gzip file ({error})", file=str(file)) from error
