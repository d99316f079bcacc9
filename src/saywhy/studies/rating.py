"""Blind ratings by people: a sheet without the methods' names, a key that has them, and what the answers say.

A sheet shows inputs in random order, and below each the explanations of several methods, in an order of their own.
Which is whose stands in the key, a separate file that raters do not get.
"""

from __future__ import annotations

import csv
import hashlib
import json
import os
import random
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from saywhy.errors import DataError, InputError, OptionError
from saywhy.studies.explanations import read_explanations
from saywhy.types import Alignments, Explanation, FreeText, Rationale, WordScores, explanation_from_dict

__all__ = ["QUESTION", "Item", "Scale", "Sheet", "draw_explanations", "export_sheet", "make_sheet"]

QUESTION = "How well do the marked words explain why the model says so?"
SHEET_COLUMNS = ("sheet", "rater", "item", "label", "text", "explanation", "rating")
_SHOWN_WORDS = 8

Named = tuple[str, Explanation]


@dataclass(frozen=True)
class Scale:
    """What raters may answer: numbers from ``low`` to ``high``, or no (0) and yes (1)."""

    low: int
    high: int
    words: bool = False

    @classmethod
    def parse(cls, text: str) -> Scale:
        """``"1-5"`` or another range, or ``"yes-no"``."""
        if text == "yes-no":
            return cls(0, 1, words=True)
        found = re.fullmatch(r"(\d{1,2})-(\d{1,2})", text)
        if found is None or int(found[1]) >= int(found[2]):
            raise OptionError(f"unknown scale {text!r}; use a range of numbers such as 1-5, or yes-no")
        return cls(int(found[1]), int(found[2]))

    def __str__(self) -> str:
        return "yes-no" if self.words else f"{self.low}-{self.high}"

    @property
    def level(self) -> str:
        """Of measurement, for the agreement of raters."""
        return "nominal" if self.words else "ordinal"

    @property
    def answers(self) -> tuple[tuple[int, str], ...]:
        """Values with what they are called on a sheet; best first where they have names."""
        return ((1, "yes"), (0, "no")) if self.words else tuple((n, str(n)) for n in range(self.low, self.high + 1))

    def read(self, text: str) -> int | None:
        """The value of an answer, or None if it is not one."""
        known = {name: value for value, name in self.answers} | {str(value): value for value, _ in self.answers}
        found = known.get(text.strip().casefold())
        if found is None and re.fullmatch(r"\d+\.0+", text.strip()):
            return self.read(text.strip().partition(".")[0])  # as spreadsheets write whole numbers
        return found


@dataclass(frozen=True)
class Item:
    """One explanation on a sheet; ``code`` is all that a rater sees of where it comes from."""

    code: str
    input: int
    method: str
    why: Explanation


@dataclass(frozen=True)
class Sheet:
    """What raters are asked. ``name`` ties answers, sheet and key together."""

    name: str
    question: str
    scale: Scale
    items: tuple[Item, ...]

    @property
    def inputs(self) -> list[list[Item]]:
        """The items of each input, in the order of the sheet."""
        groups: dict[int, list[Item]] = {}
        for item in self.items:
            groups.setdefault(item.input, []).append(item)
        return list(groups.values())

    def key(self) -> dict[str, Any]:
        """What tells whose explanation is whose; plain JSON."""
        entries = {
            i.code: {"method": i.method, "input": i.input, "texts": list(i.why.header.texts)} for i in self.items
        }
        told = {"kind": "rating-key", "schema": 1, "sheet": self.name, "scale": str(self.scale)}
        return {**told, "question": self.question, "items": entries}


def draw_explanations(
    sources: Sequence[str | os.PathLike[str]], *, limit: int | None = None, seed: int = 0
) -> list[Named]:
    """Explanations out of files, with the names of their methods.

    Args:
        sources: Parquet files of `explain_many`, JSON or JSON Lines of explanations (`saywhy explain --json`), or the
            folder of a study's results.
        limit: at most so many inputs, drawn by the seed; only their explanations are held in memory.
        seed: of the draw.
    """
    if limit is not None and limit < 1:
        raise OptionError(f"limit must be at least 1, not {limit}")
    # Two passes, of which the first keeps hashes only: the file may be large.
    keys = list(dict.fromkeys(_key(why) for _, why in _read_all(sources)))
    chosen = set(keys if limit is None or limit >= len(keys) else random.Random(f"{seed}/inputs").sample(keys, limit))
    return [(name, why) for name, why in _read_all(sources) if _key(why) in chosen]


def _key(why: Explanation) -> bytes:
    text = json.dumps([why.header.texts, why.header.choices])
    return hashlib.blake2b(text.encode(), digest_size=12).digest()


def _read_all(sources: Sequence[str | os.PathLike[str]]) -> Iterator[Named]:
    for source in sources:
        path = Path(source)
        if path.is_dir():
            results = sorted(path.glob("cells/*/result.json"))
            if not results:
                raise DataError("no results of a study are here (cells/NAME/result.json)", file=str(path))
            for file in results:
                yield from _from_json(_json(file.read_text(encoding="utf-8"), str(file)).get("explanations", []), file)
        elif not path.exists():
            raise DataError("no such file or folder", file=str(path))
        elif path.suffix == ".parquet":
            yield from ((why.method, why) for why in read_explanations(path))
        elif path.suffix == ".jsonl":
            with path.open(encoding="utf-8") as lines:
                for number, line in enumerate(lines, start=1):
                    if line.strip():
                        yield from _from_json(_json(line, str(path), number), path, number)
        else:
            yield from _from_json(_json(path.read_text(encoding="utf-8"), str(path)), path)


