from __future__ import annotations

from collections import Counter

import pytest

from saywhy.data import load_dataset
from saywhy.errors import OptionError

STORIES = load_dataset("planted-choices", split="dev")


def test_the_marked_sentence_answers_the_question() -> None:
    for example in STORIES:
        (span,) = example.rationales[0]
        sentence = example.texts[0][span.start : span.end]
        assert sentence.endswith(".")
        assert example.choices[int(example.label or 0)] in sentence
        assert example.meta["about"] in sentence
        question = example.texts[0].rsplit(". ", 1)[1]
        assert question.endswith("?")
        assert example.meta["about"] in question
        others = example.texts[0].replace(sentence, "").removesuffix(question)
        assert f" {example.meta['about']} " not in f" {others.replace(',', '').replace('.', '')} "
        assert example.explanations[0].startswith(sentence[:-1])


def test_every_choice_stands_in_the_story() -> None:
    for example in STORIES:
        assert len(set(example.choices)) == 5
        assert all(choice in example.texts[0] for choice in example.choices)


def test_without_distractors_only_the_answer_does() -> None:
    for example in load_dataset("planted-choices", split="dev", distractors=0)[:100]:
        words = set(example.texts[0].replace(".", " ").replace(",", " ").split())
        assert [choice in words for choice in example.choices].count(True) == 1


def test_answers_are_spread_and_seeded() -> None:
    assert min(Counter(e.label for e in STORIES).values()) > 60
    assert load_dataset("planted-choices", split="dev") == STORIES
    assert load_dataset("planted-choices", split="dev", seed=3) != STORIES
    with pytest.raises(OptionError, match="distractors must be 0 to 4"):
        load_dataset("planted-choices", distractors=5)
    with pytest.raises(OptionError, match="fillers must be"):
        load_dataset("planted-choices", fillers=-1)
