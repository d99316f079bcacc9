"""The classic sentence classification corpora: MR, CR, MPQA, Subj and TREC."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import ClassVar

from saywhy.data.corpus import register
from saywhy.data.files import read_lines
from saywhy.data.polarity import NO_SPLIT, Polarity
from saywhy.data.rows import Row

__all__ = ["SentenceCorpus", "Subj", "Trec"]


class SentenceCorpus(Polarity):
    """Movie review sentences (mr), customer reviews (cr-reviews) or opinion phrases (mpqa), negative or positive."""

    files: ClassVar[Mapping[str, str]] = {"all": "sentence_classification/{part}"}
    missing = f"{NO_SPLIT} Rows without any text are left out (4 in cr-reviews, 3 in mpqa)."

    @property
    def part(self) -> str:
        """The file's name: the corpus's, without what it was given to tell it from others."""
        return self.name.removesuffix("-reviews")


class Subj(SentenceCorpus):
    """Subjective sentences of reviews and objective ones of plot summaries."""

    labels: tuple[str, ...] = ("subjective", "objective")
    missing = NO_SPLIT
    hub_id: ClassVar[tuple[str, ...]] = ("SetFit/subj",)
    hub_labels: ClassVar[tuple[str, ...]] = ("objective", "subjective")


class Trec(Polarity):
    """Questions by what they ask for."""

    labels: tuple[str, ...] = ("description", "entity", "abbreviation", "human", "location", "number")
    files: ClassVar[Mapping[str, str]] = {
        "train": "sentence_classification/trec_train",
        "test": "sentence_classification/trec_test",
    }
    hub_id: ClassVar[tuple[str, ...]] = ("CogComp/trec",)
    hub_columns: ClassVar[Mapping[str, tuple[str, ...]]] = {"label": ("coarse_label", "label-coarse", "label")}
    hub_labels: ClassVar[tuple[str, ...]] = ("abbreviation", "entity", "description", "human", "location", "number")
    missing = "No dev split: dev_share= takes one out of train."

    def official_rows(self, path: Path) -> Iterator[Row]:
        """Lines such as ``DESC:manner How did serfdom develop ?``."""
        names = {"DESC": 0, "ENTY": 1, "ABBR": 2, "HUM": 3, "LOC": 4, "NUM": 5}
        for number, line in read_lines(path, max_line_bytes=self.max_line_bytes, encoding="latin-1"):
            label, _, text = line.strip().partition(" ")
            if line.strip():
                coarse = label.split(":")[0]
                yield Row({"label": names.get(coarse, coarse), "text": text}, str(path), number, str(path))


for _name, _paper, _summary in (
    ("mr", "Pang and Lee (2005), Seeing Stars, ACL", "Movie review sentences, negative or positive."),
    (
        "cr-reviews",
        "Hu and Liu (2004), Mining and Summarizing Customer Reviews, KDD",
        "Sentences of product reviews, negative or positive.",
    ),
    (
        "mpqa",
        "Wiebe et al. (2005), Annotating Expressions of Opinions and Emotions in Language",
        "Opinion phrases, negative or positive.",
    ),
):
    register(SentenceCorpus, _name, tasks=("text",), family="sentiment", paper=_paper, summary=_summary)
register(
    Subj,
    "subj",
    tasks=("text",),
    family="classification",
    paper="Pang and Lee (2004), A Sentimental Education, ACL",
    summary="Subjective sentences of movie reviews and objective ones of plot summaries.",
)
register(
    Trec,
    "trec",
    tasks=("text",),
    family="classification",
    paper="Li and Roth (2002), Learning Question Classifiers, COLING",
    summary="Questions by what they ask for: six classes.",
)
