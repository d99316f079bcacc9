from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import auc, average_precision_score, precision_recall_curve, roc_auc_score

from saywhy.ops.ranking import auprc, auroc, average_precision, ranks, top_count, top_mask

# Few different values, so that ties are common.
SCORES = st.lists(st.sampled_from([-1.5, -0.1, 0.0, 0.2, 0.25, 1.0, 3.0]), min_size=1, max_size=30)


@st.composite
def ranked(draw):
    scores = draw(SCORES)
    gold = draw(st.lists(st.booleans(), min_size=len(scores), max_size=len(scores)))
    gold[draw(st.integers(0, len(scores) - 1))] = True
    return gold, scores


@given(ranked())
def test_auprc_and_average_precision_equal_sklearn(case):
    gold, scores = case
    precision, recall, _ = precision_recall_curve(gold, scores)
    assert auprc(gold, scores) == pytest.approx(auc(recall, precision), abs=1e-12)
    assert average_precision(gold, scores) == pytest.approx(average_precision_score(gold, scores), abs=1e-12)


@given(ranked())
def test_auroc_equals_sklearn(case):
    gold, scores = case
    if all(gold):
        with pytest.raises(ValueError, match="both kinds"):
            auroc(gold, scores)
    else:
        assert auroc(gold, scores) == pytest.approx(roc_auc_score(gold, scores), abs=1e-12)


@given(ranked(), st.randoms(use_true_random=False))
def test_areas_do_not_depend_on_the_order_of_words(case, random):
    gold, scores = case
    order = list(range(len(gold)))
    random.shuffle(order)
    mixed = [gold[i] for i in order], [scores[i] for i in order]
    assert auprc(*mixed) == pytest.approx(auprc(gold, scores))
    assert average_precision(*mixed) == pytest.approx(average_precision(gold, scores))


@given(ranked())
def test_only_the_order_of_scores_matters(case):
    gold, scores = case
    assert auprc(gold, [np.exp(s) + 5 for s in scores]) == auprc(gold, scores)


def test_known_areas():
    assert auprc([True, True, False], [3, 2, 1]) == 1.0
    assert auroc([False, True], [2, 1]) == 0.0
    assert auprc([True, False, False, False], [0, 0, 0, 0]) == pytest.approx((1 + 0.25) / 2)
    assert average_precision([True, False, False, False], [0, 0, 0, 0]) == pytest.approx(0.25)


def test_undefined_areas_and_nan_raise():
    for area in (auprc, average_precision):
        with pytest.raises(ValueError, match="no gold"):
            area([False, False], [1, 2])
    with pytest.raises(ValueError, match="no gold"):
        auprc([], [])
    with pytest.raises(ValueError, match="NaN"):
        auprc([True, False], [float("nan"), 1])
    with pytest.raises(ValueError, match="one length"):
        auroc([True, False], [1])


@pytest.mark.parametrize(
    ("ratio", "n", "ceil", "rounded", "floor"),
    [
        (0.01, 10, 1, 1, 0),
        (0.07, 100, 7, 7, 7),
        (0.29, 100, 29, 29, 29),
        (0.2, 7, 2, 1, 1),
        (0.5, 5, 3, 2, 2),
        (0.5, 7, 4, 4, 3),
        (0.0, 4, 1, 1, 0),
        (1.0, 4, 4, 4, 4),
        (0.5, 1, 1, 1, 0),
        (0.5, 0, 0, 0, 0),
    ],
)
def test_top_count(ratio, n, ceil, rounded, floor):
    assert [top_count(ratio, n, how) for how in ("ceil", "round", "floor")] == [ceil, rounded, floor]


def test_top_count_refuses_nonsense():
    with pytest.raises(ValueError, match="rounding"):
        top_count(0.5, 3, "up")
    with pytest.raises(ValueError, match="between 0 and 1"):
        top_count(5, 3)


@given(SCORES, st.floats(0, 1), st.floats(0, 1))
def test_selections_are_nested_and_stable(scores, a, b):
    small, large = sorted([a, b])
    first, second = top_mask(scores, small), top_mask(scores, large)
    assert first.sum() == top_count(small, len(scores))
    assert not (first & ~second).any()
    chosen = np.flatnonzero(second)
    for i in np.flatnonzero(~second):
        assert all(scores[j] > scores[i] or (scores[j] == scores[i] and j < i) for j in chosen)


def test_ranks_do_not_touch_their_argument():
    scores = np.array([0.0, -0.0, 2.0])
    assert ranks(scores).tolist() == [1, 2, 0]
    np.testing.assert_array_equal(scores, [0.0, -0.0, 2.0])
