from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import saywhy
from saywhy.errors import InputError, OptionError
from saywhy.explainers import shapley as module
from tests import zoo
from tests.explainers.test_kernel_shap import TEN, exact, missed


def shapley(model: Any, inputs: Any, **options: Any) -> Any:
    return saywhy.explain(model, inputs, "shapley", **options)


def test_short_inputs_are_enumerated() -> None:
    for text in (TEN, "Dull", "Dull film"):
        why = shapley(zoo.shared(), text)
        np.testing.assert_allclose(why.scores, exact(zoo.shared(), text), atol=1e-5)
        assert why.error == 0.0
        assert why.cost == {"forwards": 2 ** len(why.words)}
    contrast = shapley(zoo.shared(), TEN, target=0, against=2, output="logit")
    np.testing.assert_allclose(contrast.scores, exact(zoo.shared(), TEN, "logit", target=0, against=2), atol=1e-4)


@pytest.mark.parametrize("architecture", ["bert", "gpt2"])
def test_orders_equal_enumeration_within_the_stated_error(architecture: str) -> None:
    model = zoo.shared(architecture)
    expected, ratios = exact(model, TEN), []
    for seed in range(5):
        why = shapley(model, TEN, exact=0, samples=360, tolerance=None, seed=seed)
        assert why.error > 0
        assert sum(why.scores) == pytest.approx(expected.sum(), abs=1e-5)
        assert missed(why, expected) < 2.5 * why.error
        ratios.append(missed(why, expected) / why.error)
    assert 0.4 < np.sqrt(np.mean(np.square(ratios))) < 1.6


def test_it_stops_when_it_is_precise_enough_and_never_runs_past_its_samples() -> None:
    model = zoo.shared()
    loose, tight = (shapley(model, TEN, exact=0, tolerance=t, samples=3000) for t in (0.5, 0.2))
    assert loose.error <= 0.5
    assert tight.error <= 0.2
    assert loose.cost["forwards"] <= tight.cost["forwards"]
    # Two pairs of orders in any case; then no more than was asked for. Equal masks are evaluated once.
    few = shapley(model, TEN, exact=0, tolerance=None, samples=1)
    assert few.cost["forwards"] <= 2 + 4 * 9
    assert shapley(model, TEN, exact=0, tolerance=1e-9, samples=100).cost["forwards"] <= 102


def test_dummies_twins_and_constants() -> None:
    def either(texts: list[str]) -> list[list[float]]:
        found = [0.8 * ("good" in t.split() or "great" in t.split()) for t in texts]
        return [[1 - p, p] for p in found]

    model = saywhy.load(either, labels=["no", "yes"])
    why = shapley(model, "a good and great film", target="yes")
    np.testing.assert_allclose(why.scores, [0, 0.4, 0, 0.4, 0], atol=1e-6)
    long = shapley(model, "a good and great film " + "that nobody saw " * 4, target="yes", samples=1000)
    np.testing.assert_allclose(np.asarray(long.scores)[[1, 3]], 0.4, atol=1e-6)  # an order and its reverse even it out
    constant = saywhy.load(lambda ts: [[0.3, 0.7]] * len(ts), labels=["no", "yes"])
    flat = shapley(constant, "word " * 20)
    assert max(map(abs, flat.scores)) < 1e-9
    assert flat.error == 0.0


def test_alignments() -> None:
    small: Any = shapley(zoo.pair_classifier(), ("Dull film", "It sleeps"), space="alignments")
    reference: Any = saywhy.explain(
        zoo.pair_classifier(), ("Dull film", "It sleeps"), "kernel-shap", space="alignments", samples=100
    )
    np.testing.assert_allclose(small.scores, reference.scores, atol=1e-5)


def test_what_cannot_be(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(OptionError, match="between 0 and 20"):
        shapley(zoo.shared(), "Dull", exact=25)
    monkeypatch.setattr(module, "_MOST_FEATURES", 4)
    with pytest.raises(InputError, match="use kernel-shap"):
        shapley(zoo.shared(), "Dull film that never lets go")
