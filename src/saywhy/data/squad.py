"""SQuAD v1.1: questions whose answer is a span of a paragraph."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import ClassVar

from saywhy.data.corpus import FileCorpus, register
from saywhy.data.files import read_json
from saywhy.data.rows import Row
from saywhy.types import Example, Span

__all__ = ["Squad"]


class Squad(FileCorpus):
    """SQuAD v1.1: question (field 0), context (field 1), and where people found the answer.

    Departures: equal answers of several annotators are kept once.
    """

    task = "span-qa"
    files: ClassVar[Mapping[str, str]] = {"train": "squad_v1.1/train_partial", "dev": "squad_v1.1/dev"}
    hub_id: ClassVar[tuple[str, ...]] = ("rajpurkar/squad",)
    missing = "All but 11,877 of 87,599 training questions; test was never published."

    def rows(self, split: str) -> Iterator[Row]:
        """Rows with their contexts, which the normalised files keep apart."""
        if self.hub_rows is not None or self.paths is not None:
            yield from super().rows(split)
            return
        name = self.files[split]
        contexts = {r.integer("context_id"): r.text("context") for r in self.normalised(f"{name}_contexts")}
        for row in self.normalised(name):
            number = row.integer("context_id")
            if number not in contexts:
                raise row.error(f"no context has the number {number}", "context_id")
            yield row.with_values({**row.values, "context": contexts[number]})

    def example(self, row: Row) -> Example:
        """One question with its paragraph."""
        context = row.text("context")
        spans = []
        for answer in row.rows("answers"):
            text, start = answer.text("text"), answer.integer("start", low=0, high=len(context))
            if context[start : start + len(text)] != text or not text:
                raise row.error(f"the answer {text[:40]!r} is not at character {start} of the context", "answers")
            spans.append(Span(1, start, start + len(text)))
        return Example(
            (row.text("question"), context),
            answers=tuple(dict.fromkeys(spans)),
            id=str(row.values.get("id", "")),
            source=row.source,
            line=row.line,
            meta={"title": row.values.get("title", "")},
        )

    def hub_row(self, row: Row) -> Row | None:
        """``answers`` as two lists, ``text`` and ``answer_start``."""
        answers = row.inner("answers")
        texts, starts = answers.sequence("text"), answers.sequence("answer_start")
        if len(texts) != len(starts):
            raise row.error(f"{len(texts)} texts and {len(starts)} places", "answers")
        pairs = [{"text": t, "start": s} for t, s in zip(texts, starts, strict=True)]
        return row.with_values({**row.values, "answers": pairs})

    def official_rows(self, path: Path) -> Iterator[Row]:
        """The JSON file: articles, paragraphs, questions."""
        whole = read_json(path, max_line_bytes=max(self.max_line_bytes, 2**28))
        row = Row(whole if isinstance(whole, dict) else {}, str(path), None, str(path))
        for article in row.rows("data"):
            for paragraph in article.rows("paragraphs"):
                for question in paragraph.rows("qas"):
                    answers = [
                        {"text": a.value("text"), "start": a.value("answer_start")} for a in question.rows("answers")
                    ]
                    yield question.with_values(
                        {
                            "id": question.value("id"),
                            "title": article.values.get("title", ""),
                            "question": question.value("question"),
                            "context": paragraph.value("context"),
                            "answers": answers,
                        }
                    )


register(
    Squad,
    "squad",
    tasks=("span-qa",),
    family="question-answering",
    paper="Rajpurkar et al. (2016), SQuAD: 100,000+ Questions for Machine Comprehension of Text, EMNLP",
    summary="Questions whose answer is a span of a paragraph.",
)
