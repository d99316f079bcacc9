from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from saywhy.data import load_dataset
from saywhy.data.planted_words import ASPECTS, FRAMES, NEGATIONS, NEGATIVE, POSITIVE
from saywhy.data.words import split_words
from saywhy.errors import OptionError
from saywhy.types import Example

SMALL = {"train": 600, "dev": 50, "test": 300}


def load(split: str = "train", **options: Any) -> list[Example]:
    return load_dataset("planted-reviews", split=split, n=SMALL, **options)


def marked(example: Example) -> list[str]:
    return [example.texts[0][s.start : s.end] for s in example.rationales[0]]


def sign(phrase: str) -> bool:
    """Whether an opinion phrase is positive, read from its words alone."""
    head = next(
        n for n in ("", *sorted(NEGATIONS, key=len, reverse=True)) if phrase.startswith(n) and _known(phrase[len(n) :])
    )
    return (phrase[len(head) :].strip() in POSITIVE) != bool(head)


def _known(word: str) -> bool:
    return word.strip() in POSITIVE or word.strip() in NEGATIVE


def test_there_are_enough_words_and_frames() -> None:
    assert len(set(POSITIVE) | set(NEGATIVE)) >= 150
    assert not set(POSITIVE) & set(NEGATIVE)
    for aspect in ASPECTS.values():
        assert len(set(FRAMES + aspect.frames)) >= 12
    nouns = [noun for aspect in ASPECTS.values() for noun, _ in aspect.nouns]
    assert len(nouns) == len(set(nouns))


@pytest.mark.parametrize("size", ["demo", "binding", "full"])
def test_the_marked_opinion_decides(size: str) -> None:
    for example in load(size=size, mentions=2):
        phrases = [phrase[0].lower() + phrase[1:] for phrase in marked(example)]
        assert phrases
        assert {"positive" if sign(phrase) else "negative" for phrase in phrases} == {example.label}
        assert example.meta["aspects"]["food"] == example.label


def test_the_marked_opinion_stands_beside_the_target() -> None:
    for example in load()[:200]:
        text = example.texts[0]
        (opinion,), (noun,) = example.rationales[0], example.meta["nouns"]
        assert text[noun.start : noun.end] in {n for n, _ in ASPECTS["food"].nouns}
        between = text[min(opinion.end, noun.end) : max(opinion.start, noun.start)]
        assert "." not in between


@pytest.mark.parametrize(("size", "low", "high"), [("demo", 15, 35), ("full", 60, 150)])
def test_length(size: str, low: int, high: int) -> None:
    sizes = [len(e.texts[0].split()) for e in load(size=size)]
    assert low <= min(sizes)
    assert max(sizes) <= high
    assert max(sizes) - min(sizes) > (high - low) / 2


def test_labels_are_balanced() -> None:
    assert Counter(e.label for e in load()) == {"negative": 300, "positive": 300}


def test_the_same_seed_gives_the_same_texts() -> None:
    def texts(split: str = "train", **options: Any) -> list[tuple[str, ...]]:
        return [e.texts for e in load_dataset("planted-reviews", split=split, **{"n": 60, "size": "demo", **options})]

    assert texts(seed=5) == texts(seed=5)
    assert texts(seed=5) != texts(seed=6)
    assert texts(seed=5, n=80)[:60] == texts(seed=5)
    assert not set(texts()) & set(texts("test", n={"test": 60}))
    assert not set(texts()) & set(texts("dev", n={"dev": 60}))


@pytest.mark.parametrize("correlation", [-1.0, 0.0, 0.8])
def test_correlation_of_the_distractors(correlation: float) -> None:
    signs = [
        (value == example.label)
        for example in load(correlation=correlation)
        for aspect, value in example.meta["aspects"].items()
        if aspect != "food"
    ]
    assert len(signs) == 3 * 600
    assert abs(2 * sum(signs) / len(signs) - 1 - correlation) < 0.06


