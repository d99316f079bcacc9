"""`composed`: documents of real sentences, one of which decides the label."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator, Mapping, Sequence

from saywhy.data.corpus import HASHED_SPLITS, Corpus, datasets, hash_split, register, text_key
from saywhy.data.planted_text import check_counts
from saywhy.errors import DataError, OptionError
from saywhy.types import Example, Span

__all__ = ["DIFFICULTIES", "Composed"]

DIFFICULTIES: Mapping[str, int] = {"objective": 0, "one-opinion": 1, "three-opinions": 3}


class Composed(Corpus):
    """Documents made of real sentences: one movie review sentence decides; where it stands is known exactly.

    The other sentences are objective ones about movies (from plot summaries), and by difficulty one or three opinions
    about other goods, whose sentiment is independent of the label: a reader has to tell that they are about something
    else. The gold rationale is the whole deciding sentence. A sentence belongs to one split by the hash of its text,
    and so do its copies in other corpora: no sentence stands in two splits. ``meta["environment"]``,
    for objectives that compare environments, is the sentiment of the first other opinion; without one, how many other
    sentences there are.

    Args:
        name: as registered.
        seed: of the draw and of the sentences' splits.
        difficulty: ``objective`` (no other opinion), ``one-opinion`` or ``three-opinions``.
        deciding: corpora of sentences, negative or positive, one of which decides.
        opinions: corpora of sentences about other things.
        objective: how many objective sentences a document has, fewest and most.
        words: fewest and most words of a sentence.
        n: documents in ``train``, or a mapping with the numbers for ``train``, ``dev`` and ``test`` (4000, 500, 500).
        root: folder of the normalised files; see `data_root`.
    """

    labels: tuple[str, ...] = ("negative", "positive")

    def __init__(
        self,
        name: str = "composed",
        *,
        seed: int = 0,
        difficulty: str = "objective",
        deciding: Sequence[str] = ("mr", "sst2"),
        opinions: Sequence[str] = ("cr-reviews", "amazon-sentences", "yelp-sentences"),
        objective: tuple[int, int] = (2, 4),
        words: tuple[int, int] = (5, 40),
        n: int | Mapping[str, int] | None = None,
        root: str | os.PathLike[str] | None = None,
    ) -> None:
        if difficulty not in DIFFICULTIES:
            raise OptionError(f"{name}: difficulty must be one of {', '.join(DIFFICULTIES)}, not {difficulty!r}")
        for bounds in (objective, words):
            if not 0 <= bounds[0] <= bounds[1]:
                raise OptionError(f"{name}: {bounds} must be two numbers, the first not above the second")
        unfit = [source for source in (*deciding, *opinions) if source not in datasets]
        if unfit:
            raise OptionError(f"{name}: {unfit[0]!r} is not a dataset")
        self.name, self.seed, self.difficulty = name, seed, difficulty
        self.deciding, self.opinions, self.objective, self.words = tuple(deciding), tuple(opinions), objective, words
        self.root = root
        self.counts = check_counts(name, n)

    def splits(self) -> tuple[str, ...]:
        """``train``, ``dev`` and ``test``."""
        return tuple(self.counts)

    def read(self, split: str) -> Iterator[Example]:
        """The documents of a split; labels are balanced in every pair of neighbours."""
        rng = random.Random(f"{self.seed}/{self.name}/{split}")
        deciding = self._pools(self.deciding, split, self.labels)
        taken = {text_key(s) for pool in deciding.values() for s in pool}
        plain = [s for s in self._pools(("subj",), split, ("objective",))["objective"] if text_key(s) not in taken]
        others = DIFFICULTIES[self.difficulty]
        opinions = self._pools(self.opinions, split, self.labels) if others else {}
        # Sentences that decide are used up in turn before any comes again.
        for pool in deciding.values():
            rng.shuffle(pool)
        order = rng.sample(self.labels, 2)
        for i in range(self.counts[split]):
            if i % 2 == 0:
                order = rng.sample(self.labels, 2)
            label = order[i % 2]
            chosen = deciding[label][(i // 2) % len(deciding[label])]
            signs = [rng.choice(self.labels) for _ in range(others)]
            rest = [rng.choice(opinions[sign]) for sign in signs]
            rest += rng.sample(plain, rng.randint(*self.objective))
            yield self._document(rng, chosen, rest, label, split, i, signs)

    def _document(
        self,
        rng: random.Random,
        chosen: Example,
        rest: list[Example],
        label: str,
        split: str,
        i: int,
        signs: list[str],
    ) -> Example:
        parts = [chosen, *rest]
        rng.shuffle(parts)
        text, bounds, gold = "", [], None
        for part in parts:
            start = len(text) + bool(text)
            text += (" " if text else "") + part.texts[0].strip()
            bounds.append((start, len(text)))
            if part is chosen:
                gold = Span(0, start, len(text))
        return Example(
            (text,),
            label,
            rationales=((gold,),) if gold else (),
            truth=True,
            id=f"{split}-{i}",
            source=f"{self.name}/{split}",
            line=i + 1,
            meta={
                "sentences": tuple(bounds),
                "sources": tuple(part.where() for part in parts),
                "environment": signs[0] if signs else f"{len(rest)} objective sentences",
            },
        )

    def _pools(self, sources: Sequence[str], split: str, labels: Sequence[str]) -> dict[str, list[Example]]:
        """Sentences of all these corpora that belong to the split, by label, each text once, in order."""
        found: dict[str, list[Example]] = {label: [] for label in labels}
        seen: set[str] = set()
        for source in sources:
            corpus = datasets[source].value(source, **({} if self.root is None else {"root": self.root}))
            # A corpus whose splits are drawn holds everything under `all`.
            for part in ("all",) if "all" in corpus.splits() else corpus.splits():
                for example in corpus.read(part):
                    fits = self.words[0] <= len(example.texts[0].split()) <= self.words[1]
                    if not fits or example.label not in found or hash_split(example, self.seed, HASHED_SPLITS) != split:
                        continue
                    key = text_key(example)
                    if key not in seen:
                        seen.add(key)
                        found[str(example.label)].append(example)
        for label, pool in found.items():
            if not pool:
                raise DataError(f"{self.name}: {', '.join(sources)} have no {label} sentence for {split}")
        return found


register(
    Composed,
    "composed",
    tasks=("text",),
    family="composed",
    summary="Documents of real sentences; one movie review sentence decides, and its place is known.",
)
