from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from saywhy.ops.faithfulness import (
    SMALLEST_DROP,
    aopc,
    eraser_comprehensiveness,
    eraser_sufficiency,
    normalised_comprehensiveness,
    normalised_sufficiency,
)

P = st.floats(0, 1)


def _by_the_paper(full, kept, removed, empty):
    """REGEX, equations 9 to 12, word by word."""
    s = 1 - max(0.0, full - kept)
    s0 = 1 - max(0.0, full - empty)
    return (s - s0) / (1 - s0), max(0.0, full - removed) / (1 - s0)


@given(P, P, P, P)
def test_normalised_scores_are_the_papers_where_these_are_defined(full, kept, removed, empty):
    suff = float(normalised_sufficiency(full, kept, empty))
    comp = float(normalised_comprehensiveness(full, removed, empty))
    assert 0 <= suff <= 1
    assert 0 <= comp <= 1
    if full - empty > 2 * SMALLEST_DROP:
        expected = np.clip(_by_the_paper(full, kept, removed, empty), 0, 1)
        assert [suff, comp] == pytest.approx(expected.tolist(), abs=1e-9)


@given(P, P)
def test_whole_text_and_nothing(full, empty):
    if full - empty >= SMALLEST_DROP:
        assert normalised_sufficiency(full, full, empty) == 1
        assert normalised_comprehensiveness(full, empty, empty) == 1
        assert normalised_sufficiency(full, empty, empty) == 0
    assert normalised_comprehensiveness(full, full, empty) == 0
    assert eraser_sufficiency(full, full) == 0
    assert eraser_comprehensiveness(full, full) == 0


def test_where_erasing_everything_costs_nothing():
    # p(nothing) >= p(x): keeping the probability is enough, and nothing was needed.
    assert normalised_sufficiency(0.6, 0.7, 0.9) == 1
    assert normalised_sufficiency(0.6, 0.5, 0.9) == 0
    assert normalised_sufficiency(0.6, 0.9, 0.9) == 1
    assert normalised_comprehensiveness(0.6, 0.9, 0.9) == 0
    assert normalised_comprehensiveness(0.6, 0.5, 0.9) == 1
    assert float(normalised_sufficiency(0.6, 0.6 - SMALLEST_DROP / 2, 0.6)) == pytest.approx(0.5)


def test_twice_is_the_same_and_arguments_stay():
    full, kept, empty = np.array([0.9, 0.4]), np.array([0.5, 0.4]), np.array([0.1, 0.5])
    copies = [a.copy() for a in (full, kept, empty)]
    first = normalised_sufficiency(full, kept, empty)
    np.testing.assert_array_equal(normalised_sufficiency(full, kept, empty), first)
    for array, copy in zip((full, kept, empty), copies, strict=True):
        np.testing.assert_array_equal(array, copy)


@given(st.lists(P, min_size=1, max_size=8))
def test_the_two_aopcs_differ_by_a_factor(values):
    n = len(values)
    assert float(aopc(values, "n-plus-1")) == pytest.approx(float(aopc(values)) * n / (n + 1))


def test_aopc_is_along_the_last_axis():
    assert aopc([[0.0, 1.0], [1.0, 1.0]]).tolist() == [0.5, 1.0]
    with pytest.raises(ValueError, match="aopc"):
        aopc([0.5], "sum")
