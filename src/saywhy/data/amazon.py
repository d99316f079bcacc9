"""Amazon reviews: five domains, musical instruments, and sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

from saywhy.data.corpus import FileCorpus, register
from saywhy.data.files import read_rows
from saywhy.data.polarity import NO_SPLIT, Polarity
from saywhy.data.rows import Row
from saywhy.errors import OptionError
from saywhy.types import Example

__all__ = ["DOMAINS", "AmazonDomain", "AmazonInstruments", "AmazonSentences"]

DOMAINS = ("books", "dvd", "electronics", "kitchen", "video")


class AmazonDomain(Polarity):
    """Amazon reviews of one kind of goods, as many negative as positive."""

    files: ClassVar[Mapping[str, str]] = {"all": "amazon_multidomain/{part}"}
    missing = f"The unlabelled reviews. {NO_SPLIT}"


class AmazonSentences(Polarity):
    """Sentences of Amazon reviews."""

    files: ClassVar[Mapping[str, str]] = {"dev": "amazon_sentences/dev", "test": "amazon_sentences/test"}
    missing = "The train file."


class AmazonInstruments(FileCorpus):
    """Amazon reviews of musical instruments; one to five stars read as three classes, as REGEX does.

    Args:
        name: as registered.
        classes: ``three`` (1-2 negative, 3 neutral, 4-5 positive) or ``five`` (one for each number of stars).
        options: see `FileCorpus`.
    """

    files: ClassVar[Mapping[str, str]] = {"all": "amazon_musical_instruments/reviews_partial"}
    hub_columns: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "text": ("text", "reviewText"),
        "stars": ("stars", "overall", "rating"),
    }
    missing = f"5,048 of the 10,261 reviews of the 5-core file. {NO_SPLIT}"

    def __init__(self, name: str, *, classes: str = "three", **options: Any) -> None:
        names = {"three": ("negative", "neutral", "positive"), "five": ("1", "2", "3", "4", "5")}
        if classes not in names:
            raise OptionError(f"classes must be three or five, not {classes!r}")
        self.labels = names[classes]
        super().__init__(name, **options)

    def example(self, row: Row) -> Example | None:
        """One review, its class by its stars."""
        text = row.text("text")
        if not text.strip():
            return None
        stars = row.integer("stars", low=1, high=5)
        label = str(stars) if len(self.labels) == 5 else ("negative", "neutral", "positive")[(stars >= 3) + (stars > 3)]
        return Example((text,), label, source=row.source, line=row.line, meta={"stars": stars})

    def official_rows(self, path: Path) -> Iterator[Row]:
        """The 5-core JSON Lines file."""
        for row in read_rows(path, format="jsonl", max_line_bytes=self.max_line_bytes):
            yield row.with_values({"text": row.value("reviewText"), "stars": row.value("overall")})


register(
    AmazonDomain,
    [f"amazon-{domain}" for domain in DOMAINS],
    tasks=("text",),
    family="sentiment",
    paper="Blitzer et al. (2007), Biographies, Bollywood, Boom-boxes and Blenders, ACL",
    summary="Amazon reviews of one kind of goods, as many negative as positive.",
)
register(
    AmazonSentences,
    "amazon-sentences",
    tasks=("text",),
    family="sentiment",
    paper="Li et al. (2018), Delete, Retrieve, Generate, NAACL",
    summary="Sentences of Amazon reviews, negative or positive.",
)
register(
    AmazonInstruments,
    "amazon-instruments",
    tasks=("text",),
    family="sentiment",
    paper="Ni et al. (2019), Justifying Recommendations using Distantly-Labeled Reviews, EMNLP",
    summary="Amazon reviews of musical instruments, negative, neutral or positive by their stars.",
)
