from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from saywhy.data import load_dataset
from saywhy.data.frames import Frame, frames_of, role_mask
from saywhy.data.words import split_words
from saywhy.types import Example

TEXTS = ("The president advised the doctor .", "The doctor advised the president .")


def mask(texts: tuple[str, str], first: list[Frame], second: list[Frame]) -> np.ndarray:
    return role_mask(texts, split_words(texts[0], 0), split_words(texts[1], 1), first, second)


def test_the_papers_figure() -> None:
    first = Frame((14, 21), (("ARG0", 0, 13), ("ARG1", 22, 32)))
    second = Frame((11, 18), (("ARG0", 0, 10), ("ARG1", 19, 32)))
    table = mask(TEXTS, [first], [second]).astype(int)
    assert table.tolist() == [
        [1, 1, 0, 0, 0, 0],
        [1, 1, 0, 0, 0, 0],  # president - doctor: both advise
        [0, 0, 1, 0, 0, 0],
        [0, 0, 0, 1, 1, 0],
        [0, 0, 0, 1, 1, 0],
        [0, 0, 0, 0, 0, 1],  # the full stops play no role
    ]


def test_other_predicates_are_not_aligned_and_forms_of_one_verb_are() -> None:
    texts = ("Ann advised Bob", "Ann advises Bob")
    first, second = (Frame((4, end), (("ARG0", 0, 3), ("ARG1", end + 1, end + 4))) for end in (11, 11))
    assert mask(texts, [first], [second]).tolist() == np.eye(3, dtype=bool).tolist()
    assert not mask(("Ann advised Bob", "Ann ignores Bob"), [first], [second]).any()


def test_a_text_without_frames_is_not_guided() -> None:
    assert mask(TEXTS, [], [Frame((11, 18), (("ARG0", 0, 10),))]).all()


def test_frames_of_a_treebank_sentence() -> None:
    meta = {
        "places": ((0, 3), (4, 7), (8, 11)),
        "predicates": [
            {"token": 1, "frame": "see.01", "args": [["ARG0", 0, 1], ["V", 1, 2], ["ARG1", 2, 3]]},
            {"token": 0, "frame": "be.03", "args": [["V", 0, 1]]},
        ],
    }
    assert frames_of(Example(("Ann saw Bob",), meta=meta)) == (Frame((4, 7), (("ARG0", 0, 3), ("ARG1", 8, 11))),)


@pytest.mark.realdata
def test_the_treebanks_frames(real_root: Path) -> None:
    data = load_dataset("ewt-srl", root=real_root, split="test", limit=200)
    found = [(example, frame) for example in data for frame in frames_of(example)]
    assert len(found) > 200
    for example, frame in found:
        assert example.texts[0][slice(*frame.predicate)].strip()
        assert all(0 <= a < b <= len(example.texts[0]) for _, a, b in frame.roles)
