from __future__ import annotations

import numpy as np
import pytest

from saywhy.ops.surrogate import Surrogate, fit_surrogate


@pytest.mark.parametrize("bounds", [(0.0, 1.0), (-1.0, 1.0)])
def test_finds_a_logistic_model(bounds: tuple[float, float]) -> None:
    rng = np.random.default_rng(0)
    true = Surrogate(-1.0, np.array([2.0, -1.0, 0.5, 0.0, 3.0]), *bounds)
    masks = rng.random((400, 5)) < 0.5
    found = fit_surrogate(masks, true.values(masks), np.ones(400), bounds)
    assert found is not None
    np.testing.assert_allclose(found.values(masks), true.values(masks), atol=0.02 * (bounds[1] - bounds[0]))


def test_values_at_the_bounds_and_constants_stay_finite() -> None:
    masks = np.random.default_rng(1).random((60, 4)) < 0.5
    for values in (np.zeros(60), np.ones(60), np.full(60, 0.4), masks[:, 0].astype(float)):
        found = fit_surrogate(masks, values, np.ones(60), (0.0, 1.0))
        assert found is not None
        np.testing.assert_allclose(found.values(masks), values, atol=0.15)


def test_errors_grow_with_what_was_fitted() -> None:
    small = Surrogate(0.0, np.zeros(10), freedom=12.0)
    assert small.inflation(40) == pytest.approx(30 / 18)
    assert small.inflation(10_000) == pytest.approx(1.0, abs=2e-3)
    assert small.inflation(15) == pytest.approx(5.0), "more parameters than values: large, not infinite or negative"


def test_finds_what_neighbours_mean_together() -> None:
    rng = np.random.default_rng(2)
    pairs = np.array([[1, 2], [3, 5]])
    true = Surrogate(-0.5, rng.normal(size=6), pairs=pairs, pair_gains=np.array([3.0, -2.5]))
    masks, others = rng.random((300, 6)) < 0.5, rng.random((300, 6)) < 0.5
    found = fit_surrogate(masks, true.values(masks), np.ones(300), (0.0, 1.0))
    assert found is not None
    np.testing.assert_allclose(found.values(others), true.values(others), atol=0.08)
    gains = {tuple(pair): gain for pair, gain in zip(found.pairs.tolist(), found.pair_gains, strict=True)}
    assert gains[1, 2] > 1
    assert gains[3, 5] < -1
    assert found.freedom > 7


def test_leaves_pairs_out_where_they_only_follow_noise() -> None:
    rng = np.random.default_rng(3)
    found = []
    for _ in range(20):
        masks = rng.random((80, 8)) < 0.5
        found.append(fit_surrogate(masks, rng.random(80), np.ones(80), (0.0, 1.0)))
    assert sum(len(each.pairs) > 0 for each in found if each is not None) <= 5
    assert all(each.freedom < 9.01 for each in found if each is not None and not len(each.pairs))


def test_long_inputs_have_no_pairs() -> None:
    rng = np.random.default_rng(4)
    masks = rng.random((4 * 129, 129)) < 0.5
    found = fit_surrogate(masks, (masks[:, 0] & masks[:, 1]).astype(float), np.ones(len(masks)), (0.0, 1.0))
    assert found is not None
    assert len(found.pairs) == 0


def test_too_few_values_give_none() -> None:
    assert fit_surrogate(np.ones((15, 4), dtype=bool), np.zeros(15), np.ones(15), (0.0, 1.0)) is None
