from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from saywhy.data import load_dataset
from saywhy.data.mixture import Mixture
from saywhy.errors import OptionError, UnknownNameError

STUDIES = Path(__file__).parents[2] / "studies"


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


def test_no_study_reports_what_is_trained_on_by_default() -> None:
    default = set(inspect.signature(Mixture).parameters["parts"].default)

    def reported(node: Any) -> Iterator[str]:
        if isinstance(node, dict):
            if "name" in node and "split" in node:
                yield f"{node['name']}:{node['split']}"
            node = list(node.values())
        for part in node if isinstance(node, list) else ():
            yield from reported(part)

    studies = [yaml.safe_load(path.read_text(encoding="utf-8")) for path in STUDIES.glob("*.yaml")]
    steps = [
        own["evaluate"] for study in studies for own in (study, *study.get("scales", {}).values()) if "evaluate" in own
    ]
    found = set(reported(steps))
    assert {"snli:test", "sick:test", "multinli:dev"} <= found
    # snli:dev is what a sweep looks at, with models that are trained on something else.
    assert default & found <= {"snli:dev"}


@pytest.mark.realdata
def test_all_inference_pairs_without_those_that_are_scored_on(real_root: Path) -> None:
    highlighted = {e.texts for e in load_dataset("esnli-highlights", root=real_root, split="dev")}
    assert highlighted & {e.texts for e in load_dataset("mixture", root=real_root, split="train")}
    kept = load_dataset("mixture", root=real_root, exclude="esnli-highlights", split="train")
    assert len(kept) > 43_000
    # Rewritings of a pair that is scored on would give it away as well.
    assert not {a for a, _ in highlighted} & {e.texts[0] for e in kept if e.source and "cad" in e.source}
    assert not highlighted & {e.texts for e in kept}
