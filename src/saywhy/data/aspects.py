"""BeerAdvocate and hotel reviews: one text with ratings of several aspects, one of which is the label."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

from saywhy.data.corpus import HASHED_SPLITS, FileCorpus, find_split_files, hash_split, register
from saywhy.data.files import read_lines, read_rows
from saywhy.data.rows import Row
from saywhy.data.spans import join_tokens, mask_to_spans, token_spans
from saywhy.types import Example, Span

__all__ = ["BEER_ASPECTS", "HOTEL_ASPECTS", "Beer", "Hotel"]

BEER_ASPECTS = ("appearance", "aroma", "palate", "taste")
HOTEL_ASPECTS = ("location", "service", "cleanliness")


class _Aspect(FileCorpus):
    """Reviews with a rating of an aspect; ratings in the middle have no class and are left out.

    Args:
        name: as registered; the aspect is its last part.
        balance: draw as many of the larger class of ``train`` as there are of the smaller, by ``seed``.
        options: see `FileCorpus`.
    """

    labels: tuple[str, ...] = ("negative", "positive")

    def __init__(self, name: str, *, balance: bool = False, **options: Any) -> None:
        super().__init__(name, **options)
        self.balance = balance

    def read(self, split: str) -> Iterator[Example]:
        """The examples of one split; ``train`` balanced if asked for."""
        examples = super().read(split)
        if not self.balance or split != "train":
            return examples
        kept = list(examples)
        by_label = {label: [i for i, e in enumerate(kept) if e.label == label] for label in self.labels}
        size = min(map(len, by_label.values()))
        rng = random.Random(self.seed)
        chosen = {i for places in by_label.values() for i in rng.sample(places, size)}
        return (e for i, e in enumerate(kept) if i in chosen)


class Beer(_Aspect):
    """BeerAdvocate reviews by one aspect, from the files decorrelated by Lei et al. (2016).

    Ratings are in 0 to 1: at most 0.4 is negative, at least 0.6 positive. The held-out reviews of the aspect serve as
    ``train`` and ``dev`` (80/20 by the hash of the text); ``raw`` has unprocessed reviews of any aspect. For
    ``appearance`` there is ``test``: the reviews of the annotated test set, but without people's rationales, which are
    not at hand; ``meta["model_rationale"]`` has the spans chosen by the model of Lei et al., which are no gold.
    Official files are ``reviews.aspect0.train.txt.gz``, ``reviews.aspect0.heldout.txt.gz`` and ``annotations.json``.
    """

    missing = "The training reviews (80,000 to 90,000 an aspect) and the human rationales of the test reviews."
    shares: ClassVar[Mapping[str, float]] = {"train": 0.8, "dev": 0.2}

    @property
    def aspect(self) -> int:
        """Its place among the ratings."""
        return BEER_ASPECTS.index(self.part)

    def splits(self) -> tuple[str, ...]:
        """``train``, ``dev`` and ``raw``; for appearance also ``test``; official files have their own."""
        if self.paths is not None or self.hub_rows is not None:
            return super().splits()
        return ("train", "dev", "test", "raw", "all") if self.part == "appearance" else ("train", "dev", "raw", "all")

    def rows(self, split: str) -> Iterator[Row]:
        """Normalised rows."""
        if self.paths is not None or self.hub_rows is not None:
            yield from super().rows(split)
            return
        if split == "test":
            for row in self.normalised("beer/annotated_test_reviews_model_rationales"):
                scores = [row.value("appearance_rating")]
                yield row.with_values({**row.values, "scores": scores})
        elif split == "raw":
            for row in self.normalised("beer/reviews_partial"):
                scores = [row.number(aspect) / 5 for aspect in BEER_ASPECTS]
                yield row.with_values({"text": row.value("text"), "scores": scores})
        else:
            for row in self.normalised(f"beer/aspect{self.aspect}_heldout"):
                example = self.example(row)
                if split == "all" or (example and hash_split(example, self.seed, self.shares) == split):
                    yield row

    def example(self, row: Row) -> Example | None:
        """One review, if its rating is not in the middle."""
        scores = row.sequence("scores")
        if len(scores) <= self.aspect:
            raise row.error(f"expected a rating for {self.part} at place {self.aspect}, found {len(scores)}", "scores")
        rating = row.with_values({"scores": scores[self.aspect]}).number("scores")
        if 0.4 < rating < 0.6:
            return None
        text, places = join_tokens(row.texts("tokens")) if row.has("tokens") else (row.text("text"), [])
        meta: dict[str, Any] = {"rating": rating}
        if row.has("model_rationale_token_spans") and row.inner("model_rationale_token_spans").has(self.part):
            spans = row.inner("model_rationale_token_spans").pairs(self.part, len(places))
            meta["model_rationale"] = token_spans(spans, places)
        gold = token_spans(row.pairs("spans", len(places)), places) if row.has("spans") else ()
        return Example(
            (text,),
            self.labels[rating >= 0.6],
            rationales=(gold,) if gold else (),
            id=str(row.values.get("id", "")),
            source=row.source,
            line=row.line,
            meta=meta,
        )

    def official_files(self, path: Any) -> dict[str, Path]:
        """Files of this aspect by split."""
        place = Path(path).expanduser() if not isinstance(path, Mapping) else None
        if place is None or not place.is_dir():
            return super().official_files(path)
        names = {"train": f"reviews.aspect{self.aspect}.train.txt*", "dev": f"reviews.aspect{self.aspect}.heldout.txt*"}
        found = {split: file for split, pattern in names.items() for file in sorted(place.glob(pattern))}
        if (place / "annotations.json").is_file():
            found["test"] = place / "annotations.json"
        return found or find_split_files(place)

    def official_rows(self, path: Path) -> Iterator[Row]:
        """Lines of five ratings, a tab and the tokens; or annotations, one JSON object a line.

        An annotated review without a span for the aspect is left out, as all who use this set do.
        """
        if ".json" in path.suffixes:
            for row in read_rows(path, format="jsonl", max_line_bytes=self.max_line_bytes):
                spans = row.values.get(str(self.aspect)) or []
                if spans:
                    yield row.with_values({"tokens": row.value("x"), "scores": row.value("y"), "spans": spans})
            return
        for number, line in read_lines(path, max_line_bytes=self.max_line_bytes):
            row = Row({}, str(path), number, str(path))
            ratings, tab, text = line.rstrip("\r\n").partition("\t")
            if not tab or not re.fullmatch(r"[0-9.]+( [0-9.]+)+", ratings):
                raise row.error("expected ratings, a tab and the text")
            yield row.with_values({"text": text.strip(), "scores": [float(r) for r in ratings.split()]})


class Hotel(_Aspect):
    """TripAdvisor hotel reviews by one aspect: more than three stars is positive, fewer negative.

    Official files are the tables of Bao et al. (2018), whose annotated ones mark the rationale's tokens by 0 and 1.
    """

    files: ClassVar[Mapping[str, str]] = {"all": "hotel/tripadvisor_aspect_reviews"}
    missing = (
        "Most of the crawl: 31,049 of 122,471 reviews; the published splits and the 200 annotated reviews an aspect, "
        "so there are no rationales. No official split: train, dev and test are 80/10/10 by the hash of the text."
    )
    shares: ClassVar[Mapping[str, float]] = HASHED_SPLITS

    def example(self, row: Row) -> Example | None:
        """One review, if the aspect was rated, and not with three stars."""
        if not row.has("label"):
            if not row.has(self.part) or row.number(self.part) == 3:
                return None
            label = "positive" if row.number(self.part) > 3 else "negative"
        else:
            label = row.label("label", self.labels)
        text = row.text("text")
        gold: tuple[Span, ...] = ()
        if row.has("mask"):
            mask, places = row.sequence("mask"), [(m.start(), m.end()) for m in re.finditer(r"\S+", text)]
            if len(mask) != len(places):
                raise row.error(f"the rationale has {len(mask)} marks, the text {len(places)} tokens", "rationale")
            gold = mask_to_spans(mask, places)
        return Example(
            (text,),
            label,
            rationales=(gold,) if gold else (),
            id=str(row.values.get("id", "")),
            source=row.source,
            line=row.line,
            meta={"ratings": {k: row.values[k] for k in HOTEL_ASPECTS if k in row.values}},
        )

    def official_rows(self, path: Path) -> Iterator[Row]:
        """Tabs with a header: ``task`` (where given), ``label``, ``text``, and ``rationale`` in annotated files."""
        for row in read_rows(path, format="tsv", max_line_bytes=self.max_line_bytes):
            values: dict[str, Any] = {"text": row.value("text"), "label": row.integer("label", low=0, high=1)}
            if row.has("rationale"):
                marks = row.text("rationale").split()
                if not all(mark in ("0", "1") for mark in marks):
                    raise row.error("a rationale is written as 0 and 1, with spaces between", "rationale")
                values["mask"] = [int(mark) for mark in marks]
            yield row.with_values(values)


register(
    Beer,
    [f"beer-{aspect}" for aspect in BEER_ASPECTS],
    tasks=("text",),
    family="rationales",
    paper="McAuley et al. (2012), Learning Attitudes and Attributes from Multi-Aspect Reviews, ICDM; "
    "Lei et al. (2016), Rationalizing Neural Predictions, EMNLP",
    summary="Beer reviews; the rating of one aspect is the label.",
)
register(
    Hotel,
    [f"hotel-{aspect}" for aspect in HOTEL_ASPECTS],
    tasks=("text",),
    family="rationales",
    paper="Wang et al. (2010), Latent Aspect Rating Analysis on Review Text Data, KDD; "
    "Bao et al. (2018), Deriving Machine Attention from Human Rationales, EMNLP",
    summary="Hotel reviews; the rating of one aspect is the label.",
)
