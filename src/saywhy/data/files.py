"""Reading files line by line: JSON Lines, CSV, TSV and Parquet, packed or not; faults are named by file and line."""

from __future__ import annotations

import csv
import gzip
import json
import os
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, cast

from saywhy.data.rows import Row
from saywhy.errors import DataError

__all__ = ["FORMATS", "MAX_LINE_BYTES", "format_of", "read_json", "read_lines", "read_rows"]

MAX_LINE_BYTES = 16 * 2**20
FORMATS = {".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "json", ".csv": "csv", ".tsv": "tsv", ".parquet": "parquet"}
_BOM = b"\xef\xbb\xbf"


def format_of(path: str | os.PathLike[str]) -> str | None:
    """``jsonl``, ``json``, ``csv``, ``tsv`` or ``parquet`` by the name of the file, or None."""
    suffixes = [s.lower() for s in Path(path).suffixes]
    if suffixes and suffixes[-1] == ".gz":
        suffixes.pop()
    return FORMATS.get(suffixes[-1]) if suffixes else None


def read_lines(
    path: str | os.PathLike[str], *, max_line_bytes: int = MAX_LINE_BYTES, encoding: str = "utf-8"
) -> Iterator[tuple[int, str]]:
    """Numbered lines of a text file, with their line ends; gzip is recognised by its first bytes.

    A byte order mark is dropped. Memory is bounded by ``max_line_bytes``, also for a file that is one endless line.

    Raises:
        DataError: no such file, damaged or cut gzip, a line too long, bytes that are not text.
    """
    name = str(path)
    number = 0
    try:
        with _open(path) as stream:
            while raw := stream.readline(max_line_bytes + 1):
                number += 1
                if len(raw) > max_line_bytes:
                    raise DataError(
                        f"the line is longer than {max_line_bytes:,} bytes; give max_line_bytes= if that is right",
                        file=name,
                        line=number,
                    )
                if number == 1 and raw.startswith(_BOM):
                    raw = raw[len(_BOM) :]
                yield number, _decode(raw, encoding, name, number)
    except FileNotFoundError:
        raise DataError("no such file", file=name) from None
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise DataError(
            f"the gzip file is damaged or cut off after line {number} ({error}); fetch it again", file=name
        ) from None
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror or error}", file=name) from None


def _open(path: str | os.PathLike[str]) -> IO[bytes]:
    with open(path, "rb") as stream:
        packed = stream.read(2) == b"\x1f\x8b"
    return cast("IO[bytes]", gzip.open(path, "rb")) if packed else open(path, "rb")


def _decode(raw: bytes, encoding: str, name: str, number: int) -> str:
    if b"\0" in raw and encoding.lower().replace("-", "") == "utf8":
        hint = "; the file looks like UTF-16: save it as UTF-8" if raw[:2] in (b"\xff\xfe", b"\xfe\xff") else ""
        raise DataError(f"the line holds NUL bytes, so it is not text{hint}", file=name, line=number)
    try:
        return raw.decode(encoding)
    except UnicodeDecodeError as error:
        raise DataError(
            f"byte {error.start + 1} of the line is not valid {encoding} ({error.reason}); "
            "save the file as UTF-8 or give encoding=",
            file=name,
            line=number,
        ) from None
    except LookupError:
        raise DataError(f"unknown encoding {encoding!r}", file=name) from None


