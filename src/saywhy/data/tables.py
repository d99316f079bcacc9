"""A user's own data: CSV, TSV, JSON Lines, JSON or Parquet with named columns."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from saywhy.data.corpus import HASHED_SPLITS, Corpus, find_split_files, hash_split
from saywhy.data.files import MAX_LINE_BYTES, read_rows
from saywhy.data.rows import Row
from saywhy.errors import DataError, OptionError
from saywhy.types import Example, Span

__all__ = ["COLUMNS", "TableCorpus"]

COLUMNS: Mapping[str, tuple[str, ...]] = {
    "text": ("text", "sentence", "review", "premise", "sentence1", "question", "content"),
    "text_pair": ("text_pair", "hypothesis", "sentence2", "context"),
    "label": ("label", "class", "sentiment", "gold_label", "answer"),
    "choices": ("choices",),
    "rationale": ("rationale", "rationales", "spans"),
    "answers": ("answers",),
    "explanation": ("explanation", "explanations"),
    "id": ("id", "idx"),
}


class TableCorpus(Corpus):
    """A file, or a folder of files named after their splits, with one example a row.

    Columns: ``text``; ``text_pair`` (pairs, or the context of a question); ``label`` (a name or number; for choices
    the index or the words of the right one); ``choices`` (a list); ``rationale`` (spans ``[start, end]`` over the
    text, or ``[field, start, end]``, or one such list per annotator); ``answers`` (spans over ``text_pair``);
    ``explanation`` (a string or a list); ``id``. In CSV and TSV, lists are written as JSON. A lone file whose name
    tells no split is split 80/10/10 by the hash of its texts, and is whole as ``all``.

    Args:
        name: the path.
        seed: of the drawn split.
        columns: the file's name for a column, such as ``{"text": "review"}``; None ignores a column. Columns that are
            not mentioned are found by the usual names (see `COLUMNS`).
        labels: all class names in order; a number in the file is then an index into it. Without it the names are those
            that occur.
        skip_empty: leaves out rows whose text is empty, instead of raising.
        keep_faulty: a row that is no example becomes one with an empty text, and what is wrong with it as
            ``meta["fault"]``, for those who count rows and must not lose one.
        format: the file's format, if its name does not tell: ``jsonl``, ``json``, ``csv``, ``tsv``, ``parquet``.
        names: column names of a CSV or TSV without a header line.
        quotes: whether double quotes enclose fields: yes in CSV and no in TSV unless given.
        encoding: of the text.
        max_line_bytes: longest line that is read.
    """

    def __init__(
        self,
        name: str,
        *,
        seed: int = 0,
        columns: Mapping[str, str | None] | None = None,
        labels: Sequence[str] | None = None,
        skip_empty: bool = False,
        keep_faulty: bool = False,
        format: str | None = None,  # noqa: A002 - the word users know
        names: Sequence[str] | None = None,
        quotes: bool | None = None,
        encoding: str = "utf-8",
        max_line_bytes: int = MAX_LINE_BYTES,
    ) -> None:
        unknown = sorted(set(columns or ()) - set(COLUMNS))
        if unknown:
            raise OptionError(f"columns= knows no {unknown[0]!r}; it knows {', '.join(COLUMNS)}")
        if isinstance(labels, str):
            raise OptionError("labels= takes a list of names, not a string")
        self.name = name
        self.seed = seed
        self.labels = tuple(map(str, labels)) if labels is not None else None
        self._given = dict(columns or {})
        self._skip_empty = skip_empty
        self._keep_faulty = keep_faulty
        self._reading: dict[str, Any] = {
            "format": format,
            "names": names,
            "quotes": quotes,
            "encoding": encoding,
            "max_line_bytes": max_line_bytes,
        }
        self._files = find_split_files(Path(name).expanduser())

    @cached_property
    def task(self) -> str:  # type: ignore[override]
        """Told by the columns of the first row."""
        first = next(self._rows(next(iter(self._files))), None)
        columns = self._columns(first) if first is not None else self._given
        if columns.get("choices"):
            return "choices"
        if columns.get("answers"):
            return "span-qa"
        return "pair" if columns.get("text_pair") else "text"

    def splits(self) -> tuple[str, ...]:
        """The files' splits, or drawn ones and ``all``."""
        names = tuple(self._files)
        return (*HASHED_SPLITS, "all") if names == ("all",) else names

    def read(self, split: str) -> Iterator[Example]:
        """The examples of one split, in order, each time anew."""
        drawn = tuple(self._files) == ("all",) and split != "all"
        for row in self._rows("all" if drawn else split):
            example = self._checked(row, self._columns(row))
            if example is not None and (not drawn or hash_split(example, self.seed, HASHED_SPLITS) == split):
                yield example

    def _rows(self, split: str) -> Iterator[Row]:
        return read_rows(self._files[split], source=os.fspath(self._files[split]), **self._reading)

    def _columns(self, row: Row) -> dict[str, str | None]:
        found: dict[str, str | None] = {}
        for column, usual in COLUMNS.items():
            if column in self._given:
                found[column] = self._given[column]
            else:
                found[column] = next((name for name in usual if name in row.values), None)
        if found["text"] is None:
            raise row.error(
                f"no column holds the text; the row has {', '.join(map(str, row.values))}: say which one with "
                "columns={'text': ...}",
                "text",
            )
        return found

    def _checked(self, row: Row, columns: Mapping[str, str | None]) -> Example | None:
        try:
            return self._example(row, columns)
        except DataError as error:
            if not self._keep_faulty:
                raise
            return Example(("",), source=row.source, line=row.line, meta={"fault": str(error)})

    def _example(self, row: Row, columns: Mapping[str, str | None]) -> Example | None:
        texts = tuple(row.text(c) for c in (columns["text"], columns["text_pair"]) if c is not None)
        for column, text in zip((columns["text"], columns["text_pair"]), texts, strict=False):
            if not text.strip():
                if self._skip_empty:
                    return None
                raise row.error("the text is empty; skip_empty=True leaves such rows out", column)
        choices = row.texts(columns["choices"]) if columns["choices"] else ()
        fields = texts + choices
        identity = row.values.get(columns["id"]) if columns["id"] else None
        return Example(
            texts=texts,
            label=self._label(row, columns["label"], choices),
            choices=choices,
            rationales=_rationales(row, columns["rationale"], fields),
            answers=tuple(Span(1, s, e) for s, e in row.pairs(columns["answers"], len(texts[-1])))
            if columns["answers"]
            else (),
            explanations=_explanations(row, columns["explanation"]),
            id="" if identity is None else str(identity),
            source=row.source,
            line=row.line,
        )

    def _label(self, row: Row, column: str | None, choices: tuple[str, ...]) -> str | int | None:
        if column is None or (column in row.values and row.values[column] is None):
            return None
        value = row.value(column)
        if choices:
            if isinstance(value, str) and value in choices:
                return choices.index(value)
            return row.integer(column, low=0, high=len(choices) - 1)
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if not isinstance(value, str | int | float):
            raise row.error(f"expected a label, got a {type(value).__name__}", column)
        if str(value).strip() == "":
            raise row.error("the label is empty; columns={'label': None} reads the file without labels", column)
        if self.labels is not None:
            return row.with_values({column: value}).label(column, self.labels)
        return str(value)


