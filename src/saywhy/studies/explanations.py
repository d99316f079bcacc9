"""Explanations in Parquet: compact columns that any reader understands, and explanations back, one at a time.

A row is one explanation of one input. What is the same in row after row (the labels, the method's parameters) stands in
one column of JSON, ``details``, which Parquet's dictionaries make almost free.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from saywhy.errors import DataError
from saywhy.types import Example, Explanation, explanation_from_dict

if TYPE_CHECKING:
    import pyarrow

__all__ = ["WRITING", "explanation_row", "explanations_schema", "failure_row", "read_explanations"]

_BATCH = 64
# Columns that are fields of an explanation's header, and those of the explanation itself.
_HEADER = ("texts", "choices", "method", "target", "probabilities", "notes", "model", "version")
_OWN = ("words", "scores", "selected", "error")
_COUNTING = ("words.list.element.start", "words.list.element.end")
# Places in a text grow by little: their differences take a fifth of the file less than a dictionary of them.
WRITING: Mapping[str, Any] = {
    "compression": "zstd",
    "use_dictionary": [
        *("id", "method", "target", "prediction", "fingerprint", "version", "details", "error_message"),
        *("texts.list.element", "choices.list.element", "notes.list.element", "words.list.element.text"),
        *("words.list.element.field", "scores.list.element"),
    ],
    "column_encoding": dict.fromkeys(_COUNTING, "DELTA_BINARY_PACKED"),
}
"""How Parquet files of explanations are written."""


def explanations_schema() -> pyarrow.Schema:
    """The columns.

    ``row`` counts the rows of the data from 0; ``fingerprint`` is the model's; ``scores`` of word pairs stand row by
    row. A row of the data that could not be explained has an ``error_message`` and no words.
    """
    import pyarrow as pa

    word = pa.struct([("text", pa.string()), ("start", pa.int32()), ("end", pa.int32()), ("field", pa.int8())])
    return pa.schema(
        [
            ("row", pa.int64()),
            ("id", pa.string()),
            ("texts", pa.list_(pa.string())),
            ("choices", pa.list_(pa.string())),
            ("method", pa.string()),
            ("target", pa.string()),
            ("prediction", pa.string()),
            ("probability", pa.float64()),
            ("probabilities", pa.list_(pa.float64())),
            ("words", pa.list_(word)),
            ("scores", pa.list_(pa.float64())),
            ("selected", pa.list_(pa.bool_())),
            ("error", pa.float64()),
            ("notes", pa.list_(pa.string())),
            ("fingerprint", pa.string()),
            ("version", pa.string()),
            ("details", pa.string()),
            ("error_message", pa.string()),
        ]
    )


def explanation_row(row: int, example: Example, why: Explanation) -> dict[str, Any]:
    """An explanation as a row of the table."""
    whole = why.to_dict()
    header = whole["header"]
    columns = {name: header.pop(name) for name in _HEADER} | {n: whole.pop(n) for n in _OWN if n in whole}
    if why.kind == "alignments":
        columns["words"] = whole.pop("premise") + whole.pop("hypothesis")
        columns["scores"] = [score for line in columns["scores"] for score in line]
    said = why.prediction
    columns |= {"fingerprint": columns.pop("model"), "prediction": said.label, "probability": said.probability}
    details = json.dumps(whole, ensure_ascii=False, sort_keys=True)
    return {"row": row, "id": example.id, **columns, "details": details}


def failure_row(row: int, example: Example, method: str, message: str) -> dict[str, Any]:
    """The row of an input that could not be explained."""
    texts = {"texts": list(example.texts), "choices": list(example.choices)}
    return {"row": row, "id": example.id, **texts, "method": method, "error_message": message}


def _explanation(row: Mapping[str, Any]) -> Explanation:
    whole = json.loads(row["details"])
    columns = {**row, "model": row["fingerprint"]}
    whole["header"] |= {name: columns[name] for name in _HEADER}
    whole |= {name: columns[name] for name in _OWN if columns[name] is not None}
    if whole["kind"] == "alignments":
        words, scores = whole.pop("words"), whole["scores"]
        whole["premise"] = [word for word in words if word["field"] == 0]
        whole["hypothesis"] = [word for word in words if word["field"] == 1]
        wide = len(whole["hypothesis"])
        whole["scores"] = [scores[i * wide : (i + 1) * wide] for i in range(len(whole["premise"]))]
    return explanation_from_dict(whole)


def read_explanations(path: str | os.PathLike[str], methods: Sequence[str] = ()) -> Iterator[Explanation]:
    """The explanations that `explain_many` wrote, one at a time, as they were; failed rows are left out.

    Args:
        path: the Parquet file.
        methods: only those of these methods; of all if empty.

    Raises:
        DataError: no such file, or not one of explanations.

    Example:
        >>> for why in read_explanations("why.parquet"):                                    # doctest: +SKIP
        ...     print(why.prediction, why.top(3))
    """
    import pyarrow
    import pyarrow.parquet

    name = os.fspath(path)
    try:
        with pyarrow.parquet.ParquetFile(name) as file:
            missing = [c for c in explanations_schema().names if c not in file.schema_arrow.names]
            if missing:
                raise DataError(f"not a file of explanations: it has no column {missing[0]!r}", file=name)
            for batch in file.iter_batches(batch_size=_BATCH):
                for row in batch.to_pylist():
                    if row["error_message"] is None and (not methods or row["method"] in methods):
                        yield _explanation(row)
    except FileNotFoundError:
        raise DataError("no such file", file=name) from None
    except (OSError, pyarrow.ArrowException) as error:
        raise DataError(f"not a Parquet file that can be read: {error}", file=name) from None
