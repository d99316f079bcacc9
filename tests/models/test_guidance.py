from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from saywhy.errors import DataError
from saywhy.models.alignment_space import AlignmentSpace
from saywhy.models.guidance import GuidedModel, given_frames
from saywhy.types import Example
from tests import zoo

PAIR = ("people walk car", "passengers walk film")


def frames_file(folder: Path, *texts: str) -> Path:
    """Who walks where, in texts of three words."""
    rows = []
    for text in texts:
        agent, verb, _ = text.split()
        at = len(agent) + 1
        roles = [["ARG0", 0, len(agent)], ["ARG1", at + len(verb) + 1, len(text)]]
        rows.append({"text": text, "frames": [{"predicate": [at, at + len(verb)], "roles": roles}]})
    path = folder / "frames.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def model() -> Any:
    return zoo.pair_classifier("decomposable-attention")


def test_frames_of_a_file_guide(model: Any, tmp_path: Path) -> None:
    guided = GuidedModel(model, given_frames(frames_file(tmp_path, *PAIR)))
    example = Example(PAIR)
    only_equal_roles = np.eye(3).reshape(1, -1)
    expected = AlignmentSpace(model, [example]).probabilities(np.zeros(1, dtype=int), only_equal_roles)[0]
    assert guided.predict([example])[0].probabilities == pytest.approx(expected.tolist(), abs=1e-6)
    assert guided.predict([example])[0].probabilities != model.predict([example])[0].probabilities


def test_a_text_that_the_file_does_not_have_is_an_error(tmp_path: Path) -> None:
    path = frames_file(tmp_path, *PAIR)
    find = given_frames(path)
    assert find([PAIR[1], PAIR[0], PAIR[1]])[0] == find([PAIR[1]])[0]
    with pytest.raises(DataError) as raised:
        find([PAIR[0], "a b", "c d", "a b"])
    assert str(raised.value) == f"{path}: no frames of 'a b' and 1 more; a text without any has \"frames\": []"
