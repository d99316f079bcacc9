"""Texts of a length: whole words, never too long, the same every time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from saywhy.benchmarks.texts import texts_of
from saywhy.errors import DataError, OptionError
from tests import zoo


def write_lines(file: Path) -> None:
    """A corpus of different short sentences of words that the zoo's tokenizers know."""
    words = [word.strip(".,;?!") for line in zoo.LINES for word in line.split()]
    rng = np.random.default_rng(0)
    rows = [f"{' '.join(rng.choice(words, 6))}.,{i % 2}" for i in range(400)]
    file.write_text("\n".join(["text,label", *rows]))


@pytest.fixture
def data(tmp_path: Path) -> str:
    write_lines(tmp_path / "lines.csv")
    return str(tmp_path / "lines.csv")


@pytest.mark.parametrize("tokens", [8, 20, 30])
def test_texts_are_as_long_as_asked_and_end_with_a_word(data: str, tokens: int) -> None:
    model = zoo.classifier()
    made = texts_of(model, data, tokens, 3)
    assert len(made) == 3
    whole = {word.strip(".,;?!") for line in zoo.LINES for word in line.split()}
    for example in made:
        length = len(model.tokenizer(example.texts[0])["input_ids"])
        assert tokens - 4 <= length <= tokens
        # A mark may be cut from its word, but no word is cut, save at its apostrophe.
        last = example.texts[0].split()[-1].strip(".")
        assert last in whole or last == "isn"
    assert made == texts_of(model, data, tokens, 3)
    assert made != texts_of(model, data, tokens, 3, seed=1)


def test_too_short_and_too_little(data: str) -> None:
    with pytest.raises(OptionError, match="at least 8"):
        texts_of(zoo.classifier(), data, 4, 1)
    with pytest.raises(DataError, match="ask for fewer"):
        texts_of(zoo.classifier(), data, 30, 5000)
