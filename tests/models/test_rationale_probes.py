from __future__ import annotations

import math

import pytest
import torch

from saywhy.errors import InputError
from saywhy.models.rationale_probes import assess_rationales, estimate_lipschitz, probe_curve, selection_change
from saywhy.models.rationales import rationalizer_of
from saywhy.types import Example
from tests.objectives.rationalizers import rationalizer, reviews


def select(model, share: float):  # type: ignore[no-untyped-def]
    """Make a rationalizer select everything (1) or nothing (0)."""
    rationalizer_of(model).selector.threshold.fill_(-100.0 if share else 100.0)
    return model


def test_a_selection_that_is_the_gold_is_judged_alike_and_another_is_not() -> None:
    model = select(rationalizer(), 1)
    examples = reviews(20)
    whole = [Example(e.texts, e.label, rationales=((type(e.rationales[0][0])(0, 0, 999),),)) for e in examples]
    same = assess_rationales(model, whole)
    assert same.selected_accuracy == same.gold_accuracy
    assert same.selected_cross_entropy == pytest.approx(same.gold_cross_entropy, abs=1e-6)
    found = assess_rationales(model, examples)
    assert found.n == 20
    assert found.selected_cross_entropy == pytest.approx(same.selected_cross_entropy, abs=1e-6)
    assert found.gold_cross_entropy != pytest.approx(found.selected_cross_entropy, abs=1e-6)
    with pytest.raises(InputError, match="label and a rationale"):
        assess_rationales(model, [Example(("a b",))])


def test_the_median_is_that_of_the_examples() -> None:
    model = select(rationalizer(), 0)
    examples = reviews(9)
    # Reading nothing, all examples look alike: the median is the cross-entropy of the commoner label.
    scores = model.scores(model.encode(examples)).double()[0].log_softmax(-1)
    counts = [sum(e.label == label for e in examples) for label in ("bad", "good")]
    common = counts.index(max(counts))
    assert assess_rationales(model, examples).selected_cross_entropy == pytest.approx(-float(scores[common]), abs=1e-3)


def test_the_slope_grows_with_the_weights_and_not_with_the_batch() -> None:
    model = select(rationalizer(), 1)
    small = estimate_lipschitz(model, reviews(6))
    assert 0 < small < math.inf
    assert estimate_lipschitz(model, reviews(6), absolute=True) >= small
    assert estimate_lipschitz(model, reviews(6), batch_size=1) == pytest.approx(small, rel=1e-4)
    with torch.no_grad():
        rationalizer_of(model).predictor.classifier.weight.mul_(3)
    assert estimate_lipschitz(model, reviews(6)) > 1.5 * small
    assert estimate_lipschitz(select(model, 0), reviews(6)) == 0


def test_selections_are_compared_word_by_word() -> None:
    one, other = rationalizer(0), rationalizer(0)
    assert selection_change(one, other, reviews(8)) == 0
    assert selection_change(select(one, 1), select(other, 0), reviews(8)) == 1
    assert 0 < selection_change(rationalizer(0), select(other, 1), reviews(8)) < 1


def test_a_curve_is_the_probes_of_each_model_and_the_change_from_the_one_before() -> None:
    models = [select(rationalizer(0), 1), select(rationalizer(0), 0), select(rationalizer(1), 0)]
    curve = probe_curve(iter(models), reviews(8))
    assert [point.change for point in curve] == [None, 1.0, 0.0]
    assert [point.lipschitz for point in curve] == [estimate_lipschitz(model, reviews(8)) for model in models]
    assert curve[0].lipschitz > 0 == curve[1].lipschitz
    assert [point.assessment for point in curve] == [assess_rationales(model, reviews(8)) for model in models]
