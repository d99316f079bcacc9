"""Sentence pairs: SNLI, MultiNLI, SICK, HANS, Breaking NLI and counterfactual SNLI."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

from saywhy.data.corpus import FileCorpus, find_split_files, register
from saywhy.data.files import format_of, read_rows
from saywhy.data.rows import Row
from saywhy.data.words import split_words
from saywhy.types import Example, Span

__all__ = [
    "NLI_LABELS",
    "BreakingNli",
    "CadSnli",
    "Hans",
    "MultiNli",
    "PairCorpus",
    "Sick",
    "Snli",
    "differing_phrases",
]

NLI_LABELS = ("entailment", "neutral", "contradiction")


class PairCorpus(FileCorpus):
    """Premise, hypothesis and label, in the columns that most corpora use.

    Args:
        name: as registered.
        unlabelled: keep pairs on which the annotators did not agree (``-``), with None for a label.
        options: see `FileCorpus`.
    """

    task = "pair"
    labels: tuple[str, ...] = NLI_LABELS
    kept: ClassVar[tuple[str, ...]] = (
        "annotator_labels",
        "category",
        "genre",
        "heuristic",
        "relatedness",
        "source",
        "subcase",
    )
    """Fields that go into ``meta``."""

    def __init__(self, name: str, *, unlabelled: bool = False, **options: Any) -> None:
        super().__init__(name, **options)
        self.unlabelled = unlabelled

    def example(self, row: Row) -> Example | None:
        """One pair."""
        if row.values.get("label") == "-":
            if not self.unlabelled:
                return None
            label = None
        else:
            label = row.label("label", self.labels)
        premise, hypothesis = row.text("premise"), row.text("hypothesis")
        return Example(
            (premise, hypothesis),
            label,
            alignments=self.alignments(premise, hypothesis),
            id=str(row.values.get("id", "")),
            source=row.source,
            line=row.line,
            meta={field: row.values[field] for field in self.kept if row.values.get(field) is not None},
        )

    def alignments(self, premise: str, hypothesis: str) -> tuple[tuple[Span, Span], ...]:
        """Gold phrase pairs; most corpora have none."""
        return ()

    def official_rows(self, path: Path) -> Iterator[Row]:
        """SNLI's columns (``gold_label``, ``sentence1``, ``sentence2``, ``pairID``), as JSON Lines or tabs."""
        for row in read_rows(path, format=format_of(path) or "tsv", max_line_bytes=self.max_line_bytes):
            parses = {f"{new}_parse": row.values.get(f"{old}_parse") for new, old in _OLD.items()}
            yield row.with_values(
                {
                    **row.values,
                    **parses,
                    "premise": row.value("sentence1"),
                    "hypothesis": row.value("sentence2"),
                    "label": row.value("gold_label"),
                    "id": row.values.get("pairID", ""),
                }
            )


_OLD = {"premise": "sentence1", "hypothesis": "sentence2"}


class Snli(PairCorpus):
    """SNLI; constituency parses are in ``meta``."""

    files: ClassVar[Mapping[str, str]] = {"train": "snli/train_1024_sample", "dev": "snli/dev", "test": "snli/test"}
    hub_id: ClassVar[tuple[str, ...]] = ("stanfordnlp/snli",)
    kept: ClassVar[tuple[str, ...]] = ("annotator_labels", "premise_parse", "hypothesis_parse")
    missing = "All but the first 1,024 of 550,152 training pairs."
    id_space = "snli"


class MultiNli(PairCorpus):
    """MultiNLI; ``dev-tokenised`` is a part of ``dev`` in another tokenisation: never use both."""

    files: ClassVar[Mapping[str, str]] = {
        "train": "multinli/train_20k",
        "dev": "multinli/dev_matched",
        "dev-tokenised": "multinli/val_5k",
    }
    hub_id: ClassVar[tuple[str, ...]] = ("nyu-mll/multi_nli",)
    hub_splits: ClassVar[Mapping[str, str]] = {"validation_matched": "dev", "validation_mismatched": "dev-mismatched"}
    hub_columns: ClassVar[Mapping[str, tuple[str, ...]]] = {"id": ("pairID",)}
    missing = "The mismatched dev set; all but 20,000 of 392,702 training pairs, which are tokenised."

    def official_files(self, path: Any) -> dict[str, Path]:
        """The two dev sets have names of their own."""
        place = Path(path).expanduser() if not isinstance(path, Mapping) else None
        if place is None or not place.is_dir():
            return super().official_files(path)
        names = {"train": "train", "dev_matched": "dev", "dev_mismatched": "dev-mismatched"}
        found = {split: file for part, split in names.items() for file in sorted(place.glob(f"*_{part}.jsonl"))}
        return found or find_split_files(place)


