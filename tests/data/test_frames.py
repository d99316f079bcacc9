from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from saywhy.data import load_dataset
from saywhy.data.frames import Frame, frames_of, read_frames, role_mask
from saywhy.data.words import split_words
from saywhy.errors import DataError
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


SAW = {"text": "Ann saw Bob", "frames": [{"predicate": [4, 7], "roles": [["ARG0", 0, 3], ["ARG1", 8, 11]]}]}
HELLO: dict[str, Any] = {"text": "Hello!", "frames": []}


@pytest.mark.parametrize("ending", ["jsonl", "json"])
def test_frames_of_a_file(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"frames.{ending}"
    rows = [SAW, HELLO, SAW]
    path.write_text(json.dumps(rows) if ending == "json" else "\n\n".join(map(json.dumps, rows)))
    assert read_frames(path) == {"Ann saw Bob": (Frame((4, 7), (("ARG0", 0, 3), ("ARG1", 8, 11))),), "Hello!": ()}


def saw(**changes: Any) -> dict[str, Any]:
    return {**SAW, "frames": [{**SAW["frames"][0], **changes}]}  # type: ignore[dict-item]


@pytest.mark.parametrize(
    ("row", "field", "message"),
    [
        ({"frames": []}, "text", "the field is missing; the row has frames"),
        ({"text": 3, "frames": []}, "text", "expected a string, got 3"),
        ({"text": "Ann"}, "frames", "the field is missing"),
        ({"text": "Ann", "frames": [[0, 3]]}, "frames", "expected a list of objects"),
        ({"text": "Ann", "frames": [{"predicate": [0, 3]}]}, "roles", "the field is missing; the row has predicate"),
        (saw(predicate=None), "predicate", "the field is null"),
        (saw(predicate=[4]), "predicate", "expected spans [start, end], found [4]"),
        (saw(predicate=[4, 70]), "predicate", "the span [4, 70] does not lie within 0 to 11"),
        (saw(predicate=[7, 7]), "predicate", "the span [7, 7] does not lie within 0 to 11"),
        (saw(roles=[["ARG0", 0]]), "roles", "expected roles [name, start, end], found ['ARG0', 0]"),
        (saw(roles=[[0, 3, "ARG0"]]), "roles", "expected roles [name, start, end]"),
        (saw(roles=[["ARG0", 0, 3], ["ARG1", -1, 3]]), "roles", "the span [-1, 3] does not lie within 0 to 11"),
        (saw(roles=[]), "frames", "the text has other frames in line 1"),
    ],
)
@pytest.mark.parametrize("ending", ["jsonl", "json"])
def test_bad_frames_are_named_by_their_line(
    ending: str, row: dict[str, Any], field: str, message: str, tmp_path: Path
) -> None:
    path = tmp_path / f"frames.{ending}"
    rows = [SAW, HELLO, row]
    path.write_text(json.dumps(rows) if ending == "json" else "\n".join(map(json.dumps, rows)))
    with pytest.raises(DataError) as raised:
        read_frames(path)
    assert str(raised.value).startswith(f"{path}:3 (field {field!r}): {message}")


def test_a_line_that_is_no_json_is_named(tmp_path: Path) -> None:
    (tmp_path / "frames.jsonl").write_text(json.dumps(SAW) + "\n{oops\n")
    with pytest.raises(DataError, match=r"frames.jsonl:2: not valid JSON at column 2"):
        read_frames(tmp_path / "frames.jsonl")


@pytest.mark.realdata
def test_the_treebanks_frames(real_root: Path) -> None:
    data = load_dataset("ewt-srl", root=real_root, split="test", limit=200)
    found = [(example, frame) for example in data for frame in frames_of(example)]
    assert len(found) > 200
    for example, frame in found:
        assert example.texts[0][slice(*frame.predicate)].strip()
        assert all(0 <= a < b <= len(example.texts[0]) for _, a, b in frame.roles)