def read_rows(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,  # noqa: A002 - the word users know
    names: Sequence[str] | None = None,
    max_line_bytes: int = MAX_LINE_BYTES,
    encoding: str = "utf-8",
    quotes: bool | None = None,
    source: str | None = None,
) -> Iterator[Row]:
    """Rows of a file as `Row`, in order.

    Args:
        path: the file; ``.gz`` after the ending is fine.
        format: ``jsonl``, ``json`` (a list of objects), ``csv``, ``tsv`` or ``parquet``; by the name if not given.
        names: column names of a CSV or TSV file without a header line.
        max_line_bytes: longest line that is read.
        encoding: of the text; UTF-8 unless given.
        quotes: whether ``"`` quotes fields: yes in CSV and no in TSV unless given.
        source: what examples are to name as their source; the path unless given.
    """
    kind = format or format_of(path)
    where = str(path) if source is None else source
    if kind == "parquet":
        yield from _read_parquet(path, where)
    elif kind == "json":
        data = read_json(path, max_line_bytes=max_line_bytes, encoding=encoding)
        if not isinstance(data, list):
            raise DataError("expected a list of objects", file=str(path))
        for number, item in enumerate(data, start=1):
            yield Row(_as_object(item, str(path), number), str(path), number, where)
    elif kind == "jsonl":
        for number, line in read_lines(path, max_line_bytes=max_line_bytes, encoding=encoding):
            if line.strip():
                yield Row(_as_object(_parse(line, str(path), number), str(path), number), str(path), number, where)
    elif kind in ("csv", "tsv"):
        lines = read_lines(path, max_line_bytes=max_line_bytes, encoding=encoding)
        quoted = quotes if quotes is not None else kind == "csv"
        records = _split_table(lines, "," if kind == "csv" else "\t", quoted, str(path), max_line_bytes)
        yield from _with_header(records, names, str(path), where)
    else:
        known = ", ".join(sorted(FORMATS))
        raise DataError(f"cannot tell the format; known endings: {known} (also with .gz)", file=str(path))


def read_json(path: str | os.PathLike[str], *, max_line_bytes: int = MAX_LINE_BYTES, encoding: str = "utf-8") -> Any:
    """A whole JSON document; ``max_line_bytes`` bounds a line, of which a document may have many."""
    text = "".join(line for _, line in read_lines(path, max_line_bytes=max_line_bytes, encoding=encoding))
    return _parse(text, str(path), None)


def _parse(text: str, name: str, number: int | None) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        at = number if number is not None else error.lineno
        raise DataError(f"not valid JSON at column {error.colno}: {error.msg}", file=name, line=at) from None
    except (ValueError, RecursionError) as error:
        # A number with thousands of digits, or brackets nested thousands deep.
        raise DataError(f"JSON that cannot be read: {error}", file=name, line=number) from None


def _as_object(value: Any, name: str, number: int) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise DataError(f"expected an object, got {type(value).__name__}", file=name, line=number)
    return value


def _split_table(
    lines: Iterator[tuple[int, str]], separator: str, quoted: bool, name: str, max_line_bytes: int
) -> Iterator[tuple[int, list[str]]]:
    if not quoted:
        for number, line in lines:
            if line.strip():
                yield number, line.rstrip("\r\n").split(separator)
        return
    if csv.field_size_limit() < max_line_bytes:
        # The limit belongs to the whole process; raising it takes nothing from anyone, and lines are bounded anyway.
        csv.field_size_limit(max_line_bytes)
    reader = csv.reader((line for _, line in lines), delimiter=separator, strict=True)
    start = 1
    while True:
        try:
            record = next(reader, None)
        except csv.Error as error:
            raise DataError(f"the table is malformed: {error}", file=name, line=start) from None
        if record is None:
            return
        if record:
            yield start, record
        # A quoted field may hold line ends: the next record starts after the last line that was taken.
        start = reader.line_num + 1


def _with_header(
    records: Iterator[tuple[int, list[str]]], names: Sequence[str] | None, file: str, source: str
) -> Iterator[Row]:
    if names is None:
        header = next(records, None)
        if header is None:
            raise DataError("the file is empty; the first line must name the columns", file=file)
        names = header[1]
        twice = sorted({n for n in names if names.count(n) > 1})
        if twice:
            raise DataError(f"two columns are named {twice[0]!r}", file=file, line=header[0])
    for number, record in records:
        if len(record) != len(names):
            raise DataError(
                f"the row has {len(record)} columns, the table {len(names)} ({', '.join(names)})",
                file=file,
                line=number,
            )
        yield Row(dict(zip(names, record, strict=True)), file, number, source)


def _read_parquet(path: str | os.PathLike[str], source: str) -> Iterator[Row]:
    import pyarrow
    import pyarrow.parquet

    number = 0
    try:
        with pyarrow.parquet.ParquetFile(os.fspath(path)) as table:
            for batch in table.iter_batches(batch_size=1024):
                for values in batch.to_pylist():
                    number += 1
                    yield Row(values, str(path), number, source)
    except FileNotFoundError:
        raise DataError("no such file", file=str(path)) from None
    except (OSError, pyarrow.ArrowException) as error:
        raise DataError(f"not a Parquet file that can be read: {error}", file=str(path)) from None