class Sick(PairCorpus):
    """SICK, with its relatedness scores in ``meta``."""

    files: ClassVar[Mapping[str, str]] = {"train": "sick/train", "dev": "sick/dev", "test": "sick/test"}
    hub_id: ClassVar[tuple[str, ...]] = ("RobZamp/sick",)
    hub_columns: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "premise": ("sentence_A",),
        "hypothesis": ("sentence_B",),
        "relatedness": ("relatedness_score",),
    }

    def official_rows(self, path: Path) -> Iterator[Row]:
        """SemEval's tables (``pair_ID``, ``sentence_A``, ...)."""
        for row in read_rows(path, format="tsv", max_line_bytes=self.max_line_bytes):
            judgement = "entailment_judgment" if row.has("entailment_judgment") else "entailment_label"
            yield row.with_values(
                {
                    "id": row.value("pair_ID"),
                    "premise": row.value("sentence_A"),
                    "hypothesis": row.value("sentence_B"),
                    "label": row.text(judgement).lower(),
                    "relatedness": row.number("relatedness_score"),
                }
            )


class Hans(PairCorpus):
    """HANS: pairs on which lexical overlap, subsequence and constituent heuristics go wrong.

    ``test`` has the sizes, templates and words of the official evaluation set in a draw of its own, with heuristic and
    subcase in ``meta``; ``sample`` has 1,000 of the published pairs.
    """

    labels: tuple[str, ...] = ("entailment", "non-entailment")
    files: ClassVar[Mapping[str, str]] = {"test": "hans/evaluation_regenerated", "sample": "hans/official_sample_1k"}
    hub_id: ClassVar[tuple[str, ...]] = ("jhu-cogsci/hans",)
    hub_columns: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "premise_parse": ("parse_premise",),
        "hypothesis_parse": ("parse_hypothesis",),
    }
    kept: ClassVar[tuple[str, ...]] = ("heuristic", "subcase", "template", "premise_parse", "hypothesis_parse")
    missing = "The published rows of the evaluation set, of which sample has 1,000."


class CadSnli(PairCorpus):
    """SNLI pairs and rewritings of their premise or hypothesis that change the label."""

    files: ClassVar[Mapping[str, str]] = {"train": "cad_snli/train", "dev": "cad_snli/dev"}
    missing = "Its original training pairs are SNLI's: load_dataset('snli', exclude='cad-snli')."


class BreakingNli(PairCorpus):
    """Breaking NLI: SNLI premises with one word replaced; the replaced words are the gold alignment."""

    files: ClassVar[Mapping[str, str]] = {"test": "breaking_nli/test"}
    missing = "Nothing; it is a test set. One of the 8,193 pairs deletes a word, so it has no alignment."

    def alignments(self, premise: str, hypothesis: str) -> tuple[tuple[Span, Span], ...]:
        """The phrases in which the two sentences differ."""
        return differing_phrases(premise, hypothesis)


def differing_phrases(premise: str, hypothesis: str) -> tuple[tuple[Span, Span], ...]:
    """Pairs of phrases that replace each other between two sentences that are otherwise equal.

    Articles that only follow the next word (*a pear*, *an apple*) are left out of a phrase that goes on after them.

    Example:
        >>> differing_phrases("near the yellow line", "near the red line")
        ((Span(field=0, start=9, end=15), Span(field=1, start=9, end=12)),)
    """
    first, second = split_words(premise, 0), split_words(hypothesis, 1)
    matcher = difflib.SequenceMatcher(None, [w.text for w in first], [w.text for w in second], autojunk=False)
    found = []
    for kind, a, b, c, d in matcher.get_opcodes():
        if kind != "replace":
            continue
        articles = {first[a].text.lower(), second[c].text.lower()}
        if articles == {"a", "an"}:
            if b - a == d - c == 1:
                continue
            a, c = a + (b - a > 1), c + (d - c > 1)
        found.append((Span(0, first[a].start, first[b - 1].end), Span(1, second[c].start, second[d - 1].end)))
    return tuple(found)


for _factory, _name, _paper, _summary in (
    (
        Snli,
        "snli",
        "Bowman et al. (2015), A Large Annotated Corpus for Learning Natural Language Inference, EMNLP",
        "Captions and sentences that follow from them, may be true, or contradict them.",
    ),
    (
        MultiNli,
        "multinli",
        "Williams et al. (2018), A Broad-Coverage Challenge Corpus for Sentence Understanding through Inference, NAACL",
        "Inference pairs of many genres.",
    ),
    (
        Sick,
        "sick",
        "Marelli et al. (2014), A SICK Cure for the Evaluation of Compositional Distributional Semantic Models, LREC",
        "Pairs made by rules of composition, with entailment and relatedness.",
    ),
    (
        Hans,
        "hans",
        "McCoy et al. (2019), Right for the Wrong Reasons, ACL",
        "Pairs on which shallow heuristics of inference fail.",
    ),
    (
        BreakingNli,
        "breaking-nli",
        "Glockner et al. (2018), Breaking NLI Systems with Sentences that Require Simple Lexical Inferences, ACL",
        "Premises with one word replaced; the replaced words are the alignment that decides.",
    ),
    (
        CadSnli,
        "cad-snli",
        "Kaushik et al. (2020), Learning the Difference that Makes a Difference, ICLR",
        "SNLI pairs, each beside minimal rewritings that change the label.",
    ),
):
    register(_factory, _name, tasks=("pair",), family="inference", paper=_paper, summary=_summary)
