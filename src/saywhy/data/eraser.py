"""ERASER: movie reviews, MultiRC and FEVER, with the evidence people marked in the documents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from saywhy.data.corpus import FileCorpus, register
from saywhy.data.files import read_lines, read_rows
from saywhy.data.rows import Row
from saywhy.data.spans import find_phrases, join_tokens, token_spans
from saywhy.errors import DataError
from saywhy.types import Example

__all__ = ["EraserMovies", "EraserQueries"]

PAPER = "DeYoung et al. (2020), ERASER: A Benchmark to Evaluate Rationalized NLP Models, ACL"


class _Eraser(FileCorpus):
    """What the three have in common: documents as sentences of space-separated tokens, evidence as token spans.

    The whole text of a document is its sentences joined by spaces; where each sentence stands is in
    ``meta["sentences"]``. Official files are the benchmark's folders: ``docs/`` or ``docs.jsonl`` beside
    ``train.jsonl``, ``val.jsonl`` and ``test.jsonl``.
    """

    def official_files(self, path: Any) -> dict[str, Path]:
        """``train``, ``val`` (here ``dev``) and ``test`` of a benchmark's folder."""
        if isinstance(path, Mapping):
            return super().official_files(path)
        place = Path(path).expanduser()
        names = {"train": "train", "dev": "val", "test": "test"}
        found = {split: place / f"{name}.jsonl" for split, name in names.items()}
        found = {split: file for split, file in found.items() if file.is_file()}
        if not found:
            raise DataError("expected an ERASER folder, with train.jsonl, val.jsonl or test.jsonl", file=str(place))
        return found

    def official_rows(self, path: Path) -> Iterator[Row]:
        """Annotations with ``annotation_id``, ``query``, ``classification`` and ``evidences``."""
        documents = _OfficialDocuments(path.parent, self.max_line_bytes)
        for row in read_rows(path, format="jsonl", max_line_bytes=self.max_line_bytes):
            groups = [row.with_values({"g": g}).rows("g") for g in row.sequence("evidences")]
            named = row.values.get("docids") or [e.text("docid") for group in groups for e in group]
            docs = list(dict.fromkeys(named)) or [row.text("annotation_id").split(":")[0]]
            evidences = [
                [
                    {
                        "doc": e.text("docid"),
                        "tokens": [e.integer("start_token"), e.integer("end_token")],
                    }
                    for e in group
                ]
                for group in groups
            ]
            yield row.with_values(
                {
                    "id": row.text("annotation_id"),
                    "docs": docs,
                    "documents": {doc: documents.sentences(doc, row) for doc in docs},
                    "query": row.values.get("query") or "",
                    "label": row.value("classification"),
                    "evidences": evidences,
                }
            )


class EraserMovies(_Eraser):
    """ERASER Movie Reviews: one text, negative or positive, with the phrases that say so."""

    labels: tuple[str, ...] = ("negative", "positive")
    files: ClassVar[Mapping[str, str]] = {"train": "eraser_movies/train", "dev": "eraser_movies/val"}
    hub_id: ClassVar[tuple[str, ...]] = ("eraser-benchmark/movie_rationales",)
    missing = "The test split; dev is ERASER's val."

    def example(self, row: Row) -> Example:
        """One review."""
        if row.has("documents"):
            sentences = [s for doc in row.value("documents").values() for s in doc]
            spans = sorted(tuple(e["tokens"]) for group in row.value("evidences") for e in group)
            row = row.with_values({**row.values, "sentences": sentences, "evidence_token_spans": spans})
        text, places, bounds = _document(row.texts("sentences"))
        if row.has("evidence_phrases"):
            gold = find_phrases(row.texts("evidence_phrases"), text)
        else:
            gold = token_spans(row.pairs("evidence_token_spans", len(places)), places)
        return Example(
            (text,),
            row.label("label", self.labels, {"NEG": "negative", "POS": "positive"}),
            rationales=(gold,) if gold else (),
            id=str(row.values.get("id", "")),
            source=row.source,
            line=row.line,
            meta={"sentences": bounds},
        )

    def hub_row(self, row: Row) -> Row | None:
        """``review`` with a sentence a line, and ``evidences`` as strings."""
        known = super().hub_row(row)
        if known is None:
            return None
        sentences = [line for line in known.text("review").split("\n") if line]
        return known.with_values(
            {"sentences": sentences, "label": known.value("label"), "evidence_phrases": known.value("evidences")}
        )


