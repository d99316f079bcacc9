from __future__ import annotations

import numpy as np
import pytest

from saywhy.ops import bootstrap
from saywhy.ops.bootstrap import bootstrap_interval, paired_difference, quantile_rows, resampled_means


def test_interval_of_a_mean_has_the_width_theory_gives():
    values = np.random.default_rng(3).normal(2.0, 1.0, size=400)
    got = bootstrap_interval(values, samples=4000, seed=1)
    error = values.std() / np.sqrt(len(values))
    assert got.value == pytest.approx(values.mean())
    assert got.low == pytest.approx(values.mean() - 1.96 * error, abs=0.15 * error)
    assert got.high == pytest.approx(values.mean() + 1.96 * error, abs=0.15 * error)


def test_interval_covers_the_true_mean_as_often_as_it_says():
    rng = np.random.default_rng(0)
    draws = rng.exponential(1.0, size=(300, 60))
    hits = [low <= 1.0 <= high for _, low, high in (bootstrap_interval(d, samples=300, level=0.9) for d in draws)]
    assert 0.83 <= np.mean(hits) <= 0.95


def test_same_seed_same_bits_other_seed_other_bits():
    values = np.arange(20.0)
    assert bootstrap_interval(values, seed=4) == bootstrap_interval(values, seed=4)
    assert bootstrap_interval(values, seed=4) != bootstrap_interval(values, seed=5)


def test_statistic_is_computed_on_each_resample():
    rows = np.array([[1.0, 2.0], [0.0, 1.0], [3.0, 3.0], [2.0, 8.0]])

    def ratio(means):
        return means[:, 0] / means[:, 1]

    rng = np.random.default_rng(9)
    plain = [rows[rng.integers(0, 4, size=4)].sum(axis=0) for _ in range(200)]
    expected = np.quantile([a / b for a, b in plain], [0.025, 0.975])
    got = bootstrap_interval(rows, ratio, samples=200, seed=9)
    assert got.value == pytest.approx(6 / 14)
    assert [got.low, got.high] == pytest.approx(expected.tolist())


def test_memory_bound_does_not_change_the_draws(monkeypatch):
    values = np.random.default_rng(0).random((30, 2))
    whole = resampled_means(values, samples=50, seed=2)
    monkeypatch.setattr(bootstrap, "_CELLS", 100)
    np.testing.assert_allclose(resampled_means(values, samples=50, seed=2), whole)


def test_one_value_has_no_width():
    assert bootstrap_interval([0.3]) == (0.3, 0.3, 0.3)


def test_paired_difference_is_tighter_than_two_intervals():
    rng = np.random.default_rng(0)
    hardness = rng.normal(size=200)
    a, b = hardness + 0.1 + 0.01 * rng.normal(size=200), hardness
    gap = paired_difference(a, b)
    assert gap.value == pytest.approx(a.mean() - b.mean())
    assert gap.low > 0.09
    assert gap.high < 0.11
    assert bootstrap_interval(a).low < bootstrap_interval(b).high
    assert paired_difference(b, a).value == -gap.value


def test_paired_difference_of_a_statistic():
    def ratio(means):
        return means[:, 0] / means[:, 1]

    a, b = np.array([[1.0, 1.0], [0.0, 1.0]]), np.array([[1.0, 4.0], [0.0, 4.0]])
    assert paired_difference(a, b, ratio).value == pytest.approx(0.5 - 0.125)


def test_shapes_are_checked():
    with pytest.raises(ValueError, match="one shape"):
        paired_difference([1.0, 2.0], [1.0])
    with pytest.raises(ValueError, match="N > 0"):
        bootstrap_interval([])


def test_arguments_are_left_alone():
    rows = np.arange(6.0).reshape(3, 2)
    before = rows.copy()
    bootstrap_interval(rows)
    np.testing.assert_array_equal(rows, before)


@pytest.mark.parametrize("share", [0.25, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("n", [1, 2, 7, 400, 3000])
def test_a_quantile_is_numpys_whatever_the_number_of_values(n: int, share: float) -> None:
    values = np.random.default_rng(n).normal(size=n).round(3 if n == 400 else 12)
    rows, statistic = quantile_rows(values, share)
    assert rows.shape[1] <= 513
    found = bootstrap_interval(rows, statistic, samples=200)
    assert found.value == np.quantile(values, share, method="inverted_cdf")
    assert found.low <= found.value <= found.high
    assert values.min() <= found.low <= found.high <= values.max()


def test_the_interval_of_a_median_is_that_of_resampled_medians() -> None:
    values = np.random.default_rng(5).exponential(size=101)
    rows, statistic = quantile_rows(values, 0.5)
    found = bootstrap_interval(rows, statistic, samples=2000, seed=1)
    rng = np.random.default_rng(9)
    medians = np.median(values[rng.integers(0, 101, (2000, 101))], axis=1)
    assert found.low == pytest.approx(np.quantile(medians, 0.025), abs=0.05)
    assert found.high == pytest.approx(np.quantile(medians, 0.975), abs=0.05)
    with pytest.raises(ValueError, match="share above 0"):
        quantile_rows(values, 0.0)
