from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from saywhy.data.files import format_of, read_json, read_lines, read_rows
from saywhy.errors import DataError

ROWS = [{"text": "naïve, “quoted”\ttab", "label": 1}, {"text": 'say "why"\nnow', "label": 0}]


def write(path: Path, data: bytes | str) -> Path:
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


def values(path: Path, **options: Any) -> list[dict[str, Any]]:
    return [dict(row.values) for row in read_rows(path, **options)]


def table(rows: list[dict[str, Any]]) -> str:
    import csv
    import io

    out = io.StringIO()
    writer = csv.DictWriter(out, fieldnames=list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("a.jsonl", "jsonl"),
        ("a.JSONL.GZ", "jsonl"),
        ("a.b.csv", "csv"),
        ("a.tsv.gz", "tsv"),
        ("a.gz", None),
        ("a", None),
    ],
)
def test_format_by_name(name: str, kind: str | None) -> None:
    assert format_of(name) == kind


@pytest.mark.parametrize("packed", [False, True])
def test_all_formats_give_the_same_rows(tmp_path: Path, packed: bool) -> None:
    import pyarrow
    import pyarrow.parquet

    lines = "".join(json.dumps(row) + "\n" for row in ROWS).encode()
    ending, pack = (".gz", gzip.compress) if packed else ("", bytes)
    assert values(write(tmp_path / f"a.jsonl{ending}", pack(lines))) == ROWS
    assert values(write(tmp_path / f"a.json{ending}", pack(json.dumps(ROWS).encode()))) == ROWS
    strings = [{"text": row["text"], "label": str(row["label"])} for row in ROWS]
    assert values(write(tmp_path / f"a.csv{ending}", pack(table(ROWS).encode()))) == strings
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(ROWS), tmp_path / "a.parquet")
    assert values(tmp_path / "a.parquet") == ROWS


def test_packed_without_the_ending_is_recognised(tmp_path: Path) -> None:
    assert values(write(tmp_path / "a.jsonl", gzip.compress(b'{"a": 1}\n'))) == [{"a": 1}]


def test_tabs_are_not_quoted_unless_asked_for(tmp_path: Path) -> None:
    path = write(tmp_path / "a.tsv", 'text\tlabel\r\n"open quote\t1\r\n')
    assert values(path) == [{"text": '"open quote', "label": "1"}]
    quoted = write(tmp_path / "b.tsv", 'text\tlabel\n"a\tb"\t1\n')
    assert values(quoted, quotes=True) == [{"text": "a\tb", "label": "1"}]


def test_byte_order_mark_is_dropped(tmp_path: Path) -> None:
    assert values(write(tmp_path / "a.csv", b"\xef\xbb\xbftext,label\nhi,1\n")) == [{"text": "hi", "label": "1"}]
    assert values(write(tmp_path / "a.jsonl", b'\xef\xbb\xbf{"text": "hi"}\n')) == [{"text": "hi"}]


