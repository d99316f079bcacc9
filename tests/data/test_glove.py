from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from saywhy.data.glove import read_glove
from saywhy.errors import DataError

LINES = "the 0.1 0.2\n, 1 -1\n. . 2 2.5e-1\nthe 9 9\nna\u0130ve\u2028x 3 3\n"


@pytest.mark.parametrize("name", ["v.txt", "v.txt.gz"])
@pytest.mark.parametrize("header", ["", "5 2\n"])
def test_reads_text_and_gzip(tmp_path: Path, name: str, header: str) -> None:
    content = (header + LINES).encode()
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    table = read_glove(tmp_path / name)
    assert table.words == ("the", ",", ". .", "na\u0130ve\u2028x")  # spaces and odd line separators inside a word
    assert table.vectors.dtype == np.float32
    assert table.dimensions == 2
    np.testing.assert_allclose(table.vectors, [[0, 0], [0.1, 0.2], [1, -1], [2, 0.25], [3, 3]], rtol=1e-6)


def test_selection(tmp_path: Path) -> None:
    (tmp_path / "v.txt").write_text("a 1\nb 2\nc 3\nd 4\n")
    assert read_glove(tmp_path / "v.txt", words={"c", "x"}).words == ("c",)
    assert read_glove(tmp_path / "v.txt", words={"c"}, first=1).words == ("a", "c")
    assert read_glove(tmp_path / "v.txt", words=()).vectors.tolist() == [[0.0]]


def test_found_in_a_folder_and_under_the_data_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "glove").mkdir()
    (tmp_path / "glove" / "v.txt").write_text("a 1\n")
    monkeypatch.setenv("SAYWHY_DATA", str(tmp_path))
    assert read_glove("glove").words == read_glove("glove/v.txt").words == ("a",)
    (tmp_path / "glove" / "w.txt").write_text("a 1\n")
    with pytest.raises(DataError, match="holds 2 files"):
        read_glove("glove")
    with pytest.raises(DataError, match="no such file"):
        read_glove("nosuch.txt")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a 1 2\nb 1\n", ":2: not a word and 2"),
        (b"a 1 2\nb 1 x\n", ":2: not a word and 2"),
        (b"a 1 2\nb 1 nan\n", ":2: not a word and 2 finite"),
        (b"word\n", ":1: not a word"),
        (b"", "holds no vectors"),
        (b"\xff\xfe 1\n", "not UTF-8"),
    ],
)
def test_malformed(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "v.txt").write_bytes(content)
    with pytest.raises(DataError, match=message):
        read_glove(tmp_path / "v.txt")


def test_truncated_gzip(tmp_path: Path) -> None:
    (tmp_path / "v.txt.gz").write_bytes(gzip.compress(b"a 1 2\n" * 5000)[:-20])
    with pytest.raises(DataError, match="not a whole gzip"):
        read_glove(tmp_path / "v.txt.gz")
