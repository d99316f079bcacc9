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
    small = Surrogate(0.0, np.zeros(10))
    assert small.inflation(40) == pytest.approx(np.sqrt(30 / 20))
    assert small.inflation(10_000) == pytest.approx(1.0, abs=1e-3)


def test_too_few_values_give_none() -> None:
    assert fit_surrogate(np.ones((15, 4), dtype=bool), np.zeros(15), np.ones(15), (0.0, 1.0)) is None
