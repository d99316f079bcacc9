"""The metrics of a rationalizer's predictor."""

from __future__ import annotations

import json

import numpy as np
import pytest

from saywhy.errors import CapabilityError, DataError, OptionError
from saywhy.metrics import Lipschitz, Metric, RationaleAccuracy, RationaleCrossEntropy, evaluate
from saywhy.metrics.trial import Workbench
from saywhy.models import TextModel
from saywhy.models.rationale_probes import assess_rationales, estimate_lipschitz, estimate_slopes
from saywhy.models.recurrent import build_recurrent
from saywhy.types import Example
from tests.objectives.rationalizers import rationalizer, reviews


def score(metric: Metric, examples: list[Example]) -> float:
    return metric.score(Workbench(rationalizer(), examples).trial()).value


def test_they_are_what_the_probes_say() -> None:
    examples = reviews(21)
    whole = assess_rationales(rationalizer(), examples)
    assert score(RationaleAccuracy(), examples) == pytest.approx(whole.gold_accuracy)
    assert score(RationaleAccuracy(reads="selected"), examples) == pytest.approx(whole.selected_accuracy)
    assert score(RationaleCrossEntropy(), examples) == pytest.approx(whole.gold_cross_entropy)
    assert score(RationaleCrossEntropy(reads="selected"), examples) == pytest.approx(whole.selected_cross_entropy)
    assert score(Lipschitz(), examples) == pytest.approx(estimate_lipschitz(rationalizer(), examples))
    model = rationalizer()
    slopes = estimate_slopes(model, model.encode(examples, "head"))
    assert score(Lipschitz(quantile=0.5), examples) == pytest.approx(np.median(slopes))


def test_in_one_table_with_intervals() -> None:
    asked = [RationaleAccuracy(), RationaleCrossEntropy(), RationaleCrossEntropy(reads="selected"), Lipschitz()]
    table = evaluate(rationalizer(), reviews(20), metrics=asked, limit=20)
    assert len(table.results) == 4
    for result in table.results:
        assert result.low <= result.value <= result.high
        assert (result.method, result.family, result.n) == ("", "rationalizers", 20)
        json.dumps(result.to_dict(), allow_nan=False)
    assert [r.higher_is_better for r in table.results] == [True, False, False, False]


def test_examples_without_what_is_read_are_left_out() -> None:
    bare = [Example(e.texts, e.label) for e in reviews(4)]
    assert RationaleAccuracy().score(Workbench(rationalizer(), [*reviews(5), *bare]).trial()).n == 5
    assert RationaleAccuracy(reads="selected").score(Workbench(rationalizer(), bare).trial()).n == 4
    with pytest.raises(DataError, match="a label and a gold rationale"):
        score(RationaleCrossEntropy(), bare)


def test_mistakes_are_named() -> None:
    with pytest.raises(OptionError, match="reads must be one of gold, selected"):
        RationaleAccuracy(reads="all")
    labels = ("bad", "good")
    reader = TextModel(*build_recurrent(reviews(4), "text", labels, 0, hidden_size=4), "text", labels)
    with pytest.raises(CapabilityError, match="no rationalizer"):
        Lipschitz().check(Workbench(reader, reviews(4)))
