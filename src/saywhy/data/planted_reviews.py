"""`planted-reviews`: reviews of several aspects in which only the opinion on one of them decides the label."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from saywhy.data.corpus import Corpus, register
from saywhy.data.planted_text import check_counts, fill_frame
from saywhy.data.planted_words import ASPECTS, FILLERS, FRAMES, NEGATIONS, NEGATIVE, POSITIVE, SLOTS
from saywhy.errors import OptionError
from saywhy.types import Example, Span

__all__ = ["SIZES", "PlantedReviews"]

SIZES: Mapping[str, Mapping[str, Any]] = {
    "demo": {"length": (15, 35), "distractors": 1, "negation": 0.0, "words": "own"},
    "binding": {
        "length": (5, 16),
        "distractors": (0, 3),
        "negation": 0.0,
        "words": "shared",
        "nouns": 1,
        "frames": 2,
        "n": 20000,
    },
    "full": {"length": (60, 150), "distractors": 3, "negation": 0.2, "words": "shared"},
}


class _Sentence(NamedTuple):
    text: str
    aspect: str = ""
    opinion: tuple[int, int] = (0, 0)
    noun: tuple[int, int] = (0, 0)


class PlantedReviews(Corpus):
    """Restaurant reviews, made up; the opinion on the target aspect decides, and where it stands is known exactly.

    Each text has sentences with an opinion on the target aspect, on other aspects (distractors), and sentences without
    any. In ``full`` size all aspects share their opinion words, and a negation turns an opinion round, so that no word
    decides by itself: a reader has to bind the opinion to its aspect. The gold rationale is the opinion phrase on the
    target, negation included; ``meta`` has the aspects' signs, the target nouns' spans, and the shortcut's.

    Args:
        name: as registered.
        seed: the same seed, the same texts; example i of a split does not depend on how many there are.
        size: ``full``: 60 to 150 words, three distractors, a fifth of the opinions negated; ``demo``: 15 to 35 words,
            one distractor, no negation, and each aspect with words of its own, for a model that has a minute to learn;
            ``binding``: shared words and three distractors (fewer in ``train``) in as few nouns and frames as it takes
            for a small transformer to learn, in 20,000 short texts, what word counts cannot tell. Options given go
            before it.
        target: aspect that decides.
        aspects: aspects that may occur; all of ``food service room price location drinks`` unless given.
        distractors: how many other aspects each text has an opinion on; or the fewest and the most in ``train``, where
            the easier texts teach what the harder ones need, while ``dev`` and ``test`` have the most.
        mentions: how many opinions on the target there are at most; all agree, and all are gold.
        correlation: of each distractor's sign with the label, -1 to 1.
        shortcut: strength, 0 to 1, with which a word that means nothing goes with the label: it occurs in a share of
            (1 + strength)/2 of the positive and (1 - strength)/2 of the negative texts. None: it never occurs.
        shortcut_word: that word.
        test_correlation: the correlation in ``test``, if it is another.
        test_shortcut: the strength in ``test``, if it is another.
        negation: share of the opinions that are negated.
        words: ``shared``: all aspects have the same opinion words; ``own``: each aspect has a part of them for itself,
            which makes the task far easier, as no binding is needed.
        nouns: how many nouns name each aspect, of a dozen or more; fewer make binding far easier to learn.
        frames: how many sentence frames there are, of 14 an aspect; fewer make it easier as well.
        length: fewest and most words of a text, as near as whole sentences allow.
        n: examples in ``train``, or a mapping with the numbers for ``train``, ``dev`` and ``test`` (4000, 500, 500).
    """

    labels: tuple[str, ...] = ("negative", "positive")

    def __init__(
        self,
        name: str = "planted-reviews",
        *,
        seed: int = 0,
        size: str = "full",
        target: str = "food",
        aspects: Sequence[str] | None = None,
        distractors: int | tuple[int, int] | None = None,
        mentions: int = 1,
        correlation: float = 0.0,
        shortcut: float | None = None,
        shortcut_word: str = "incidentally",
        test_correlation: float | None = None,
        test_shortcut: float | None = None,
        negation: float | None = None,
        words: str | None = None,
        nouns: int | None = None,
        frames: int | None = None,
        length: tuple[int, int] | None = None,
        n: int | Mapping[str, int] | None = None,
    ) -> None:
        if size not in SIZES:
            raise OptionError(f"size must be one of {', '.join(SIZES)}, not {size!r}")
        preset = SIZES[size]
        self.name, self.seed, self.target = name, seed, target
        self.aspects = tuple(aspects) if aspects is not None else tuple(ASPECTS)
        given: int | tuple[int, int] = preset["distractors"] if distractors is None else distractors
        self.distractors = (given, given) if isinstance(given, int) else (given[0], given[-1])
        self.negation: float = preset["negation"] if negation is None else negation
        self.words: str = preset["words"] if words is None else words
        self.length: tuple[int, int] = preset["length"] if length is None else (length[0], length[-1])
        self.mentions, self.correlation, self.shortcut, self.shortcut_word = (
            mentions,
            correlation,
            shortcut,
            shortcut_word,
        )
        self.test_correlation = correlation if test_correlation is None else test_correlation
        self.test_shortcut = shortcut if test_shortcut is None else test_shortcut
        self.counts = check_counts(name, preset.get("n") if n is None else n)
        self.nouns: int | None = preset.get("nouns") if nouns is None else nouns
        self.frames: int | None = preset.get("frames") if frames is None else frames
        self._check()

    def _check(self) -> None:
        unknown = [a for a in (*self.aspects, self.target) if a not in ASPECTS]
        if unknown:
            raise OptionError(f"unknown aspect {unknown[0]!r}; known: {', '.join(ASPECTS)}")
        others = [a for a in self.aspects if a != self.target]
        rules = {
            f"distractors must be 0 to {len(others)}": 0 <= self.distractors[0] <= self.distractors[1] <= len(others),
            "correlation must be -1 to 1": max(abs(self.correlation), abs(self.test_correlation)) <= 1,
            "shortcut must be 0 to 1": all(s is None or 0 <= s <= 1 for s in (self.shortcut, self.test_shortcut)),
            "negation must be 0 to 1": 0 <= self.negation <= 1,
            "words must be shared or own": self.words in ("shared", "own"),
            "mentions, nouns and frames must be at least 1": min(self.mentions, self.nouns or 1, self.frames or 1) >= 1
            and 0 not in (self.nouns, self.frames),
            "length must be two numbers, the first not above the second": 1 <= self.length[0] <= self.length[1],
        }
        for rule, kept in rules.items():
            if not kept:
                raise OptionError(f"{self.name}: {rule}")

    def splits(self) -> tuple[str, ...]:
        """``train``, ``dev`` and ``test``."""
        return tuple(self.counts)

    def read(self, split: str) -> Iterator[Example]:
        """The examples of a split; labels are balanced in every pair of neighbours."""
        return (self._example(split, i) for i in range(self.counts[split]))

    def _example(self, split: str, i: int) -> Example:
        positive = random.Random(f"{self.seed}/{self.name}/{split}/pair/{i // 2}").random() < 0.5
        positive ^= bool(i % 2)
        rng = random.Random(f"{self.seed}/{self.name}/{split}/{i}")
        correlation, shortcut = self.correlation, self.shortcut
        if split == "test":
            correlation, shortcut = self.test_correlation, self.test_shortcut
        signs = {self.target: positive}
        fewest, most = self.distractors
        number = rng.randint(fewest, most) if split == "train" and fewest < most else most
        for aspect in rng.sample([a for a in self.aspects if a != self.target], number):
            signs[aspect] = positive if rng.random() < (1 + correlation) / 2 else not positive
        sentences = [self._opinion(rng, aspect, sign) for aspect, sign in signs.items()]
        sentences += [self._opinion(rng, self.target, positive) for _ in range(rng.randrange(self.mentions))]
        self._fill(rng, sentences)
        rng.shuffle(sentences)
        marked = shortcut is not None and rng.random() < (1 + shortcut * (1 if positive else -1)) / 2
        return self._join(rng, sentences, marked, positive, signs, f"{split}-{i}", split, i)

    def _opinion(self, rng: random.Random, aspect: str, positive: bool) -> _Sentence:
        negated = rng.random() < self.negation
        pool = POSITIVE if positive != negated else NEGATIVE
        if self.words == "own":
            pool = pool[list(ASPECTS).index(aspect) :: len(ASPECTS)]
        opinion = rng.choice(pool)
        if negated:
            opinion = f"{rng.choice(NEGATIONS)} {opinion}"
        noun, be = rng.choice(ASPECTS[aspect].nouns[: self.nouns])
        frame = rng.choice((FRAMES + ASPECTS[aspect].frames)[: self.frames])
        text, places = fill_frame(frame, {"noun": noun, "be": be, "op": opinion})
        return _Sentence(text, aspect, places["op"], places["noun"])

    def _fill(self, rng: random.Random, sentences: list[_Sentence]) -> None:
        wanted = rng.randint(*self.length)
        words = sum(len(s.text.split()) for s in sentences)
        for filler in rng.sample(FILLERS, len(FILLERS)):
            text, _ = fill_frame(filler, {slot: rng.choice(options) for slot, options in SLOTS.items()})
            size = len(text.split())
            # A sentence goes in if it brings the text nearer to the wanted length, and never beyond the longest.
            if (words < self.length[0] or words + size / 2 <= wanted) and words + size <= self.length[1]:
                sentences.append(_Sentence(text))
                words += size

    def _join(
        self,
        rng: random.Random,
        sentences: Sequence[_Sentence],
        marked: bool,
        positive: bool,
        signs: Mapping[str, bool],
        identity: str,
        split: str,
        i: int,
    ) -> Example:
        place = rng.randrange(len(sentences)) if marked else -1
        text, gold, nouns = "", [], []
        meta: dict[str, Any] = {"aspects": {a: "positive" if s else "negative" for a, s in signs.items()}}
        for number, sentence in enumerate(sentences):
            start = len(text) + bool(text)
            lead = ""
            if number == place:
                lead = f"{self.shortcut_word}, "
                meta["shortcut"] = Span(0, start, start + len(self.shortcut_word))
            whole = lead + sentence.text
            text += (" " if text else "") + whole[0].upper() + whole[1:] + "."
            if sentence.aspect == self.target:
                at = start + len(lead)
                gold.append(Span(0, at + sentence.opinion[0], at + sentence.opinion[1]))
                nouns.append(Span(0, at + sentence.noun[0], at + sentence.noun[1]))
        meta["nouns"] = tuple(nouns)
        return Example(
            (text,),
            self.labels[positive],
            rationales=(tuple(gold),),
            truth=True,
            id=identity,
            source=f"{self.name}/{split}",
            line=i + 1,
            meta=meta,
        )


register(
    PlantedReviews,
    "planted-reviews",
    tasks=("text",),
    family="planted",
    summary="Made-up reviews of several aspects; the opinion on one of them decides, and its place is known.",
)
