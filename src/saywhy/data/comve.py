"""ComVE: statements against common sense, and why they are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

from saywhy.data.corpus import FileCorpus, register
from saywhy.data.files import read_rows
from saywhy.data.rows import Row
from saywhy.errors import DataError, OptionError
from saywhy.types import Example

__all__ = ["QUESTION", "Comve"]

QUESTION = "Which of these statements is against common sense?"


class Comve(FileCorpus):
    """ComVE: which of two statements makes no sense, and why; three reasons written by people.

    Args:
        name: as registered.
        subtask: ``validation`` (the two statements are the choices, under one fixed question) or ``explanation`` (the
            senseless statement is the question, three reasons are the choices).
        options: see `FileCorpus`.
    """

    task = "choices"
    files: ClassVar[Mapping[str, str]] = {"train": "comve/train", "dev": "comve/dev", "test": "comve/test"}

    def __init__(self, name: str, *, subtask: str = "validation", **options: Any) -> None:
        if subtask not in ("validation", "explanation"):
            raise OptionError(f"subtask must be validation or explanation, not {subtask!r}")
        super().__init__(name, **options)
        self.subtask = subtask

    def example(self, row: Row) -> Example:
        """One pair of statements, or one statement with three reasons."""
        statements = row.texts("statements")
        senseless = row.integer("nonsense_index", low=0, high=len(statements) - 1)
        if self.subtask == "validation":
            question, choices, label = QUESTION, statements, senseless
        else:
            choices = row.texts("options")
            question, label = statements[senseless], row.integer("answer", low=0, high=len(choices) - 1)
        return Example(
            (question,),
            label,
            choices=choices,
            explanations=row.texts("explanations"),
            id=str(row.values.get("id", "")),
            source=row.source,
            line=row.line,
            meta={"statements": statements, "senseless": senseless},
        )

    def hub_row(self, row: Row) -> Row | None:
        """Rows already in the normalised fields; the hub's copies differ among themselves."""
        return row

    def official_files(self, path: Any) -> dict[str, Path]:
        """The folder of a split, with ``subtaskA_*`` to ``subtaskC_*`` tables; or such folders by split."""
        if isinstance(path, Mapping):
            return super().official_files(path)
        return {"all": Path(path).expanduser()}

    def official_rows(self, path: Path) -> Iterator[Row]:
        """Data and answers of the three subtasks, joined by id."""
        tables: dict[str, dict[str, Row]] = {}
        for name, columns in _TABLES.items():
            files = sorted(path.glob(f"{name}*.csv"))
            if not files:
                raise DataError(f"no {name}*.csv here", file=str(path))
            rows = read_rows(files[0], format="csv", names=columns, max_line_bytes=self.max_line_bytes)
            tables[name] = {row.text("id"): row for row in rows if row.text("id") not in ("id", "")}
        for identity, row in tables["subtaskA_data"].items():
            joined = dict(row.values)
            for name, table in tables.items():
                if identity not in table:
                    raise row.error(f"{name} has no row for id {identity!r}", "id")
                joined |= {f"{name}.{k}": v for k, v in table[identity].values.items()}
            answer = joined["subtaskB_answers.answer"].strip()
            if answer not in ("A", "B", "C"):
                raise row.error(f"the answer must be A, B or C, not {answer!r}", "answer")
            yield row.with_values(
                {
                    "id": identity,
                    "statements": [joined["sent0"], joined["sent1"]],
                    "nonsense_index": joined["subtaskA_answers.label"],
                    "options": [joined[f"subtaskB_data.{c}"] for c in ("a", "b", "c")],
                    "answer": "ABC".index(answer),
                    "explanations": [joined[f"subtaskC_answers.{c}"] for c in ("one", "two", "three")],
                }
            )


_TABLES = {
    "subtaskA_data": ("id", "sent0", "sent1"),
    "subtaskA_answers": ("id", "label"),
    "subtaskB_data": ("id", "false", "a", "b", "c"),
    "subtaskB_answers": ("id", "answer"),
    "subtaskC_answers": ("id", "one", "two", "three"),
}

register(
    Comve,
    "comve",
    tasks=("choices",),
    family="explanations",
    paper="Wang et al. (2020), SemEval-2020 Task 4: Commonsense Validation and Explanation, SemEval",
    summary="Pairs of statements, one against common sense, with three reasons why.",
)
