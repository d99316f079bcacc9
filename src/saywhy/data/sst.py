"""Stanford Sentiment Treebank: binary and five-way, sentences, phrases and trees."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

from saywhy.data.corpus import FileCorpus, register
from saywhy.data.files import read_lines, read_rows
from saywhy.data.rows import Row
from saywhy.types import Example, Span

__all__ = ["Sst2", "Sst2Phrases", "Sst5", "parse_tree"]

PAPER = "Socher et al. (2013), Recursive Deep Models for Semantic Compositionality Over a Sentiment Treebank, EMNLP"


def parse_tree(tree: str) -> tuple[str, tuple[tuple[int, Span], ...]]:
    """Text and scored spans of a sentiment tree in brackets, every node of it, in the order in which nodes end.

    Example:
        >>> text, nodes = parse_tree("(3 (3 good) (2 film))")
        >>> text, [(score, span.start, span.end) for score, span in nodes]
        ('good film', [(3, 0, 4), (2, 5, 9), (3, 0, 9)])

    Raises:
        ValueError: the brackets or the scores are wrong.
    """
    text, nodes, stack = "", [], []
    for piece in tree.replace("(", " ( ").replace(")", " ) ").split():
        if piece == "(":
            stack.append([-1, -1])
        elif piece == ")":
            if not stack or stack[-1][0] < 0 or stack[-1][1] < 0:
                raise ValueError("the tree's brackets do not match")
            score, start = stack.pop()
            nodes.append((score, Span(0, start, len(text))))
            if stack and stack[-1][1] < 0:
                stack[-1][1] = start
        elif not stack:
            raise ValueError("the tree must start with a bracket")
        elif stack[-1][0] < 0:
            if piece not in "01234" or len(piece) != 1:
                raise ValueError(f"a node's score must be 0 to 4, not {piece!r}")
            stack[-1][0] = int(piece)
        else:
            start = len(text) + bool(text)
            text += (" " if text else "") + piece
            if stack[-1][1] < 0:
                stack[-1][1] = start
    if stack or not nodes:
        raise ValueError("the tree's brackets do not match")
    return text, tuple(nodes)


class Sst2(FileCorpus):
    """SST-2: movie review sentences, negative or positive."""

    labels: tuple[str, ...] = ("negative", "positive")
    files: ClassVar[Mapping[str, str]] = {"train": "sst/sst2_train", "dev": "sst/sst2_dev", "test": "sst/sst2_test"}
    hub_id: ClassVar[tuple[str, ...]] = ("SetFit/sst2",)
    hub_columns: ClassVar[Mapping[str, tuple[str, ...]]] = {"text": ("text", "sentence")}

    def example(self, row: Row) -> Example:
        """One sentence and its class."""
        return Example((row.text("text"),), row.label("label", self.labels), source=row.source, line=row.line)

    def official_rows(self, path: Path) -> Iterator[Row]:
        """Trees (``train.txt``; neutral ones left out, as the binary task does) or GLUE's TSV."""
        if path.suffix != ".txt":
            for row in read_rows(path, max_line_bytes=self.max_line_bytes):
                yield row.with_values({"text": row.text("sentence").strip(), "label": row.value("label")})
            return
        for row in _tree_rows(path, self.max_line_bytes):
            if row.values["label"] != 2:
                yield row.with_values({**row.values, "label": int(row.values["label"] > 2)})


class Sst2Phrases(Sst2):
    """SST-2 as in GLUE: all phrases of the training trees, sentences in dev and test."""

    files: ClassVar[Mapping[str, str]] = {
        "train": "sst/sst2_glue_phrases_train",
        "dev": "sst/sst2_dev",
        "test": "sst/sst2_test",
    }
    hub_id: ClassVar[tuple[str, ...]] = ("nyu-mll/glue", "sst2")


class Sst5(FileCorpus):
    """SST-5: movie review sentences in five classes, with a score on every phrase.

    The scores are in ``meta["phrases"]`` as ``(score, start, end)``, from single words up to the sentence. They are
    judged phrase by phrase, so they are no rationale of the sentence's label.
    """

    labels: tuple[str, ...] = ("very negative", "negative", "neutral", "positive", "very positive")
    files: ClassVar[Mapping[str, str]] = {
        "train": "sst/sst5_trees_train",
        "dev": "sst/sst5_trees_dev",
        "test": "sst/sst5_trees_test",
    }
    hub_id: ClassVar[tuple[str, ...]] = ("SetFit/sst5",)

    def example(self, row: Row) -> Example:
        """One sentence, its class, and its phrases' scores where the tree is there."""
        text = row.text("text")
        meta: dict[str, Any] = {}
        if row.has("tree"):
            try:
                _, nodes = parse_tree(row.text("tree"))
            except ValueError as error:
                raise row.error(str(error), "tree") from None
            if nodes[-1][1].end != len(text):
                raise row.error("the tree and the text differ", "tree")
            meta["phrases"] = tuple((score, span.start, span.end) for score, span in nodes)
        return Example((text,), row.label("label", self.labels), source=row.source, line=row.line, meta=meta)

    def official_rows(self, path: Path) -> Iterator[Row]:
        """Trees, one a line."""
        return _tree_rows(path, self.max_line_bytes)


def _tree_rows(path: Path, max_line_bytes: int) -> Iterator[Row]:
    for number, line in read_lines(path, max_line_bytes=max_line_bytes):
        if not line.strip():
            continue
        row = Row({"tree": line.strip()}, str(path), number, str(path))
        try:
            text, nodes = parse_tree(line)
        except ValueError as error:
            raise row.error(str(error), "tree") from None
        yield row.with_values({"text": text, "label": nodes[-1][0], "tree": line.strip()})


register(
    Sst2,
    "sst2",
    tasks=("text",),
    family="sentiment",
    paper=PAPER,
    summary="Movie review sentences, negative or positive.",
)
register(
    Sst2Phrases,
    "sst2-phrases",
    tasks=("text",),
    family="sentiment",
    paper=PAPER,
    summary="SST-2 as in GLUE: all phrases of the training sentences; dev and test are sentences.",
)
register(
    Sst5,
    "sst5",
    tasks=("text",),
    family="sentiment",
    paper=PAPER,
    summary="Movie review sentences in five classes, with a human score on every phrase.",
)