def _rationales(row: Row, column: str | None, fields: tuple[str, ...]) -> tuple[tuple[Span, ...], ...]:
    if column is None or not row.has(column) or row.values[column] == "":
        return ()
    given = row.sequence(column)
    # Spans are lists of numbers; annotators are lists of spans.
    several = bool(given) and all(isinstance(a, list) and all(isinstance(s, list) for s in a) for a in given)
    return tuple(
        tuple(_span(row, column, span, fields) for span in annotator) for annotator in (given if several else [given])
    )


def _span(row: Row, column: str, span: Any, fields: tuple[str, ...]) -> Span:
    if (
        not isinstance(span, list)
        or len(span) not in (2, 3)
        or not all(isinstance(edge, int) and not isinstance(edge, bool) for edge in span)
    ):
        raise row.error(f"expected spans [start, end] or [field, start, end], found {span!r:.60}", column)
    field, start, end = span if len(span) == 3 else (0, *span)
    if not 0 <= field < len(fields):
        raise row.error(f"the span {span} names field {field}; the example has {len(fields)}", column)
    if not 0 <= start < end <= len(fields[field]):
        raise row.error(f"the span {span} does not lie within the text's {len(fields[field])} characters", column)
    return Span(field, start, end)


def _explanations(row: Row, column: str | None) -> tuple[str, ...]:
    if column is None or not row.has(column):
        return ()
    return (row.text(column),) if isinstance(row.values[column], str) else row.texts(column)
