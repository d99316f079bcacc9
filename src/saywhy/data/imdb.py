"""IMDb movie reviews, and their counterfactual rewritings."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

from saywhy.data.corpus import register
from saywhy.data.files import read_lines, read_rows
from saywhy.data.polarity import Polarity
from saywhy.data.rows import Row
from saywhy.errors import DataError

__all__ = ["CadImdb", "Imdb"]


class Imdb(Polarity):
    """IMDb movie reviews; ids are the names of the official files."""

    files: ClassVar[Mapping[str, str]] = {"train": "imdb/train", "test": "imdb/test"}
    hub_id: ClassVar[tuple[str, ...]] = ("stanfordnlp/imdb",)
    missing = "The 50,000 unlabelled reviews. No dev split: dev_share= takes one out of train."

    def official_files(self, path: Any) -> dict[str, Path]:
        """The folders ``train`` and ``test`` of the official archive."""
        place = Path(path).expanduser()
        found = {split: place / split for split in ("train", "test") if (place / split).is_dir()}
        if not found:
            raise DataError("expected the folder aclImdb, with train/ and test/ in it", file=str(place))
        return found

    def official_rows(self, path: Path) -> Iterator[Row]:
        """One file a review: ``neg/0_3.txt`` is review 0, three stars."""
        for label in ("neg", "pos"):
            names = {file: re.fullmatch(r"([0-9]+)_([0-9]+)", file.stem) for file in (path / label).glob("*.txt")}
            for file, numbers in sorted(names.items(), key=lambda item: int(item[1][1]) if item[1] else -1):
                if numbers is None:
                    raise DataError(
                        "a review's file is named by its number and its stars, such as 0_3.txt", file=str(file)
                    )
                text = "".join(line for _, line in read_lines(file, max_line_bytes=self.max_line_bytes))
                stars = int(numbers[2])
                identity = f"{label}/{file.stem}"
                values = {"id": identity, "text": text, "label": int(label == "pos"), "stars": stars}
                yield Row(values, str(file), 1, f"{path.name}/{identity}")


class CadImdb(Polarity):
    """IMDb reviews and their rewritings by people who were to flip the sentiment with as few edits as possible."""

    files: ClassVar[Mapping[str, str]] = {"train": "cad_imdb/train", "dev": "cad_imdb/dev"}
    missing = "Its original reviews come from IMDb's train: load_dataset('imdb', exclude='cad-imdb')."

    def official_rows(self, path: Path) -> Iterator[Row]:
        """The authors' TSV: Sentiment, Text, batch_id."""
        for row in read_rows(path, format="tsv", quotes=True, max_line_bytes=self.max_line_bytes):
            label = {"Negative": 0, "Positive": 1}.get(row.text("Sentiment"), row.text("Sentiment"))
            yield row.with_values({"text": row.text("Text"), "label": label, "pair": row.values.get("batch_id")})


register(
    Imdb,
    "imdb",
    tasks=("text",),
    family="sentiment",
    paper="Maas et al. (2011), Learning Word Vectors for Sentiment Analysis, ACL",
    summary="Movie reviews, negative or positive.",
)
register(
    CadImdb,
    "cad-imdb",
    tasks=("text",),
    family="sentiment",
    paper="Kaushik et al. (2020), Learning the Difference that Makes a Difference, ICLR",
    summary="Movie reviews, each beside a minimal rewriting with the other sentiment.",
)
