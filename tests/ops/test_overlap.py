from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import confusion_matrix, f1_score, precision_recall_fscore_support

from saywhy.ops import overlap
from saywhy.ops.overlap import best_overlaps, jaccard, precision_recall_f1, runs, span_counts, token_counts

MASKS = st.lists(st.tuples(st.booleans(), st.booleans(), st.integers(0, 1)), min_size=1, max_size=25)


@given(MASKS)
def test_token_scores_equal_sklearn(rows):
    selected, gold = [r[0] for r in rows], [r[1] for r in rows]
    expected = precision_recall_fscore_support(gold, selected, average="binary", zero_division=0)[:3]
    assert [float(x) for x in precision_recall_f1(*token_counts(selected, gold))] == pytest.approx(list(expected))


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=40))
def test_macro_f1_equals_sklearn(pairs):
    gold, predicted = zip(*pairs, strict=True)
    table = confusion_matrix(gold, predicted, labels=range(5))
    expected = f1_score(gold, predicted, average="macro", zero_division=0)
    assert float(overlap.macro_f1_from_confusion(table)) == pytest.approx(expected)
    stacked = np.stack([table, np.eye(5)])
    assert overlap.macro_f1_from_confusion(stacked).tolist() == pytest.approx([expected, 1.0])


def test_micro_counts_of_a_published_evaluation():
    labels = np.array([[0, 1, 1, 0, 0, 1], [1, 0, 0, 0, 1, 1]])
    probabilities = np.array([[0.1, 0.9, 0.4, 0.6, 0.2, 0.8], [0.7, 0.1, 0.2, 0.3, 0.9, 0.4]])
    counts = np.sum([token_counts(p > 0.5, y) for p, y in zip(probabilities, labels, strict=True)], axis=0)
    assert counts.tolist() == [4, 5, 6]


@given(MASKS)
def test_runs_cover_the_mask_and_stay_in_their_group(rows):
    mask, groups = [r[0] for r in rows], sorted(r[2] for r in rows)
    found = runs(mask, groups)
    covered = [i for start, end in found for i in range(start, end)]
    assert covered == [i for i, m in enumerate(mask) if m]
    for start, end in found:
        assert len(set(groups[start:end])) == 1
    for (_, end), (start, _) in pairwise(found):
        assert end < start or groups[end - 1] != groups[start]


def test_overlaps():
    assert best_overlaps([(0, 4), (6, 7)], [(0, 2), (1, 4)]) == [0.75, 0.0]
    assert best_overlaps([(0, 1)], []) == [0.0]
    assert span_counts([], [(0, 1)]) == (0, 0, 1)
    assert span_counts([(0, 2)], [(0, 4)]) == (1, 1, 1)
    assert span_counts([(0, 2)], [(0, 5)]) == (0, 1, 1)
    assert span_counts([(0, 2), (3, 4)], [(0, 2), (3, 5)], threshold=1.0) == (1, 2, 2)


def test_ratios_over_nothing_are_zero():
    assert [float(x) for x in precision_recall_f1(0, 0, 3)] == [0.0, 0.0, 0.0]
    assert [float(x) for x in precision_recall_f1(0, 3, 0)] == [0.0, 0.0, 0.0]


def test_lengths_are_checked():
    with pytest.raises(ValueError, match="one length"):
        token_counts([True], [True, False])


@given(MASKS)
def test_jaccard_is_that_of_sets(rows):
    a, b = [r[0] for r in rows], [r[1] for r in rows]
    first, second = ({i for i, x in enumerate(mask) if x} for mask in (a, b))
    union = first | second
    assert jaccard(a, b) == (len(first & second) / len(union) if union else 1.0)
    assert jaccard(a, a) == 1.0
    assert jaccard(a, b) == jaccard(b, a)
