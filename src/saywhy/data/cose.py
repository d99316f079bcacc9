"""CoS-E: CommonsenseQA with explanations and with the words of the question that people selected."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

from saywhy.data.corpus import FileCorpus, register
from saywhy.data.files import read_rows
from saywhy.data.rows import Row
from saywhy.data.spans import find_phrases
from saywhy.errors import DataError, OptionError
from saywhy.types import Example

__all__ = ["Cose"]


class Cose(FileCorpus):
    """CoS-E: questions with five choices (three in v1.0), an explanation, and the words selected as deciding.

    The selection is a string; where it is found in the question, whatever the case, it is the rationale. The string
    itself is in ``meta["selected"]``.

    Args:
        name: as registered.
        version: ``1.11`` (default, five choices) or ``1.0`` (three).
        options: see `FileCorpus`.
    """

    task = "choices"
    files: ClassVar[Mapping[str, str]] = {
        "train": "cose/v{part}_train",
        "dev": "cose/v{part}_dev",
        "test": "cose/v{part}_test_unlabelled",
    }
    hub_id: ClassVar[tuple[str, ...]] = ("Salesforce/cos_e", "v1.11")
    missing = "The answers of test, which were never published: measure on dev."

    def __init__(self, name: str, *, version: str = "1.11", **options: Any) -> None:
        if str(version) not in ("1.11", "1.0"):
            raise OptionError(f"version must be 1.11 or 1.0, not {version!r}")
        self.version = str(version)
        super().__init__(name, **options)

    @property
    def part(self) -> str:
        """The version."""
        return self.version

    def splits(self) -> tuple[str, ...]:
        """``test`` has no answers, so it is called what it is, and nobody measures on it by mistake."""
        return tuple("test-unlabelled" if s == "test" else s for s in super().splits())

    def rows(self, split: str) -> Iterator[Row]:
        """Normalised rows."""
        return super().rows("test" if split == "test-unlabelled" else split)

    def example(self, row: Row) -> Example:
        """One question."""
        question, choices = row.text("question"), row.texts("choices")
        selected = row.text("selected") if row.has("selected") else ""
        gold = find_phrases([selected.removeprefix("Question:")], question)
        return Example(
            (question,),
            row.integer("answer", low=0, high=len(choices) - 1) if row.has("answer") else None,
            choices=choices,
            rationales=(gold,) if gold else (),
            explanations=(row.text("explanation"),) if row.has("explanation") else (),
            id=str(row.values.get("id", "")),
            source=row.source,
            line=row.line,
            meta={k: row.values[k] for k in ("concept", "selected") if row.values.get(k)},
        )

    def hub_row(self, row: Row) -> Row | None:
        """``answer`` as words, ``abstractive_explanation`` and ``extractive_explanation``."""
        choices = row.texts("choices")
        answer = row.text("answer")
        if answer not in choices:
            raise row.error(f"the answer {answer!r} is not among the choices", "answer")
        return row.with_values(
            {
                **row.values,
                "answer": choices.index(answer),
                "explanation": row.values.get("abstractive_explanation"),
                "selected": row.values.get("extractive_explanation"),
            }
        )

    def official_rows(self, path: Path) -> Iterator[Row]:
        """CommonsenseQA's ``*_rand_split*.jsonl``, with CoS-E's file of the same split beside it (``cose_*.jsonl``)."""
        explained = {}
        word = next((w for w in ("train", "dev", "test") if w in path.name), "")
        for file in sorted(path.parent.glob(f"cose_*{word}*.jsonl")):
            for row in read_rows(file, format="jsonl", max_line_bytes=self.max_line_bytes):
                explained[row.text("id")] = row.inner("explanation")
        for row in read_rows(path, format="jsonl", max_line_bytes=self.max_line_bytes):
            question = row.inner("question")
            choices = question.rows("choices")
            values: dict[str, Any] = {
                "id": row.text("id"),
                "question": question.value("stem"),
                "choices": [choice.text("text") for choice in choices],
                "concept": question.values.get("question_concept"),
            }
            if row.has("answerKey"):
                keys = [choice.text("label") for choice in choices]
                if row.value("answerKey") not in keys:
                    raise row.error(f"the answer {row.value('answerKey')!r} is not among the choices", "answerKey")
                values["answer"] = keys.index(row.value("answerKey"))
            if row.text("id") in explained:
                words = explained[row.text("id")]
                values |= {"explanation": words.value("open-ended"), "selected": words.values.get("selected")}
            yield row.with_values(values)

    def official_files(self, path: Any) -> dict[str, Path]:
        """Files of questions by split; those of explanations are found beside them."""
        if isinstance(path, Mapping) or not Path(path).expanduser().is_dir():
            return super().official_files(path)
        place = Path(path).expanduser()
        found = {
            split: file
            for split in ("train", "dev", "test")
            for file in sorted(place.glob(f"*{split}*.jsonl"))
            if not file.name.startswith("cose_")
        }
        if not found:
            raise DataError("no file of questions here, such as train_rand_split.jsonl", file=str(place))
        return found


register(
    Cose,
    "cose",
    tasks=("choices",),
    family="explanations",
    paper="Rajani et al. (2019), Explain Yourself! Leveraging Language Models for Commonsense Reasoning, ACL",
    summary="Commonsense questions with choices, explanations, and selected words of the question.",
)
