"""Equal error: lines through noisy points, and where two of them are compared."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from saywhy.benchmarks.curves import Curve, meet, relative_error

SAMPLES = (100, 200, 400, 800)


def curve(cost: float, error: float, power: float = 0.5) -> Curve:
    """A sampler that spends ``cost`` a sample and is off by ``error`` over a power of the samples."""
    return Curve(SAMPLES, tuple(cost * n for n in SAMPLES), tuple(error / n**power for n in SAMPLES))


@given(st.floats(0.01, 10), st.floats(0.5, 2), st.floats(0.01, 10))
def test_the_ratio_at_equal_error_is_that_of_costs_times_that_of_samples(
    cost: float, error: float, other: float
) -> None:
    # Twice the error at the same number of samples needs four times the samples.
    met = meet(curve(cost, 1.0), curve(other, error))
    assert met.theirs / met.ours == pytest.approx(other / cost * error**2, rel=1e-6)
    assert not met.apart


def test_curves_without_a_common_error_are_drawn_on_and_say_so() -> None:
    met = meet(curve(1.0, 0.1), curve(1.0, 10.0))
    assert met.apart
    assert met.theirs / met.ours == pytest.approx(10_000)


def test_an_error_that_does_not_fall_is_never_reached() -> None:
    assert Curve((1, 2), (1.0, 2.0), (0.1, 0.2)).seconds_at(0.05) == float("inf")


def test_relative_error() -> None:
    assert relative_error([3.0, 0.0], [3.0, 4.0]) == pytest.approx(0.8)
    assert relative_error([1.0, 2.0], [1.0, 2.0]) == 0.0
    assert np.isfinite(relative_error([1.0], [0.0]))
