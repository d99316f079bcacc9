from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics import BLEU

from saywhy.ops.sentences import bleu_from_counts, ngrams, pseudo_repetition, repetition

counts = st.integers(0, 9)


@given(st.lists(counts, min_size=4, max_size=4), st.lists(counts, min_size=4, max_size=4), counts, counts)
@settings(max_examples=100, deadline=None)
def test_bleu_is_sacrebleus(matches, more, size, reference):
    totals = [m + e for m, e in zip(matches, more, strict=True)]
    size, reference = size + 1, reference + 1
    expected = BLEU.compute_bleu(matches, totals, size, reference, smooth_method="none").score
    made = bleu_from_counts(np.asarray([[size, reference, *matches, *totals]], dtype=float))
    assert made[0] == pytest.approx(expected)


def test_bleu_is_the_same_for_sums_and_means():
    row = np.asarray([[7, 9, 5, 3, 2, 1, 7, 6, 5, 4]], dtype=float)
    assert bleu_from_counts(row / 13) == pytest.approx(bleu_from_counts(row))


def test_repetition():
    assert ngrams(["a"], 3) == []
    assert repetition([]) == 0.0
    assert repetition([[1, 2], [3]]) == 0.0
    assert repetition([[1, 1], [1, 1]]) == 0.75


@given(st.lists(st.lists(st.integers(0, 5), max_size=5), min_size=1, max_size=8))
def test_the_shares_of_sentences_have_the_repetition_as_their_mean(grams):
    assert pseudo_repetition(grams).mean() == pytest.approx(repetition(grams))


def test_the_share_of_a_sentence_is_what_the_jackknife_says():
    grams = [[1, 2], [2, 3, 3], [4], [1, 5]]
    values = [4 * repetition(grams) - 3 * repetition(grams[:i] + grams[i + 1 :]) for i in range(4)]
    made = pseudo_repetition(grams)
    assert made - made.mean() == pytest.approx(np.asarray(values) - np.mean(values))
