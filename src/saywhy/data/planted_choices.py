"""`planted-choices`: short stories and a question with five choices; one sentence of the story decides."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from saywhy.data.corpus import Corpus, register
from saywhy.data.planted_text import capitalise, check_counts, fill_frame
from saywhy.errors import OptionError
from saywhy.types import Example, Span

__all__ = ["PlantedChoices"]


def _words(text: str, separator: str | None = None) -> tuple[str, ...]:
    return tuple(text.split(separator))


NAMES = _words("Anna Ben Carla David Emma Felix Greta Hugo Ida Jonas Karl Lena Martin Nora Oscar Paula Rosa Simon Tina")
THINGS = _words(
    "key coin letter ring book map lamp cup scarf phone camera ticket pencil clock knife spoon radio wallet bottle"
)
SPOTS = _words(
    "box|drawer|basket|cupboard|suitcase|bag|jar|bucket|wardrobe|safe|fridge|shed|car|bathtub|tent|bookcase", "|"
)
DAYS = _words("Monday Tuesday Wednesday Thursday Friday Saturday Sunday")
FILLERS = _words(
    "it was a long day for everybody|nobody was in a hurry|the weather kept changing|there was music somewhere|"
    "they had all known each other for years|the house was full of people|later they had dinner|the windows were open",
    "|",
)


class _Topic(NamedTuple):
    """What is asked about (``{about}``), what is asked for (``{answer}``), and how both are said."""

    question: str
    facts: tuple[str, ...]
    about: tuple[str, ...]
    answers: tuple[str, ...]


TOPICS = (
    _Topic(
        "Where is the {about}?",
        (
            "{other} put the {about} in the {answer}",
            "the {about} lies in the {answer}, where {other} left it",
            "in the {answer}, {other} hid the {about}",
            "you will find the {about} in the {answer}",
        ),
        THINGS,
        SPOTS,
    ),
    _Topic(
        "Who has the {about}?",
        (
            "{answer} took the {about} away",
            "the {about} now belongs to {answer}",
            "{other} handed the {about} to {answer}",
            "{answer} walked off with the {about}",
        ),
        THINGS,
        NAMES,
    ),
    _Topic(
        "What did {about} buy?",
        (
            "{about} bought a {answer}",
            "{about} came home with a new {answer}",
            "the {answer} was paid for by {about}",
            "at the shop, {about} chose a {answer}",
        ),
        NAMES,
        THINGS,
    ),
    _Topic(
        "When did {about} leave?",
        (
            "{about} left on {answer}",
            "on {answer} {about} packed and went",
            "{answer} was the day {about} departed",
            "the train of {about} went on {answer}",
        ),
        NAMES,
        DAYS,
    ),
)


class PlantedChoices(Corpus):
    """Made-up stories with a question and five choices; the sentence that answers it is known exactly.

    Every choice is the answer to the question about somebody or something else in the same story, so that looking for
    the choice's word in the story does not help: a reader has to find the sentence about what is asked. Gold: that
    sentence as a rationale in the question (field 0), and a sentence that gives the reason.

    Args:
        name: as registered.
        seed: the same seed, the same stories.
        distractors: how many of the four wrong choices stand in the story; 0 makes it easy.
        fillers: most sentences that tell nothing.
        n: examples in ``train``, or a mapping with the numbers for ``train``, ``dev`` and ``test`` (4000, 500, 500).
    """

    task = "choices"

    def __init__(
        self,
        name: str = "planted-choices",
        *,
        seed: int = 0,
        distractors: int = 4,
        fillers: int = 2,
        n: int | Mapping[str, int] | None = None,
    ) -> None:
        if not 0 <= distractors <= 4:
            raise OptionError(f"{name}: distractors must be 0 to 4, not {distractors}")
        if not 0 <= fillers <= len(FILLERS):
            raise OptionError(f"{name}: fillers must be 0 to {len(FILLERS)}, not {fillers}")
        self.name, self.seed, self.distractors, self.fillers = name, seed, distractors, fillers
        self.counts = check_counts(name, n)

    def splits(self) -> tuple[str, ...]:
        """``train``, ``dev`` and ``test``."""
        return tuple(self.counts)

    def read(self, split: str) -> Iterator[Example]:
        """The stories of a split."""
        return (self._example(split, i) for i in range(self.counts[split]))

    def _example(self, split: str, i: int) -> Example:
        rng = random.Random(f"{self.seed}/{self.name}/{split}/{i}")
        topic = rng.choice(TOPICS)
        abouts, answers = rng.sample(topic.about, 5), rng.sample(topic.answers, 5)
        others = rng.sample([n for n in NAMES if n not in abouts and n not in answers], 5)
        facts = [
            fill_frame(rng.choice(topic.facts), {"about": about, "answer": answer, "other": other})[0]
            for about, answer, other in zip(abouts, answers, others, strict=True)
        ]
        # The first fact is the one that is asked about.
        told = [facts[0], *rng.sample(facts[1:], self.distractors)]
        sentences = [capitalise(s) + "." for s in told + rng.sample(FILLERS, rng.randint(0, self.fillers))]
        deciding = sentences[0]
        rng.shuffle(sentences)
        story = " ".join(sentences)
        start = sum(len(s) + 1 for s in sentences[: sentences.index(deciding)])
        question = fill_frame(topic.question, {"about": abouts[0]})[0]
        choices = tuple(rng.sample(answers, 5))
        return Example(
            (f"{story} {question}",),
            choices.index(answers[0]),
            choices=choices,
            rationales=((Span(0, start, start + len(deciding)),),),
            explanations=(f"{deciding[:-1]}, so the answer is {answers[0]}.",),
            truth=True,
            id=f"{split}-{i}",
            source=f"{self.name}/{split}",
            line=i + 1,
            meta={"about": abouts[0]},
        )


register(
    PlantedChoices,
    "planted-choices",
    tasks=("choices",),
    family="planted",
    summary="Made-up stories with a question and five choices; the sentence that answers it is known.",
)
