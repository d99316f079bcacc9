from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from saywhy.ops.quadrature import completeness_error, gauss_legendre, midpoint, spline_weights


@pytest.mark.parametrize("points", [1, 2, 5, 20])
def test_gauss_legendre_is_exact_for_polynomials(points: int) -> None:
    nodes, weights = gauss_legendre(points)
    for degree in range(2 * points):
        assert weights @ nodes**degree == pytest.approx(1 / (degree + 1))


@pytest.mark.parametrize("points", [1, 3, 10])
def test_midpoint_is_exact_for_lines(points: int) -> None:
    nodes, weights = midpoint(points)
    assert weights @ (3 * nodes + 1) == pytest.approx(2.5)
    assert weights.sum() == pytest.approx(1.0)


@given(st.sets(st.integers(1, 99), min_size=2, max_size=20), st.lists(st.floats(-3, 3), min_size=4, max_size=4))
def test_spline_weights_integrate_cubics_on_any_points(inner: set[int], factors: list[float]) -> None:
    nodes = np.asarray([0, *sorted(inner), 100]) / 100
    cubic = np.polynomial.Polynomial(factors)
    expected = np.diff(cubic.integ()(nodes))
    np.testing.assert_allclose(spline_weights(nodes) @ cubic(nodes), expected, atol=1e-9)


def test_two_points_are_a_trapezium() -> None:
    np.testing.assert_allclose(spline_weights(np.array([0.0, 0.5])), [[0.25, 0.25]])


def test_a_gain_of_rounding_is_no_gain() -> None:
    assert completeness_error(0.5, -1.0) == 1.5
    assert completeness_error(2e-3, 1e-3) == pytest.approx(1.0)
    assert completeness_error(0.0, 3e-8) < 0.01
    assert completeness_error(0.1, 0.0) > 100
