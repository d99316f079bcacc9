"""e-SNLI: SNLI with explanations in people's own words and with highlighted words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

from saywhy.data.corpus import FileCorpus, register
from saywhy.data.files import read_rows
from saywhy.data.nli import NLI_LABELS
from saywhy.data.rows import Row
from saywhy.data.spans import find_phrases, parse_stars
from saywhy.types import Example, Span

__all__ = ["Esnli", "EsnliHighlights"]

PAPER = "Camburu et al. (2018), e-SNLI: Natural Language Inference with Natural Language Explanations, NeurIPS"


class Esnli(FileCorpus):
    """e-SNLI: pairs with up to three explanations; official files also give the highlighted words.

    Reference: Camburu et al. (2018), section 2. Highlights are the words between stars in ``Sentence1_marked_1`` and
    so on, not the columns ``Sentence1_Highlighted_1``, which count tokens in another way.
    """

    task = "pair"
    labels: tuple[str, ...] = NLI_LABELS
    files: ClassVar[Mapping[str, str]] = {"dev": "esnli/dev", "test": "esnli/test"}
    hub_id: ClassVar[tuple[str, ...]] = ("esnli/esnli",)
    missing = "The 549,367 training pairs, and the highlights (esnli-highlights has a part). Punctuation is split off."
    id_space = "snli"

    def example(self, row: Row) -> Example:
        """One pair with its explanations, and a rationale for each annotator who highlighted words."""
        premise, hypothesis = row.text("premise"), row.text("hypothesis")
        explanations: tuple[str, ...] = row.texts("explanations") if row.has("explanations") else ()
        rationales = []
        if row.has("annotations"):
            annotations = row.rows("annotations")
            explanations = tuple(a.text("explanation") for a in annotations)
            for annotation in annotations:
                spans = [Span(0, s, e) for s, e in annotation.pairs("premise_char_spans", len(premise))]
                spans += [Span(1, s, e) for s, e in annotation.pairs("hypothesis_char_spans", len(hypothesis))]
                rationales.append(tuple(spans))
        return Example(
            (premise, hypothesis),
            row.label("label", self.labels),
            rationales=tuple(rationales),
            explanations=explanations,
            id=str(row.values.get("id", "")),
            source=row.source,
            line=row.line,
        )

    def hub_row(self, row: Row) -> Row | None:
        """``explanation_1`` to ``explanation_3``, of which train has only the first."""
        known = super().hub_row(row)
        if known is None:
            return None
        found = [row.values.get(f"explanation_{i}") for i in (1, 2, 3)]
        return known.with_values({**known.values, "explanations": [e for e in found if e]})

    def official_rows(self, path: Path) -> Iterator[Row]:
        """The CSV files, with stars around highlighted words."""
        for row in read_rows(path, format="csv", max_line_bytes=self.max_line_bytes):
            premise, hypothesis = row.text("Sentence1"), row.text("Sentence2")
            annotations = []
            for i in (1, 2, 3):
                if row.values.get(f"Explanation_{i}"):
                    spans: dict[str, Any] = {"explanation": row.values[f"Explanation_{i}"]}
                    for number, (name, text) in enumerate((("premise", premise), ("hypothesis", hypothesis)), start=1):
                        spans[f"{name}_char_spans"] = _starred(row, f"Sentence{number}_marked_{i}", text)
                    annotations.append(spans)
            yield row.with_values(
                {
                    "id": row.value("pairID"),
                    "premise": premise,
                    "hypothesis": hypothesis,
                    "label": row.value("gold_label"),
                    "annotations": annotations,
                }
            )


class EsnliHighlights(Esnli):
    """The part of e-SNLI for which highlighted words are at hand."""

    files: ClassVar[Mapping[str, str]] = {
        "train": "esnli/highlights_train_sample",
        "dev": "esnli/highlights_dev_sample",
    }
    missing = (
        "All but 988 training and 1,000 dev pairs, and the test pairs. All dev ids are in snli's and esnli's dev: "
        "load_dataset('snli', exclude='esnli-highlights') before training on those."
    )


def _starred(row: Row, column: str, text: str) -> list[tuple[int, int]]:
    marked = row.values.get(column) or ""
    try:
        plain, spans = parse_stars(marked)
    except ValueError as error:
        raise row.error(str(error), column) from None
    if plain != text:
        # Annotators saw the sentence with its quotes and spaces cleaned: look the words up instead.
        spans = find_phrases([plain[s.start : s.end] for s in spans], text)
    return [(s.start, s.end) for s in spans]


register(
    Esnli,
    "esnli",
    tasks=("pair",),
    family="inference",
    paper=PAPER,
    summary="SNLI pairs with three explanations in people's own words.",
)
register(
    EsnliHighlights,
    "esnli-highlights",
    tasks=("pair",),
    family="inference",
    paper=PAPER,
    summary="SNLI pairs with highlighted words and explanations, by one or three annotators.",
)
