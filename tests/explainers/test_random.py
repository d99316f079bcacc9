from __future__ import annotations

from typing import Any

import numpy as np

import saywhy
from tests import zoo


def scores(text: str, **options: Any) -> np.ndarray:
    return np.asarray(saywhy.explain(zoo.shared(), text, "random", **options).scores)  # type: ignore[attr-defined]


def test_a_function_of_seed_and_text_alone() -> None:
    assert (scores(zoo.TEXTS[0]) == scores(zoo.TEXTS[0])).all()
    assert (scores(zoo.TEXTS[0]) != scores(zoo.TEXTS[0], seed=1)).all()
    backwards = saywhy.explain(zoo.shared(), zoo.TEXTS[::-1], "random")
    assert (np.asarray(backwards[-1].scores) == scores(zoo.TEXTS[0])).all()  # type: ignore[attr-defined]
    same_length = scores("Dull film"), scores("Fine film")
    assert (same_length[0] != same_length[1]).all()


def test_any_whole_number_is_a_seed() -> None:
    seen = {tuple(scores("Dull film", seed=seed)) for seed in (-2, -1, 0, 1, 2, 2**40)}
    assert len(seen) == 6


def test_standard_normal() -> None:
    drawn = np.concatenate([scores(" ".join(zoo.TEXTS[1:] * 2), seed=s) for s in range(40)])
    assert len(drawn) > 1000
    assert abs(drawn.mean()) < 4 / len(drawn) ** 0.5
    assert abs(drawn.std() - 1) < 0.08