class EraserQueries(_Eraser):
    """ERASER MultiRC and FEVER: a query and a document; the query is field 0 and never part of a rationale.

    ``meta["fixed"]`` names the fields that belong to the question and must not be erased. Each group of evidence, which
    suffices by itself, is one rationale: FEVER has several for about a thousand claims a split.
    """

    task = "pair"
    files: ClassVar[Mapping[str, str]] = {"dev": "eraser_{part}/val", "test": "eraser_{part}/test"}
    missing = "The training annotations; dev is ERASER's val."

    def __init__(self, name: str, **options: Any) -> None:
        super().__init__(name, **options)
        self.labels = ("False", "True") if self.part == "multirc" else ("REFUTES", "SUPPORTS")

    @property
    def part(self) -> str:
        """``multirc`` or ``fever``."""
        return self.name.rpartition("-")[2]

    @cached_property
    def _documents(self) -> dict[str, tuple[str, ...]]:
        return {row.text("doc"): row.texts("sentences") for row in self.normalised(f"eraser_{self.part}/docs")}

    def example(self, row: Row) -> Example:
        """One query about one document, or about several in a row."""
        docs = row.texts("docs")
        known = row.value("documents") if row.has("documents") else self._documents
        for doc in docs:
            if doc not in known:
                raise row.error(f"the document {doc!r} is not among the documents", "docs")
        text, places, bounds = _document([s for doc in docs for s in known[doc]])
        before = {doc: sum(_size(known[d]) for d in docs[:i]) for i, doc in enumerate(docs)}
        rationales = []
        for group in row.sequence("evidences"):
            spans = []
            for evidence in row.with_values({"evidences": group}).rows("evidences"):
                doc = evidence.text("doc")
                if doc not in before:
                    raise row.error(f"evidence in {doc!r}, which is not among the row's documents", "evidences")
                start, end = evidence.with_values({"tokens": [evidence.value("tokens")]}).pairs(
                    "tokens", _size(known[doc])
                )[0]
                spans.append((before[doc] + start, before[doc] + end))
            rationales.append(token_spans(spans, places, field=1))
        if row.has("evidence_phrases"):
            rationales = [find_phrases(row.texts("evidence_phrases"), text, field=1)]
        return Example(
            (row.text("query"), text),
            row.label("label", self.labels, {"0": "False", "1": "True"} if self.part == "multirc" else None),
            rationales=tuple(r for r in rationales if r),
            id=str(row.values.get("id", "")),
            source=row.source,
            line=row.line,
            meta={"fixed": (0,), "sentences": bounds},
        )

    def hub_row(self, row: Row) -> Row | None:
        """``passage``, ``query_and_answer`` and ``evidences`` as strings, as MultiRC is on the hub."""
        known = super().hub_row(row)
        if known is None:
            return None
        return known.with_values(
            {
                "docs": ["passage"],
                "documents": {"passage": known.text("passage").split("\n")},
                "query": known.value("query_and_answer"),
                "label": known.value("label"),
                "evidences": [],
                "evidence_phrases": known.value("evidences"),
            }
        )


class _OfficialDocuments:
    """Documents of a benchmark's folder by name, each a file under ``docs`` or a line of ``docs.jsonl``."""

    def __init__(self, folder: Path, max_line_bytes: int) -> None:
        self._folder, self._max = folder, max_line_bytes

    @cached_property
    def _lines(self) -> dict[str, list[str]]:
        rows = read_rows(self._folder / "docs.jsonl", format="jsonl", max_line_bytes=self._max)
        return {row.text("docid"): row.text("document").split("\n") for row in rows}

    def sentences(self, name: str, row: Row) -> list[str]:
        """Sentences of one document."""
        if (self._folder / "docs.jsonl").is_file():
            if name not in self._lines:
                raise row.error(f"the document {name!r} is not in docs.jsonl", "docids")
            return [s for s in self._lines[name] if s.strip()]
        # A name out of a data file must not lead out of the folder.
        if Path(name).name != name:
            raise row.error(f"{name!r} is not the name of a document", "docids")
        lines = read_lines(self._folder / "docs" / name, max_line_bytes=self._max)
        return [line.strip() for _, line in lines if line.strip()]


def _size(sentences: Sequence[str]) -> int:
    return sum(len(s.split()) for s in sentences)


def _document(sentences: Sequence[str]) -> tuple[str, list[tuple[int, int]], tuple[tuple[int, int], ...]]:
    """Text, places of its tokens, places of its sentences."""
    tokens = [s.split() for s in sentences]
    text, places = join_tokens([t for sentence in tokens for t in sentence])
    bounds, at = [], 0
    for sentence in tokens:
        if sentence:
            bounds.append((places[at][0], places[at + len(sentence) - 1][1]))
            at += len(sentence)
    return text, places, tuple(bounds)


register(
    EraserMovies,
    "eraser-movies",
    tasks=("text",),
    family="rationales",
    paper=PAPER,
    summary="Movie reviews with the phrases that people marked as reasons.",
)
register(
    EraserQueries,
    "eraser-multirc",
    tasks=("pair",),
    family="rationales",
    paper=PAPER,
    summary="Questions with a proposed answer about a passage; the sentences needed are marked.",
)
register(
    EraserQueries,
    "eraser-fever",
    tasks=("pair",),
    family="rationales",
    paper=PAPER,
    summary="Claims and articles that support or refute them; the sentences that do so are marked.",
)
