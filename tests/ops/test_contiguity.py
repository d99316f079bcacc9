from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saywhy.ops.contiguity import broken_windows, transitions


def test_transitions_by_hand():
    assert transitions([False, True, True, False, False]) == (2.0, 4)
    assert transitions([True] * 4) == (0.0, 3)
    assert transitions([]) == transitions([True]) == (0.0, 0)
    assert transitions([1, 1, 0, 0], groups=[0, 0, 1, 1]) == (0.0, 2)
    assert transitions([0.5, 1.0]) == (0.5, 1)


def test_shapes_of_alignments():
    tromino = np.pad([[1, 1], [1, 0]], 2)
    rectangle_and_one = np.pad([[1, 1, 0], [1, 1, 1]], 1)
    assert broken_windows(np.ones((5, 4))) == (0.0, 12)
    assert broken_windows(np.eye(5))[0] == 0.0
    assert broken_windows(tromino)[0] == 1.0
    assert broken_windows(rectangle_and_one)[0] == 1.0
    assert broken_windows(np.pad([[0, 1, 0], [1, 1, 1], [0, 1, 0]], 1))[0] == 4.0
    assert broken_windows(1 - np.pad([[1]], 2))[0] == 4.0
    assert broken_windows(np.ones((1, 5))) == (0.0, 0)
    with pytest.raises(ValueError, match="table"):
        broken_windows([1, 0, 1])


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 5), st.integers(1, 5), st.integers(0, 10**6))
def test_a_rectangle_has_no_broken_window(height, width, seed):
    rng = np.random.default_rng(seed)
    table = np.zeros((6, 6))
    top, left = rng.integers(0, 6, 2)
    table[top : top + height, left : left + width] = 1
    assert broken_windows(table)[0] == 0.0


def test_degrees_give_the_expected_number():
    rng = np.random.default_rng(0)
    q = rng.random((5, 4))
    draws = [broken_windows(rng.random((5, 4)) < q)[0] for _ in range(20000)]
    assert broken_windows(q)[0] == pytest.approx(np.mean(draws), abs=4 * np.std(draws) / np.sqrt(20000))
