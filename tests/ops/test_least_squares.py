from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from saywhy.ops.least_squares import constrained_fit, relative_error, ridge_fit


@pytest.mark.parametrize(("samples", "features"), [(50, 6), (8, 20), (6, 6)])
@pytest.mark.parametrize("alpha", [1.0, 0.01])
def test_ridge_equals_scikit_learns(samples: int, features: int, alpha: float) -> None:
    rng = np.random.default_rng(samples)
    x, y, w = rng.integers(0, 2, (samples, features)), rng.normal(size=samples), rng.random(samples)
    fit = ridge_fit(x, y, w, alpha)
    own = Ridge(alpha=alpha).fit(x, y, sample_weight=w)
    np.testing.assert_allclose(fit.coefficients, own.coef_, atol=1e-8)
    assert fit.intercept == pytest.approx(own.intercept_)


def test_the_jackknife_is_what_leaving_samples_out_does() -> None:
    rng = np.random.default_rng(0)
    x, y, w = rng.normal(size=(30, 3)), rng.normal(size=30), rng.random(30)
    fit = ridge_fit(x, y, w, 0.5)
    moved = []
    for i in range(30):
        rest = np.arange(30) != i
        moved.append(ridge_fit(x[rest], y[rest], w[rest], 0.5).coefficients - fit.coefficients)
    np.testing.assert_allclose(fit.errors, np.sqrt(np.square(moved).sum(axis=0)), rtol=1e-6)


def test_errors_are_those_of_repetition() -> None:
    truth, found, stated = np.array([1.0, -2.0, 0.5, 0.0]), [], []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        x = rng.integers(0, 2, (60, 4)).astype(float)
        fit = ridge_fit(x, x @ truth + rng.normal(size=60), np.ones(60), 0.0)
        found.append(fit.coefficients)
        stated.append(fit.errors)
    assert np.sqrt(np.mean(np.square(stated))) == pytest.approx(float(np.std(found, axis=0).mean()), rel=0.15)


def test_groups_count_as_one_and_some_not_at_all() -> None:
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(20, 2)), rng.normal(size=20)
    alone = ridge_fit(x, y, np.ones(20), 0.1)
    assert (ridge_fit(x, y, np.ones(20), 0.1, np.full(20, -1)).errors == 0).all()
    np.testing.assert_allclose(ridge_fit(x, y, np.ones(20), 0.1, np.arange(20)).errors, alone.errors)
    # The same samples twice, as groups of two: each group is a sample of twice the weight.
    twice = ridge_fit(np.repeat(x, 2, 0), np.repeat(y, 2), np.ones(40), 0.2, np.repeat(np.arange(20), 2))
    np.testing.assert_allclose(twice.coefficients, alone.coefficients)
    np.testing.assert_allclose(twice.errors, alone.errors, rtol=0.3)


@pytest.mark.parametrize(("samples", "features"), [(40, 5), (4, 9)])
def test_the_constraint_holds_and_the_rest_is_as_good_as_can_be(samples: int, features: int) -> None:
    rng = np.random.default_rng(features)
    x, y, w = rng.integers(0, 2, (samples, features)).astype(float), rng.normal(size=samples), rng.random(samples)
    fit = constrained_fit(x, y, w, total=3.0)
    assert fit.coefficients.sum() == pytest.approx(3.0)

    def loss(c: np.ndarray) -> float:
        return float(w @ (y - x @ c) ** 2)

    for _ in range(50):
        step = rng.normal(size=features)
        step -= step.mean()
        assert loss(fit.coefficients) <= loss(fit.coefficients + 0.01 * step) + 1e-12


def test_relative_errors() -> None:
    assert relative_error(np.array([0.5, -2.0]), np.array([0.3, 0.4])) == pytest.approx(np.sqrt(0.125) / 2)
    assert relative_error(np.zeros(3), np.zeros(3)) == 0.0
