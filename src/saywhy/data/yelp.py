"""Yelp reviews and sentences of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import ClassVar

from saywhy.data.corpus import register
from saywhy.data.files import read_rows
from saywhy.data.polarity import Polarity
from saywhy.data.rows import Row

__all__ = ["YelpPolarity", "YelpSentences"]


class YelpSentences(Polarity):
    """Short sentences of Yelp reviews with the polarity of their review."""

    files: ClassVar[Mapping[str, str]] = {"dev": "yelp_sentences/dev", "test": "yelp_sentences/test"}
    missing = "The train file."


class YelpPolarity(Polarity):
    """Whole Yelp reviews."""

    files: ClassVar[Mapping[str, str]] = {"test": "yelp_polarity/sample_1k"}
    hub_id: ClassVar[tuple[str, ...]] = ("fancyzhx/yelp_polarity",)
    missing = "All but 1,000 of the 38,000 test reviews; the train split."

    def official_rows(self, path: Path) -> Iterator[Row]:
        """The CSV of two columns: 1 or 2, and the text with an escape for line ends."""
        for row in read_rows(path, format="csv", names=("label", "text"), max_line_bytes=self.max_line_bytes):
            label = row.integer("label", low=1, high=2) - 1
            yield row.with_values({"label": label, "text": row.text("text").replace("\\n", "\n")})


register(
    YelpSentences,
    "yelp-sentences",
    tasks=("text",),
    family="sentiment",
    paper="Shen et al. (2017), Style Transfer from Non-Parallel Text by Cross-Alignment, NeurIPS",
    summary="Sentences of at most 15 words of Yelp reviews, with the polarity of their review.",
)
register(
    YelpPolarity,
    "yelp-polarity",
    tasks=("text",),
    family="sentiment",
    paper="Zhang et al. (2015), Character-level Convolutional Networks for Text Classification, NeurIPS",
    summary="Yelp reviews, negative or positive.",
)
