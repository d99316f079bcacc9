from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from saywhy.data import load_dataset
from saywhy.errors import OptionError, UnknownNameError


def test_parts_come_one_after_the_other() -> None:
    data = load_dataset("mixture", parts=["planted-nli:dev", "planted-nli:test"])
    whole = load_dataset("planted-nli")
    assert (data.task, data.labels) == (whole.task, whole.labels)
    assert list(data["train"]) == [*whole["dev"], *whole["test"]]
    split = load_dataset("mixture", parts=["planted-nli:dev", "planted-nli:test"], dev_share=0.2)
    assert len(split["train"]) + len(split["dev"]) == 1000
    assert 100 < len(split["dev"]) < 300


def test_what_is_excluded_is_not_trained_on() -> None:
    held_out = {e.texts for e in load_dataset("planted-nli", split="test")}
    data = load_dataset("mixture", parts=["planted-nli:dev", "planted-nli:test"], exclude="planted-nli:test")
    assert not held_out & {e.texts for e in data["train"]}


@pytest.mark.parametrize(
    ("parts", "error", "words"),
    [
        ("planted-nli", OptionError, "must be a list of datasets"),
        ([], OptionError, "must be a list of datasets"),
        (["planted-nli:tets"], OptionError, "planted-nli has no split 'tets'; it has train, dev, test"),
        (["planted-nli", "planted-reviews"], OptionError, "planted-reviews and planted-nli differ in task or labels"),
        (["snill"], UnknownNameError, "snill"),
    ],
)
def test_mistakes(parts: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        load_dataset("mixture", parts=parts)


@pytest.mark.realdata
def test_all_inference_pairs_without_those_that_are_scored_on(real_root: Path) -> None:
    highlighted = {e.texts for e in load_dataset("esnli-highlights", root=real_root, split="dev")}
    assert highlighted & {e.texts for e in load_dataset("mixture", root=real_root, split="train")}
    kept = load_dataset("mixture", root=real_root, exclude="esnli-highlights", split="train")
    assert len(kept) > 40_000
    assert not highlighted & {e.texts for e in kept}
