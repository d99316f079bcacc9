from __future__ import annotations

import pytest

from saywhy.data import Dataset
from saywhy.data.dataset import Splits
from saywhy.errors import OptionError
from saywhy.metrics import source as module
from saywhy.metrics.source import open_source
from saywhy.types import Example

TEXTS = [f"text number {i}" for i in range(10)]


def _texts(source):
    return [(place, example.texts[0]) for place, example in source]


def test_lists_can_be_read_again_and_iterators_once():
    listed, once = open_source(TEXTS), open_source(iter(TEXTS))
    assert (listed.again, once.again) == (True, False)
    assert _texts(listed) == _texts(listed) == _texts(once) == list(enumerate(TEXTS))


def test_a_limit_draws_like_a_dataset_and_keeps_the_places():
    for data in (TEXTS, iter(TEXTS)):
        drawn = open_source(data, limit=4, seed=3)
        assert drawn.again
        places = [place for place, _ in drawn]
        assert places == sorted(places)
        assert len(places) == 4
        assert _texts(drawn) == [(i, TEXTS[i]) for i in places]
    assert _texts(open_source(TEXTS, limit=4, seed=3)) != _texts(open_source(TEXTS, limit=4, seed=4))


def test_nothing_is_read_before_it_is_asked_for():
    read = []

    def reader(split):
        for text in TEXTS:
            read.append(text)
            yield Example((text,))

    data = Dataset("mine", "text", Splits(["test"], reader))
    source = open_source(data)
    assert source.title == "mine"
    assert read == []
    blocks = source.blocks("whitespace")
    next(blocks)
    assert len(read) == 10  # one block is enough for these
    with pytest.raises(OptionError, match="no split 'dev'"):
        open_source(data, split="dev")


def test_blocks_are_bounded_in_texts_and_words(monkeypatch):
    monkeypatch.setattr(module, "_BLOCK_TEXTS", 3)
    sizes = [len(block) for block in open_source(TEXTS).blocks("whitespace")]
    assert sizes == [3, 3, 3, 1]
    monkeypatch.setattr(module, "_BLOCK_WORDS", 7)
    blocks = list(open_source([*TEXTS[:3], "a long text " * 5, TEXTS[4]]).blocks("whitespace"))
    assert [len(block) for block in blocks] == [2, 1, 1, 1]
    assert [place for block in blocks for place, _ in block] == [0, 1, 2, 3, 4]


def test_one_example_is_a_list_of_one():
    assert _texts(open_source(Example(("alone",)))) == [(0, "alone")]
    assert _texts(open_source({"text": "alone"})) == [(0, "alone")]
