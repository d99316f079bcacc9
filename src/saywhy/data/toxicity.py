"""HateXplain and Toxic Spans. Both hold offensive content."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

from saywhy.data.corpus import FileCorpus, register
from saywhy.data.files import read_json, read_rows
from saywhy.data.rows import Row
from saywhy.data.spans import join_tokens, mask_to_spans
from saywhy.errors import DataError
from saywhy.types import Example, Span

__all__ = ["HateXplain", "ToxicSpans"]


class HateXplain(FileCorpus):
    """HateXplain: posts that are normal, offensive or hate speech; one rationale for each annotator who marked words.

    Posts on which all three annotators disagree have no label and are left out, as the authors do.
    """

    labels: tuple[str, ...] = ("normal", "offensive", "hatespeech")
    files: ClassVar[Mapping[str, str]] = {"dev": "hatexplain/val"}
    hub_id: ClassVar[tuple[str, ...]] = ("Hate-speech-CNERG/hatexplain",)
    missing = "train (15,383 posts) and test; dev is the official val."

    def example(self, row: Row) -> Example:
        """One post."""
        text, places = join_tokens(row.texts("tokens"))
        rationales = []
        for mask in row.sequence("rationales"):
            if not isinstance(mask, list | tuple) or len(mask) != len(places):
                raise row.error(f"a rationale must mark each of the {len(places)} tokens with 0 or 1", "rationales")
            rationales.append(mask_to_spans(mask, places))
        return Example(
            (text,),
            row.label("label", self.labels, {"hate": "hatespeech", "hate speech": "hatespeech"}),
            rationales=tuple(r for r in rationales if r),
            id=str(row.values.get("id", "")),
            source=row.source,
            line=row.line,
            meta={k: row.values[k] for k in ("annotator_labels", "annotator_targets") if k in row.values},
        )

    def hub_row(self, row: Row) -> Row | None:
        """``post_tokens``, ``rationales`` and ``annotators``, whose labels are 0 hate, 1 normal, 2 offensive."""
        annotators = row.inner("annotators")
        names = ("hatespeech", "normal", "offensive")
        votes = [annotators.with_values({"label": v}).label("label", names) for v in annotators.sequence("label")]
        return _judged(row, votes, annotators.values.get("target"))

    def official_files(self, path: Any) -> dict[str, Path]:
        """``dataset.json``, with ``post_id_divisions.json`` beside it for the splits."""
        place = Path(path).expanduser() if not isinstance(path, Mapping) else None
        if place is None:
            return super().official_files(path)
        file = place / "dataset.json" if place.is_dir() else place
        divisions = file.parent / "post_id_divisions.json"
        return {"train": file, "dev": file, "test": file} if divisions.is_file() else {"all": file}

    def rows(self, split: str) -> Iterator[Row]:
        """Normalised rows; of the one official file, those whose ids belong to the split."""
        if self.paths is None or split == "all":
            yield from super().rows(split)
            return
        divisions = self.paths[split].parent / "post_id_divisions.json"
        if not divisions.is_file():
            yield from super().rows(split)
            return
        parts = read_json(divisions, max_line_bytes=max(self.max_line_bytes, 2**28))
        if not isinstance(parts, dict):
            raise DataError("expected the ids of train, val and test", file=str(divisions))
        wanted = set(parts.get({"dev": "val"}.get(split, split), ()))
        for row in super().rows(split):
            if row.values["id"] in wanted:
                yield row

    def official_rows(self, path: Path) -> Iterator[Row]:
        """The authors' ``dataset.json``: one object with all posts by id."""
        posts = read_json(path, max_line_bytes=max(self.max_line_bytes, 2**28))
        if not isinstance(posts, dict):
            raise DataError("expected an object with posts by id", file=str(path))
        for number, (identity, post) in enumerate(posts.items(), start=1):
            row = Row({"post": post}, str(path), number, str(path)).inner("post")
            row = row.with_values({**row.values, "id": identity})
            annotators = row.rows("annotators")
            votes = [a.label("label", self.labels) for a in annotators]
            judged = _judged(row, votes, [a.values.get("target") for a in annotators])
            if judged is not None:
                yield judged


def _judged(row: Row, votes: list[str], targets: Any) -> Row | None:
    label, count = Counter(votes).most_common(1)[0] if votes else ("", 0)
    if count < 2:
        return None
    values = {
        "id": row.values.get("id") or row.values.get("post_id", ""),
        "tokens": row.value("post_tokens"),
        "rationales": row.value("rationales"),
        "label": label,
        "annotator_labels": votes,
        "annotator_targets": targets,
    }
    return row.with_values(values)


class ToxicSpans(FileCorpus):
    """Toxic Spans: toxic posts in which the toxic words are marked; some are toxic only as a whole."""

    labels: tuple[str, ...] = ("not toxic", "toxic")
    files: ClassVar[Mapping[str, str]] = {
        "train": "toxic_spans/train",
        "dev": "toxic_spans/trial",
        "test": "toxic_spans/test",
    }
    missing = "Posts that are not toxic: all of them are labelled toxic. dev is the official trial set."

    def example(self, row: Row) -> Example:
        """One post."""
        text = row.text("text")
        spans = tuple(Span(0, s, e) for s, e in row.pairs("toxic_char_spans", len(text)))
        return Example((text,), "toxic", rationales=(spans,) if spans else (), source=row.source, line=row.line)

    def hub_row(self, row: Row) -> Row | None:
        """``spans`` is a list of the marked characters' numbers."""
        return _runs(row)

    def official_rows(self, path: Path) -> Iterator[Row]:
        """The CSV with ``spans`` and ``text``."""
        for row in read_rows(path, format="csv", max_line_bytes=self.max_line_bytes):
            yield _runs(row)


def _runs(row: Row) -> Row:
    marked = row.sequence("spans")
    if not all(isinstance(i, int) and not isinstance(i, bool) for i in marked):
        raise row.error(f"expected numbers of characters, got {marked!r:.60}", "spans")
    runs: list[list[int]] = []
    for i in sorted(set(marked)):
        if runs and runs[-1][1] == i:
            runs[-1][1] = i + 1
        else:
            runs.append([i, i + 1])
    return row.with_values({"text": row.value("text"), "toxic_char_spans": runs})


register(
    HateXplain,
    "hatexplain",
    tasks=("text",),
    family="rationales",
    paper="Mathew et al. (2021), HateXplain: A Benchmark Dataset for Explainable Hate Speech Detection, AAAI",
    summary="Posts that are normal, offensive or hate speech, with the words annotators marked.",
)
register(
    ToxicSpans,
    "toxic-spans",
    tasks=("text",),
    family="rationales",
    paper="Pavlopoulos et al. (2021), SemEval-2021 Task 5: Toxic Spans Detection, SemEval",
    summary="Toxic posts in which the toxic words are marked.",
)
