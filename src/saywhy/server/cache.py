"""Results by content: the same question to the same model is answered once, also after a restart."""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import queue
import threading
from collections import OrderedDict
from pathlib import Path
from typing import Any

import saywhy

__all__ = ["Cache", "content_key"]

_log = logging.getLogger("saywhy.server")


def content_key(kind: str, fingerprint: str, question: dict[str, Any]) -> str:
    """Thirty-two hex digits of a question, the model it is put to and the version that answers.

    Example:
        >>> content_key("explain", "0a", {"a": 1, "b": 2}) == content_key("explain", "0a", {"b": 2, "a": 1})
        True
    """
    facts = json.dumps([saywhy.__version__, kind, fingerprint, question], sort_keys=True)
    return hashlib.blake2b(facts.encode(), digest_size=16).hexdigest()


class Cache:
    """Answers as JSON bytes: the latest in memory and, where there is a folder, all of them as files.

    Files are written by a thread of their own under a temporary name and renamed, so that no reader sees half of one,
    and only their owner may read them. What is not readable as JSON is as good as not there.

    Args:
        folder: for the files; None for memory only.
        size: most bytes in memory.
        files: most files; the oldest go first.
    """

    def __init__(self, folder: Path | None = None, size: int = 64_000_000, files: int = 20_000) -> None:
        self.hits = self.misses = 0
        self._folder = folder
        self._size, self._files = size, files
        self._kept: OrderedDict[str, bytes] = OrderedDict()
        self._bytes = 0
        self._queue: queue.SimpleQueue[tuple[str, bytes] | None] = queue.SimpleQueue()
        self._writer: threading.Thread | None = None
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)

    def get(self, key: str, *, count: bool = True) -> bytes | None:
        """The answer kept under a key; ``count``: as a hit or a miss."""
        found = self._kept.get(key)
        if found is not None:
            self._kept.move_to_end(key)
        elif self._folder is not None:
            found = self._read(key)
            if found is not None:
                self._keep(key, found)
        if count:
            self.hits += found is not None
            self.misses += found is None
        return found

    def put(self, key: str, answer: bytes, *, disk: bool = True) -> None:
        """Keep an answer; ``disk=False`` keeps it in memory only."""
        self._keep(key, answer)
        if self._folder is None or not disk:
            return
        if self._writer is None:
            self._writer = threading.Thread(target=self._write_all, name="cache", daemon=True)
            self._writer.start()
        self._queue.put((key, answer))

    def close(self, seconds: float = 5.0) -> None:
        """Write what is not written yet."""
        if self._writer is not None:
            self._queue.put(None)
            self._writer.join(seconds)
            self._writer = None

    def _keep(self, key: str, answer: bytes) -> None:
        self._bytes += len(answer) - len(self._kept.pop(key, b""))
        self._kept[key] = answer
        while self._bytes > self._size:
            self._bytes -= len(self._kept.popitem(last=False)[1])

    def _path(self, key: str) -> Path:
        assert self._folder is not None
        return self._folder / key[:2] / f"{key}.json"

    def _read(self, key: str) -> bytes | None:
        try:
            found = self._path(key).read_bytes()
            json.loads(found)
        except (OSError, ValueError):
            return None
        return found

    def _write_all(self) -> None:
        written = self._files  # so that the first file is a reason to look how many there are
        while (item := self._queue.get()) is not None:
            path = self._path(item[0])
            part = path.with_name(f".{path.name}.{os.getpid()}.part")
            try:
                path.parent.mkdir(exist_ok=True, mode=0o700)
                with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
                    file.write(item[1])
                os.replace(part, path)
            except OSError as error:
                _log.warning("cannot keep a result: %s", error)
                with contextlib.suppress(OSError):
                    part.unlink()
                continue
            written += 1
            if written > self._files:
                written = self._prune()

    def _prune(self) -> int:
        """Remove the oldest files beyond nine tenths of the limit; how many are left."""
        assert self._folder is not None
        ages = []
        for path in self._folder.glob("*/*.json"):
            with contextlib.suppress(OSError):
                ages.append((path.stat().st_mtime, path))
        if len(ages) <= self._files:
            return len(ages)
        ages.sort(key=lambda pair: pair[0])
        left = self._files * 9 // 10
        for _, path in ages[:-left]:
            with contextlib.suppress(OSError):
                path.unlink()
        return left
