from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from saywhy.audits.tallies import Moments, Reservoir, holm, rarely_by_chance


@given(st.lists(st.floats(-100, 100), min_size=2, max_size=40))
def test_moments_are_those_of_scipy(values: list[float]) -> None:
    found = Moments()
    for value in values:
        found.add(value)
    assert found.mean == pytest.approx(np.mean(values), abs=1e-9)
    if np.std(values) > 1e-6:
        test = stats.ttest_1samp(values, 0.0)
        assert found.p_value() == pytest.approx(test.pvalue, rel=1e-6, abs=1e-12)
        assert found.interval() == pytest.approx(tuple(test.confidence_interval(0.95)), rel=1e-6, abs=1e-6)


def test_moments_of_one_and_of_equal_numbers() -> None:
    found = Moments()
    found.add(2.0)
    assert found.interval() == (-math.inf, math.inf)
    assert found.p_value() == 1.0
    found.add(2.0)
    assert found.p_value() == 0.0
    nothing = Moments()
    nothing.add(0.0)
    nothing.add(0.0)
    assert nothing.p_value() == 1.0


def test_a_reservoir_keeps_everything_alike() -> None:
    counts = np.zeros(20)
    for seed in range(400):
        some: Reservoir[int] = Reservoir(5, seed)
        for i in range(20):
            some.add(i)
        assert len(some.kept) == 5
        counts[some.kept] += 1
    assert counts.min() > 60
    assert counts.max() < 140


def test_chance() -> None:
    assert rarely_by_chance(0, 0, 0.5) == 1.0
    assert rarely_by_chance(10, 10, 0.5) == pytest.approx(0.5**10)
    assert rarely_by_chance(1, 10, 0.5) > 0.99


@given(st.lists(st.floats(0, 1), max_size=8))
def test_holm_never_lowers_and_keeps_the_order(values: list[float]) -> None:
    made = holm(values)
    assert all(new >= old for new, old in zip(made, values, strict=True))
    order = np.argsort(values, kind="stable")
    assert all(made[a] <= made[b] for a, b in pairwise(order))
    assert all(p <= 1 for p in made)
