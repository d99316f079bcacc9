"""What corpora of negative and positive texts have in common."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import ClassVar

from saywhy.data.corpus import FileCorpus
from saywhy.data.files import format_of, read_lines, read_rows
from saywhy.data.rows import Row
from saywhy.types import Example

__all__ = ["NO_SPLIT", "Polarity"]

NO_SPLIT = "No official split: train, dev and test are 80/10/10 by the hash of the text."


class Polarity(FileCorpus):
    """Texts that are negative or positive."""

    labels: tuple[str, ...] = ("negative", "positive")
    hub_columns: ClassVar[Mapping[str, tuple[str, ...]]] = {"text": ("text", "sentence", "review", "content")}

    def example(self, row: Row) -> Example | None:
        """One text and its class; a row without any text is left out."""
        text = row.text("text")
        if not text.strip():
            return None
        return Example(
            (text,),
            row.label("label", self.labels),
            id=str(row.values.get("id", "")),
            source=row.source,
            line=row.line,
            meta={k: row.values[k] for k in ("stars", "pair", "source") if k in row.values},
        )

    def official_rows(self, path: Path) -> Iterator[Row]:
        """A table with ``text`` and ``label``, or lines of a number and a text."""
        if format_of(path) is not None:
            yield from read_rows(path, max_line_bytes=self.max_line_bytes)
            return
        for number, line in read_lines(path, max_line_bytes=self.max_line_bytes):
            label, _, text = line.strip().partition(" ")
            if line.strip():
                yield Row({"label": label, "text": text}, str(path), number, str(path))
