from __future__ import annotations

import math

import numpy as np
import pytest

from saywhy.errors import OptionError
from saywhy.metrics import LogOdds
from saywhy.types import Example

from .stubs import contributions, make_bench, score_words, select_words, sigmoid


def test_by_hand():
    bench = make_bench(["a great film so bad"])
    got = LogOdds(bins=(0.2, 0.4)).score(bench.trial("hand", contributions(bench)))
    full = math.log(sigmoid(1.1))
    expected = [math.log(sigmoid(-1.9)) - full, math.log(sigmoid(-2.0)) - full]
    assert list(got.bins.values()) == pytest.approx(expected)
    assert got.value == pytest.approx(np.mean(expected))
    assert got.value < 0
    assert not got.higher_is_better
    assert got.notes == ()


def test_the_class_is_the_predicted_one():
    bench = make_bench(["an awful film"])
    got = LogOdds(bins=(0.3,)).score(bench.trial("hand", [score_words(bench.examples[0], [0, 1, 0])]))
    assert got.value == pytest.approx(math.log(1 - sigmoid(0.1)) - math.log(1 - sigmoid(-2.9)))


def test_what_falls_to_nothing_is_clipped_and_noted():
    example = Example(("great x",))
    bench = make_bench([example], weights={"great": 30.0}, bias=-15.0)
    got = LogOdds(clip=1e-3).score(bench.trial("m", [select_words(example, [0])]))
    assert got.value == pytest.approx(math.log(1e-3))
    assert got.value == pytest.approx(got.range[0])
    assert "1 of 1 examples falls below 0.001" in got.notes[0]


@pytest.mark.parametrize("clip", [0.0, 1.0, -0.5])
def test_clip_is_checked(clip):
    with pytest.raises(OptionError, match="log-odds: clip"):
        LogOdds(clip=clip)
