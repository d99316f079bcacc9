from __future__ import annotations

import os
import stat
from pathlib import Path

from saywhy.server.cache import Cache, content_key


def test_what_is_kept_outlives_the_process(tmp_path: Path) -> None:
    first = Cache(tmp_path / "cache")
    assert first.get("aa1") is None
    first.put("aa1", b'{"a":1}')
    first.put("bb2", b"2", disk=False)
    assert (first.get("aa1"), first.get("bb2")) == (b'{"a":1}', b"2")
    first.close()
    second = Cache(tmp_path / "cache")
    assert second.get("aa1") == b'{"a":1}'
    assert second.get("bb2") is None
    assert (second.hits, second.misses) == (1, 1)
    assert not list(tmp_path.rglob("*.part"))
    file = next(tmp_path.rglob("aa1.json"))
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "cache").stat().st_mode) == 0o700


def test_a_broken_file_is_as_good_as_none(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    cache.put("aa1", b"[1, 2]")
    cache.close()
    next(tmp_path.rglob("aa1.json")).write_bytes(b"[1, ")
    again = Cache(tmp_path)
    assert again.get("aa1") is None
    again.put("aa1", b"[3]")
    again.close()
    assert Cache(tmp_path).get("aa1") == b"[3]"


def test_memory_and_disk_have_limits(tmp_path: Path) -> None:
    cache = Cache(tmp_path, size=1000, files=20)
    for number in range(50):
        cache.put(f"{number:04}", b"7" * 100)
        cache.close()
        path = next(tmp_path.rglob(f"{number:04}.json"))
        os.utime(path, (number, number))
    assert sum(map(len, cache._kept.values())) == cache._bytes <= 1000
    left = sorted(path.stem for path in tmp_path.rglob("*.json"))
    assert len(left) <= 20
    assert left[-1] == "0049"
    assert "0000" not in left


def test_a_folder_that_cannot_be_written_is_no_reason_to_fail(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache")
    (tmp_path / "cache" / "aa").write_text("in the way")
    cache.put("aa1", b"1")
    cache.close()
    assert cache.get("aa1") == b"1"


def test_keys_differ_with_everything_that_matters() -> None:
    question = {"texts": ["a"], "seed": 0}
    keys = {
        content_key("explain", "f", question),
        content_key("evaluate", "f", question),
        content_key("explain", "g", question),
        content_key("explain", "f", {**question, "seed": 1}),
        content_key("explain", "f", {**question, "texts": ["\ud83d"]}),
    }
    assert len(keys) == 5
