from __future__ import annotations

from math import comb

import numpy as np
import pytest

from saywhy.ops.subsets import every_subset, random_subsets, spread_sizes, subsets_of_size


@pytest.mark.parametrize("n", [1, 3, 7])
def test_all_subsets_once_in_the_order_of_their_bits(n: int) -> None:
    rows = every_subset(n)
    assert (rows @ (2 ** np.arange(n))).tolist() == list(range(2**n))
    for size in range(n + 1):
        some = subsets_of_size(n, size)
        assert len(some) == len({row.tobytes() for row in some}) == comb(n, size)
        assert (some.sum(axis=1) == size).all()


def test_random_subsets_have_their_sizes_and_no_favourites() -> None:
    sizes = np.tile([0, 1, 3, 5], 4000)
    rows = random_subsets(np.random.default_rng(0), 5, sizes)
    assert (rows.sum(axis=1) == sizes).all()
    np.testing.assert_allclose(rows[sizes == 3].mean(axis=0), 0.6, atol=0.03)
    pairs = rows[sizes == 3].T.astype(float) @ rows[sizes == 3] / 4000
    np.testing.assert_allclose(pairs[~np.eye(5, dtype=bool)], 0.3, atol=0.03)


def test_sizes_come_as_often_as_they_should_after_any_number() -> None:
    chances = np.array([0.5, 0.0, 0.3, 0.2])
    drawn = np.concatenate([spread_sizes(0.3, 0, 50, chances), spread_sizes(0.3, 50, 150, chances)])
    assert (drawn == spread_sizes(0.3, 0, 200, chances)).all()
    for count in (20, 57, 200):
        share = np.bincount(drawn[:count], minlength=4)
        np.testing.assert_allclose(share, chances * count, atol=3)
        assert share[1] == 0