def _json(text: str, file: str, line: int | None = None) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise DataError(f"not valid JSON: {error}", file=file, line=line) from None


def _from_json(data: Any, file: Path, line: int | None = None) -> Iterator[Named]:
    for item in data if isinstance(data, list) else [data]:
        # A study keeps the title of the method beside the explanation.
        title, given = (item["method"], item["why"]) if isinstance(item, dict) and "why" in item else (None, item)
        try:
            why = explanation_from_dict(given)
        except (InputError, AttributeError, KeyError, TypeError) as error:
            raise DataError(f"not an explanation: {error}", file=str(file), line=line) from None
        yield title or why.method, why


def make_sheet(
    explanations: Iterable[Named | Explanation],
    *,
    question: str = QUESTION,
    scale: str = "1-5",
    per_item: int | None = None,
    seed: int = 0,
) -> Sheet:
    """A sheet: the inputs in random order, each with its explanations in random order.

    Args:
        explanations: of any methods and inputs, alone or with a name to stand for the method. Where a method explained
            an input several times, as with several seeds, one of them is drawn.
        question: what raters are asked about each.
        scale: ``1-5`` or another range of whole numbers, or ``yes-no``.
        per_item: at most so many explanations of an input, drawn by the seed; all if None.
        seed: of order and draws.

    Example:
        >>> from saywhy.types import Header, Word
        >>> header = Header("lime", "yes", ("no", "yes"), (0.1, 0.9), ("Good film",))
        >>> sheet = make_sheet([WordScores(header, (Word("Good", 0, 4),), (1.0,))], scale="yes-no")
        >>> [(item.code, item.method) for item in sheet.items]
        [('1-1', 'lime')]
    """
    if per_item is not None and per_item < 1:
        raise OptionError(f"per_item must be at least 1, not {per_item}")
    rng, groups = random.Random(f"{seed}/sheet"), dict[bytes, dict[str, list[Explanation]]]()
    for given in explanations:
        name, why = (given.method, given) if isinstance(given, Explanation) else given
        groups.setdefault(_key(why), {}).setdefault(name, []).append(why)
    if not groups:
        raise InputError("there is nothing to rate: give at least one explanation")
    order = sorted(groups)
    rng.shuffle(order)
    items = []
    for number, key in enumerate(order, start=1):
        drawn = [(name, rng.choice(several)) for name, several in sorted(groups[key].items())]
        rng.shuffle(drawn)
        for place, (name, why) in enumerate(drawn[:per_item], start=1):
            items.append(Item(f"{number}-{place}", number, name, why))
    parsed = Scale.parse(scale)
    facts = [question, str(parsed), [[i.code, i.method, i.why.to_dict()] for i in items]]
    name = hashlib.blake2b(json.dumps(facts, sort_keys=True).encode(), digest_size=6).hexdigest()
    return Sheet(name, question, parsed, tuple(items))


def export_sheet(
    sheet: Sheet, out: str | os.PathLike[str], key: str | os.PathLike[str] | None = None
) -> tuple[Path, Path]:
    """Write a sheet as a page or as a table, and its key.

    Args:
        sheet: of `make_sheet`.
        out: ``.html``: a page that opens offline and hands out the answers as CSV; ``.csv``: a table to fill in.
        key: where the key goes; ``OUT.key.json`` if None. Raters must not get it.

    Returns:
        The two files.
    """
    from saywhy.reports.page import write_page
    from saywhy.reports.rating import rating_page

    target = Path(out)
    if target.suffix not in (".html", ".csv"):
        raise OptionError(f"cannot tell what to write to {target}; give a name that ends in .html or .csv")
    place = Path(key) if key is not None else target.with_name(f"{target.stem}.key.json")
    write_page(target, rating_page(sheet) if target.suffix == ".html" else _csv(sheet))
    write_page(place, json.dumps(sheet.key(), ensure_ascii=False, indent=1) + "\n")
    return target, place


def _csv(sheet: Sheet) -> str:
    import io

    # A byte order mark, without which spreadsheets take UTF-8 for something else.
    text = io.StringIO()
    text.write("\ufeff")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(SHEET_COLUMNS)
    for item in sheet.items:
        header = item.why.header
        texts = " | ".join(header.texts + header.choices)
        writer.writerow([sheet.name, "", item.code, *map(_harmless, (header.target, texts, _shown(item.why))), ""])
    return text.getvalue()


def _harmless(text: str) -> str:
    """A cell that no spreadsheet takes for a formula."""
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t", "\r") else text


def _shown(why: Explanation) -> str:
    """An explanation in one line: its words, strongest first, as shares of the strongest; or its sentence."""
    if isinstance(why, FreeText):
        return why.sentence
    if isinstance(why, Rationale):
        return " ".join(word.text for word, chosen in zip(why.words, why.selected, strict=True) if chosen)
    pairs: list[tuple[str, float]] = []
    if isinstance(why, Alignments):
        pairs = [(f"{a.text} ~ {b.text}", score) for (a, b), score in why.top(_SHOWN_WORDS)]
    elif isinstance(why, WordScores):
        ranked = sorted(range(len(why.scores)), key=lambda i: (-abs(why.scores[i]), i))[:_SHOWN_WORDS]
        pairs = [(why.words[i].text, why.scores[i]) for i in ranked]
    top = max((abs(score) for _, score in pairs), default=0.0) or 1.0
    return ", ".join(f"{text} {score / top:+.2f}" for text, score in pairs)