def test_line_numbers_count_lines_of_the_file(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", 'text,label\n"two\nlines",1\n\nlast,0\n')
    assert [(row.line, row.values["text"]) for row in read_rows(path)] == [(2, "two\nlines"), (5, "last")]
    blank = write(tmp_path / "a.jsonl", '\n{"a": 1}\n\n{"a": 2}\n')
    assert [row.line for row in read_rows(blank)] == [2, 4]


@pytest.mark.parametrize(
    ("name", "data", "message", "line"),
    [
        ("a.jsonl", b'{"a": 1}\n{"a": \n', "not valid JSON", 2),
        ("a.jsonl", b'{"a": 1}\n[1]\n', "expected an object", 2),
        ("a.jsonl", b'{"a": "\xff"}\n', "byte 8 of the line is not valid utf-8", 1),
        ("a.jsonl", b'{"a": "x\x00y"}\n', "NUL bytes", 1),
        ("a.csv", "text,label\n".encode("utf-16"), "looks like UTF-16", 1),
        ("a.jsonl", b"[" * 100_000 + b"\n", "JSON", 1),
        ("a.jsonl", b'{"a": ' + b"9" * 5000 + b"}\n", "JSON", 1),
        ("a.csv", b"text,label\nhi\n", "the row has 1 columns, the table 2", 2),
        ("a.csv", b'text,label\n"never closed,1\n', "malformed", 2),
        ("a.csv", b'text,label\n"a"b,1\n', "malformed", 2),
        ("a.csv", b"text,text\na,b\n", "two columns are named 'text'", 1),
        ("a.csv", b"", "the file is empty", None),
        ("a.tsv", b"text\tlabel\na\tb\tc\n", "the row has 3 columns", 2),
        ("a.json", b'{"a": 1}', "expected a list", None),
        ("a.json", b"[1]", "expected an object", 1),
        ("a.parquet", b"PAR1 no", "not a Parquet file", None),
        ("a.txt", b"hi", "cannot tell the format", None),
    ],
)
def test_malformed_files_are_named_with_their_line(
    tmp_path: Path, name: str, data: bytes, message: str, line: int | None
) -> None:
    path = write(tmp_path / name, data)
    with pytest.raises(DataError, match=message) as caught:
        list(read_rows(path))
    assert (caught.value.file, caught.value.line) == (str(path), line)


def test_missing_file_and_folder(tmp_path: Path) -> None:
    for name in ("none.jsonl", "none.parquet"):
        with pytest.raises(DataError, match="no such file"):
            list(read_rows(tmp_path / name))
    (tmp_path / "folder.jsonl").mkdir()
    with pytest.raises(DataError, match="cannot be read"):
        list(read_rows(tmp_path / "folder.jsonl"))


@pytest.mark.parametrize("keep", [0.5, 0.99])
def test_gzip_cut_off(tmp_path: Path, keep: float) -> None:
    import random

    rng = random.Random(0)
    text = "".join(json.dumps({"text": "".join(rng.choices("abcdefgh ", k=60))}) + "\n" for _ in range(500))
    whole = gzip.compress(text.encode())
    path = write(tmp_path / "a.jsonl.gz", whole[: int(len(whole) * keep)])
    with pytest.raises(DataError, match="damaged or cut off"):
        list(read_rows(path))
    damaged = write(tmp_path / "b.jsonl.gz", whole[:200] + b"\x00\xff" * 20 + whole[240:])
    with pytest.raises(DataError):
        list(read_rows(damaged))


def test_a_line_without_end_does_not_fill_the_memory(tmp_path: Path) -> None:
    import resource

    path = tmp_path / "a.jsonl.gz"
    with gzip.open(path, "wb", compresslevel=1) as stream:
        for _ in range(100):
            stream.write(b"x" * 1_000_000)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(DataError, match="longer than 16,777,216 bytes") as caught:
        list(read_lines(path))
    assert caught.value.line == 1
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 80_000


def test_the_longest_line_can_be_chosen(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "text\n" + "x" * 300_000 + "\n")
    assert len(values(path)[0]["text"]) == 300_000
    with pytest.raises(DataError, match="longer than 1,000 bytes"):
        values(path, max_line_bytes=1000)


def test_other_encodings(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "text\nnaïve\n".encode("latin-1"))
    with pytest.raises(DataError, match="encoding="):
        values(path)
    assert values(path, encoding="latin-1") == [{"text": "naïve"}]
    with pytest.raises(DataError, match="unknown encoding"):
        values(path, encoding="klingon")


def test_no_header(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "hi,1\n")
    assert values(path, names=("text", "label")) == [{"text": "hi", "label": "1"}]


def test_read_json_names_the_line_of_the_fault(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="not valid JSON") as caught:
        read_json(write(tmp_path / "a.json", '{\n"a": 1,\n}'))
    assert caught.value.line == 3


@pytest.mark.slow
@settings(max_examples=2500, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    data=st.binary(max_size=200),
    name=st.sampled_from(["a.jsonl", "a.csv", "a.tsv", "a.json", "a.jsonl.gz", "a.parquet"]),
)
def test_any_bytes_are_read_or_refused(tmp_path: Path, data: bytes, name: str) -> None:
    try:
        list(read_rows(write(tmp_path / name, data)))
    except DataError:
        return


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(
        st.fixed_dictionaries(
            {"text": st.text(st.characters(blacklist_categories=("Cs",), blacklist_characters="\0\r"))}
        ),
        min_size=1,
    )
)
def test_what_was_written_is_read_again(tmp_path: Path, rows: list[dict[str, str]]) -> None:
    lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    assert values(write(tmp_path / "a.jsonl", lines)) == rows
    # A row whose only field is empty is an empty line, which a table does not keep.
    assert values(write(tmp_path / "a.csv", table([{**row, "n": 1} for row in rows]))) == [
        {**r, "n": "1"} for r in rows
    ]
