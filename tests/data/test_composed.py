from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from saywhy.data import load_dataset
from saywhy.data.corpus import text_key
from saywhy.errors import DataError, OptionError
from saywhy.types import Example

SMALL = {"train": 40, "dev": 8, "test": 8}


def parts(example: Example) -> list[str]:
    return [example.texts[0][a:b] for a, b in example.meta["sentences"]]


def check(examples: list[Example], opinions: int) -> None:
    for example in examples:
        ((span,),) = example.rationales
        assert example.truth
        assert (span.start, span.end) in example.meta["sentences"]
        assert " ".join(parts(example)) == example.texts[0]
        assert example.meta["environment"]
        kinds = Counter(source.split("/")[0] for source in example.meta["sources"])
        goods = sum(kinds[k] for k in ("amazon_sentences", "yelp_sentences"))
        goods += sum("cr.jsonl" in s for s in example.meta["sources"])
        assert goods == opinions
        plain = sum("subj" in s for s in example.meta["sources"])
        assert 2 <= plain <= 4
        place = example.meta["sentences"].index((span.start, span.end))
        assert "sst2_" in example.meta["sources"][place] or "/mr." in example.meta["sources"][place]


@pytest.mark.parametrize(("difficulty", "opinions"), [("objective", 0), ("one-opinion", 1), ("three-opinions", 3)])
def test_one_sentence_decides(mini_root: Path, difficulty: str, opinions: int) -> None:
    data = load_dataset("composed", root=mini_root, difficulty=difficulty, n=SMALL)
    for split in data.splits:
        check(list(data[split]), opinions)
        assert len(set(Counter(e.label for e in data[split]).values())) == 1
    for example in data["train"]:
        ((span,),) = example.rationales
        positive = {"fine", "great", "good"}
        assert bool(positive & set(example.texts[0][span.start : span.end].split())) == (example.label == "positive")


def test_no_sentence_stands_in_two_splits(mini_root: Path) -> None:
    data = load_dataset("composed", root=mini_root, difficulty="three-opinions", n=SMALL)
    seen = {split: {text_key(Example((part,))) for e in data[split] for part in parts(e)} for split in data.splits}
    assert not seen["train"] & seen["test"]
    assert not seen["train"] & seen["dev"]
    assert not seen["dev"] & seen["test"]


def test_seed(mini_root: Path) -> None:
    def texts(seed: int) -> list[tuple[str, ...]]:
        return [e.texts for e in load_dataset("composed", root=mini_root, n=SMALL, seed=seed, split="train")]

    assert texts(0) == texts(0)
    assert texts(0) != texts(1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"difficulty": "hard"}, "difficulty must be one of objective"),
        ({"deciding": ("nothing",)}, "'nothing' is not a dataset"),
        ({"words": (9, 2)}, "two numbers"),
    ],
)
def test_wrong_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        load_dataset("composed", **options)


def test_sources_without_fitting_sentences(mini_root: Path) -> None:
    with pytest.raises(DataError, match="mr, sst2 have no negative sentence"):
        load_dataset("composed", root=mini_root, words=(30, 40), split="train")


@pytest.mark.slow
@pytest.mark.realdata
def test_real_sentences(real_root: Path) -> None:
    data = load_dataset("composed", root=real_root, difficulty="one-opinion")
    assert {split: len(data[split]) for split in data.splits} == {"train": 4000, "dev": 500, "test": 500}
    for split in data.splits:
        check(list(data[split]), 1)
    seen = {split: {text_key(Example((part,))) for e in data[split] for part in parts(e)} for split in data.splits}
    assert not seen["train"] & seen["test"]
    assert not seen["train"] & seen["dev"]
