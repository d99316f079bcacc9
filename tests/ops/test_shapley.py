from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from saywhy.ops.shapley import random_orders, shapley_of_surrogate, shapley_values, size_weights
from saywhy.ops.subsets import every_subset
from saywhy.ops.surrogate import Surrogate

GAMES = st.integers(1, 6).flatmap(lambda n: arrays(np.float64, 2**n, elements=st.floats(-10, 10, width=32)))


def by_definition(values: np.ndarray) -> np.ndarray:
    """The mean of what a player adds, over all orders."""
    n = len(values).bit_length() - 1
    found = np.zeros(n)
    orders = list(permutations(range(n)))
    for order in orders:
        before = 0
        for player in order:
            found[player] += values[before | 1 << player] - values[before]
            before |= 1 << player
    return found / len(orders)


@given(GAMES)
def test_equal_the_definition_and_sum_to_the_gain(values: np.ndarray) -> None:
    found = shapley_values(values)
    if len(values) <= 32:
        np.testing.assert_allclose(found, by_definition(values), atol=1e-9)
    assert found.sum() == pytest.approx(values[-1] - values[0], abs=1e-9)


@given(GAMES, st.floats(-3, 3))
def test_linear(values: np.ndarray, factor: float) -> None:
    other = np.cos(np.arange(len(values)))
    np.testing.assert_allclose(
        shapley_values(values + factor * other), shapley_values(values) + factor * shapley_values(other), atol=1e-8
    )


@given(GAMES)
def test_a_dummy_gets_what_it_adds_and_twins_get_the_same(values: np.ndarray) -> None:
    # A new player who always adds 2, and two who count only when one of them is there.
    assert shapley_values(np.concatenate([values, values + 2]))[-1] == pytest.approx(2)
    twins = np.concatenate([values, values + 1, values + 1, values + 1])
    found = shapley_values(twins)
    assert found[-1] == pytest.approx(found[-2])


def test_a_number_of_values_that_is_no_power_of_two() -> None:
    with pytest.raises(ValueError, match="2\\^n"):
        shapley_values(np.zeros(5))


def test_size_weights() -> None:
    np.testing.assert_allclose(size_weights(4), np.array([1 / 3, 1 / 4, 1 / 3]) / (11 / 12))
    assert len(size_weights(1)) == 0


def test_orders_come_with_their_reverses() -> None:
    orders = random_orders(np.random.default_rng(0), 5, 7)
    assert orders.shape == (7, 5)
    assert (np.sort(orders, axis=1) == np.arange(5)).all()
    assert (orders[1] == orders[0][::-1]).all()


def test_of_a_stand_in() -> None:
    stand_in = Surrogate(-1.0, np.array([2.0, -1.0, 0.5, 0.0, 3.0]), -1.0, 1.0)
    found, errors = shapley_of_surrogate(stand_in, np.random.default_rng(0))
    apart = np.abs(found - shapley_values(stand_in.values(every_subset(5))))
    assert (apart <= 4 * errors).all()
    assert errors.max() < 3e-3
    assert found[3] == 0.0


def test_of_a_stand_in_with_pairs() -> None:
    pairs, gains = np.array([[0, 1], [1, 2], [2, 4]]), np.array([2.0, -1.5, 1.0])
    stand_in = Surrogate(-1.0, np.array([2.0, -1.0, 0.5, 0.0, 3.0]), 0.0, 1.0, pairs, gains)
    found, errors = shapley_of_surrogate(stand_in, np.random.default_rng(0))
    apart = np.abs(found - shapley_values(stand_in.values(every_subset(5))))
    assert (apart <= 4 * errors).all()
    assert errors.max() < 3e-3
    assert found[3] == 0.0
