"""Small changes of a text that leave its meaning alone: what behavioural tests try on a model."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import regex

from saywhy.data.attack_words import (
    CITIES,
    CONTRACTIONS,
    COUNTRIES,
    FEMALE_NAMES,
    LAST_NAMES,
    MALE_NAMES,
    NUMBERS,
)

__all__ = ["KINDS", "Rewrite", "apply_rewrites", "checklist_rewrites", "synonym_rewrites"]

KINDS = ("contract", "extend", "names", "places", "numbers")
_GROUPS = {"names": (MALE_NAMES, FEMALE_NAMES, LAST_NAMES), "places": (CITIES, COUNTRIES)}
_WORD = re.compile(r"[^\W\d_]+")
_DIGITS = re.compile(r"(?<![\w.,])\d{1,4}(?![\w]|[.,]\d)")
# Marks out of ten and stars are what a review says, not circumstances of it.
_MARK_BEFORE = re.compile(r"(/|\bout of|\bof)\s*$", re.IGNORECASE)
_MARK_AFTER = re.compile(r"^\s*(/|-?\s*(out|stars?\b|points?\b|thumbs?\b)|%)", re.IGNORECASE)
_EXPANSIONS = {short: long for long, short in CONTRACTIONS.items() if long != "can not"}


def _any_of(words: Iterable[str]) -> regex.Pattern[str]:
    return regex.compile(rf"\b({'|'.join(sorted(map(re.escape, words), key=len, reverse=True))})\b", regex.IGNORECASE)


_LONG, _SHORT = _any_of(CONTRACTIONS), _any_of(_EXPANSIONS)


@dataclass(frozen=True, order=True)
class Rewrite:
    """Characters ``start`` to ``end`` of field ``field`` replaced by ``text``."""

    field: int
    start: int
    end: int
    text: str
    kind: str = ""

    def overlaps(self, other: Rewrite) -> bool:
        """Whether both touch the same characters."""
        return self.field == other.field and self.start < other.end and other.start < self.end


def apply_rewrites(fields: Sequence[str], rewrites: Sequence[Rewrite]) -> tuple[str, ...]:
    """The fields with all changes made; the changes must not overlap.

    Example:
        >>> apply_rewrites(["It is not bad."], [Rewrite(0, 3, 9, "isn't")])
        ("It isn't bad.",)
    """
    made = list(fields)
    for change in sorted(rewrites, reverse=True):
        text = made[change.field]
        made[change.field] = text[: change.start] + change.text + text[change.end :]
    return tuple(made)


def checklist_rewrites(
    text: str, rng: np.random.Generator, *, field: int = 0, kinds: Sequence[str] = KINDS, candidates: int = 3
) -> list[Rewrite]:
    """The changes of CheckList's recipe: shorter and longer forms, other names, other places, other numbers.

    Reference: Ribeiro et al.: Beyond Accuracy: Behavioral Testing of NLP Models with CheckList, ACL 2020, section 2
    (invariance tests).

    Departures: names and places are found by the lists of this project rather than by a tagger. Numbers that are marks
    ("8/10", "two stars") are left alone, because they say what a review says.

    Args:
        text: any text.
        rng: draws the candidates.
        field: number of the field the text is.
        kinds: which of `KINDS`.
        candidates: at most so many for each place of a name, a place or a number.

    Example:
        >>> found = checklist_rewrites("She was not there.", np.random.default_rng(0), kinds=["contract"])
        >>> [change.text for change in found]
        ["wasn't"]
    """
    found: list[Rewrite] = []
    if "contract" in kinds:
        found += [_form(m, CONTRACTIONS, field, "contract") for m in _LONG.finditer(text, overlapped=True)]
    if "extend" in kinds:
        found += [_form(m, _EXPANSIONS, field, "extend") for m in _SHORT.finditer(text)]
    lower = text.lower() == text  # some corpora have no capitals at all
    for kind in ("names", "places"):
        if kind in kinds:
            for match in _WORD.finditer(text):
                others = _same_group(match.group(), kind) if lower or match.group()[0].isupper() else ()
                found += _drawn(match, others, rng, candidates, field, kind)
    if "numbers" in kinds:
        found += _numbers(text, rng, field, candidates)
    return found


def synonym_rewrites(
    text: str, synonyms: Callable[[str], Sequence[str]], *, field: int = 0, candidates: int = 3
) -> list[Rewrite]:
    """Words replaced by synonyms, the first ``candidates`` of each; names are left alone."""
    found = []
    for match in _WORD.finditer(text):
        word = match.group()
        begins = not text[: match.start()].rstrip() or text[: match.start()].rstrip()[-1] in ".!?"
        if len(word) < 3 or (word[0].isupper() and (not begins or _same_group(word, "names"))):
            continue
        for other in synonyms(word.lower())[:candidates]:
            found.append(Rewrite(field, match.start(), match.end(), _cased(other, word), "synonym"))
    return found


def _form(match: regex.Match[str], forms: dict[str, str], field: int, kind: str) -> Rewrite:
    return Rewrite(field, match.start(), match.end(), _cased(forms[match.group().lower()], match.group()), kind)


def _cased(new: str, old: str) -> str:
    if len(old) > 1 and old.isupper():
        return new.upper()
    return new[0].upper() + new[1:] if old[0].isupper() else new


@lru_cache(maxsize=4096)
def _same_group(word: str, kind: str) -> tuple[str, ...]:
    """The names (or places) of the same kind as a word; none if it is no name."""
    name = word.capitalize()
    return next((group for group in _GROUPS[kind] if name in group), ())


def _drawn(
    match: re.Match[str], others: Sequence[str], rng: np.random.Generator, candidates: int, field: int, kind: str
) -> list[Rewrite]:
    word = match.group()
    left = [other for other in others if other.lower() != word.lower()]
    if not left:
        return []
    chosen = rng.choice(len(left), size=min(candidates, len(left)), replace=False)
    cased = [left[int(i)].lower() if word.islower() else _cased(left[int(i)], word) for i in sorted(chosen)]
    return [Rewrite(field, match.start(), match.end(), other, kind) for other in cased]


def _numbers(text: str, rng: np.random.Generator, field: int, candidates: int) -> list[Rewrite]:
    found: list[Rewrite] = []
    words = [m for m in _WORD.finditer(text) if m.group().lower() in NUMBERS]
    for match in sorted([*words, *_DIGITS.finditer(text)], key=lambda m: m.start()):
        if _MARK_BEFORE.search(text[: match.start()]) or _MARK_AFTER.search(text[match.end() :]):
            continue
        if match.group().isdecimal():
            value = int(match.group())
            width = min(20, max(2, value // 5))  # a year stays near its own
            near = [str(n) for n in range(max(1, value - width), value + width + 1) if len(str(n)) == len(str(value))]
            found += _drawn(match, near, rng, candidates, field, "numbers")
        else:
            found += _drawn(match, NUMBERS, rng, candidates, field, "numbers")
    return found
