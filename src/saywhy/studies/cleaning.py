"""Cleaning a corpus: texts with only the words that a rationalizer selects, and their labels."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from saywhy.data import Dataset
from saywhy.errors import OptionError
from saywhy.models import TextModel
from saywhy.models.erasures import erase_text
from saywhy.models.rationales import rationalizer_of, read_rationales

__all__ = ["write_clean_corpus"]

_BLOCK = 256


def write_clean_corpus(
    model: TextModel,
    dataset: Dataset,
    out: str | os.PathLike[str],
    *,
    split: str | None = None,
    batch_size: int = 32,
    truncation: str = "head",
) -> dict[str, Any]:
    """Write the rationales of a corpus and its labels, (Z, Y), as a Parquet file that `load_dataset` reads.

    Reference: VER, section 1: a cleaned corpus is what extractive rationales are good for besides explaining.

    Columns: ``text`` (and ``text_pair``, where there are two), ``label``, ``id``, ``split``. The words stand in the
    order of the text; those of fixed fields stay. Examples with nothing left of a text are left out and counted.
    Written block by block to a temporary name, and renamed.

    Returns:
        How many ``examples`` were written, how many were left out as ``empty``, and the share of words ``kept``.
    """
    import pyarrow as pa
    import pyarrow.parquet

    rationalizer_of(model)
    path = Path(out)
    if path.suffix != ".parquet":
        raise OptionError(f"{path} must end in .parquet")
    if split is not None and split not in dataset.splits:
        raise OptionError(f"{dataset.name} has no split {split!r}; it has {', '.join(dataset.splits)}")
    pair = dataset.task == "pair"
    names = ["text", *(["text_pair"] if pair else []), "label", "id", "split"]
    schema = pa.schema([(name, pa.string()) for name in names])
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f".{path.name}.new")
    written = empty = kept = words = 0
    with pyarrow.parquet.ParquetWriter(new, schema) as writer:
        # Where splits are drawn, `all` holds every example once more.
        parts = (split,) if split is not None else tuple(name for name in dataset.splits if name != "all")
        for part in parts or ("all",):
            for block in _blocks(iter(dataset[part])):
                encoded = model.encode(block, truncation)
                rows = []
                for item, reading in zip(encoded, read_rationales(model, encoded, batch_size), strict=True):
                    fixed = np.asarray([word.field in item.example.meta.get("fixed", ()) for word in item.words])
                    left = erase_text(item.example, item.words, reading.selected | fixed)
                    kept, words = kept + int(reading.selected.sum()), words + int((~fixed).sum())
                    if not all(text.strip() for text in left.texts):
                        empty += 1
                        continue
                    row = dict(zip(("text", "text_pair"), left.texts, strict=False))
                    label = None if left.label is None else str(left.label)
                    rows.append({**row, "label": label, "id": left.id, "split": part})
                writer.write_table(pa.Table.from_pylist(rows, schema=schema))
                written += len(rows)
    os.replace(new, path)
    return {"examples": written, "empty": empty, "kept": kept / max(1, words)}


def _blocks(examples: Iterator[Any]) -> Iterator[list[Any]]:
    while block := list(itertools.islice(examples, _BLOCK)):
        yield block