def test_negation_is_as_frequent_as_asked_for_and_tells_nothing() -> None:
    examples = load(negation=0.5)
    negated = [any(phrase.lower().startswith(n + " ") for n in NEGATIONS) for e in examples for phrase in marked(e)]
    assert 0.43 < sum(negated) / len(negated) < 0.57
    positive = [e.label == "positive" for e in examples]
    both = sum(a and b for a, b in zip(negated, positive, strict=True))
    assert 0.4 < both / sum(negated) < 0.6


def test_shortcut_goes_with_the_label_as_strongly_as_asked_for() -> None:
    def share(examples: list[Example], label: str) -> float:
        of = [e for e in examples if e.label == label]
        return sum("incidentally" in e.texts[0].lower() for e in of) / len(of)

    options = {"shortcut": 0.8, "test_shortcut": 0.0}
    train, test = load(**options), load("test", **options)
    assert 0.85 < share(train, "positive") < 0.95
    assert 0.05 < share(train, "negative") < 0.15
    assert 0.4 < share(test, "positive") < 0.6
    assert all("incidentally" not in e.texts[0].lower() for e in load())
    for example in train:
        if "shortcut" in example.meta:
            span = example.meta["shortcut"]
            assert example.texts[0][span.start : span.end].lower() == "incidentally"


def test_other_targets_and_aspects() -> None:
    for example in load(target="price", aspects=["price", "service"], distractors=1)[:50]:
        assert set(example.meta["aspects"]) == {"price", "service"}
        assert example.meta["aspects"]["price"] == example.label


def test_a_range_of_distractors_is_for_training_only() -> None:
    numbers = {split: {len(e.meta["aspects"]) - 1 for e in load(split, distractors=(0, 3))} for split in SMALL}
    assert numbers == {"train": {0, 1, 2, 3}, "dev": {3}, "test": {3}}


def test_fewer_nouns_and_frames() -> None:
    for example in load(nouns=1, frames=1, distractors=1)[:50]:
        assert "the food was " in example.texts[0].lower()


def test_own_words_belong_to_one_aspect() -> None:
    used: dict[str, set[str]] = {}
    for aspect in ("food", "service"):
        examples = load(target=aspect, words="own", negation=0.0)
        used[aspect] = {phrase.lower() for e in examples for phrase in marked(e)}
    assert not used["food"] & used["service"]
    shared = {phrase.lower() for e in load(negation=0.0) for phrase in marked(e)}
    assert len(shared) > 150


def test_every_word_of_the_gold_is_a_word() -> None:
    for example in load()[:100]:
        words = split_words(example.texts[0])
        for span in example.rationales[0]:
            assert any(w.start == span.start for w in words)
            assert any(w.end == span.end for w in words)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"size": "tiny"}, "size must be one of demo, binding, full"),
        ({"target": "taste"}, "unknown aspect 'taste'; known: food"),
        ({"distractors": 9}, "distractors must be 0 to 5"),
        ({"correlation": 2}, "correlation must be"),
        ({"shortcut": -1}, "shortcut must be"),
        ({"negation": 2}, "negation must be"),
        ({"mentions": 0}, "mentions, nouns and frames must be"),
        ({"nouns": 0}, "mentions, nouns and frames must be"),
        ({"frames": -1}, "mentions, nouns and frames must be"),
        ({"length": (9, 3)}, "length must be"),
        ({"words": "mine"}, "words must be"),
        ({"n": 0}, "n must be a positive number"),
        ({"n": {"validation": 3}}, "n must be a positive number"),
    ],
)
def test_wrong_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        load_dataset("planted-reviews", **options)


@pytest.mark.slow
def test_words_alone_do_not_solve_the_full_size() -> None:
    """A linear model of word counts stays near what guessing from all opinions together gives."""
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression

    scores = {}
    for size in ("full", "binding", "demo"):
        data = load_dataset("planted-reviews", size=size)
        counts = CountVectorizer(token_pattern=r"[\w-]+")
        train = counts.fit_transform([e.texts[0] for e in data["train"]])
        model = LogisticRegression(C=0.1, max_iter=500).fit(train, [e.label for e in data["train"]])
        test = counts.transform([e.texts[0] for e in data["test"]])
        scores[size] = model.score(test, [e.label for e in data["test"]])
    assert scores["full"] < 0.7
    assert scores["binding"] < 0.72
    assert scores["demo"] > 0.95
