from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saywhy.ops.language_model import NgramModel

sentences = st.lists(st.lists(st.sampled_from("abcd"), max_size=5), min_size=1, max_size=6)


@given(sentences, st.integers(1, 4), st.lists(st.sampled_from("abcdx"), max_size=4))
@settings(max_examples=60, deadline=None)
def test_probabilities_add_up(learned, order, context):
    model = NgramModel(learned, order)
    assert sum(model.probability(word, context) for word in model.words) == pytest.approx(1.0)


def test_kneser_ney_by_hand():
    """Bigrams a-b twice, a-c once; b and c have been seen behind one word each, the end behind two."""
    model = NgramModel([["a", "b"], ["a", "b"], ["a", "c"]], order=2, discount=0.5)
    uniform = 1 / 5  # a, b, c, the end, unknown
    # Behind how many different words: a 1 (the start), b 1, c 1, the end 2.
    lower = (1 - 0.5) / 5 + 0.5 * 4 / 5 * uniform
    assert model.probability("b", ["a"]) == pytest.approx((2 - 0.5) / 3 + 0.5 * 2 / 3 * lower)
    assert model.probability("b", ["never"]) == pytest.approx(lower)
    assert model.probability("new", ["a"]) == model.probability("other", ["a"]) > 0


def test_a_sentence_is_the_product_of_its_words():
    model = NgramModel([["a", "b"], ["b", "a"]], order=3)
    parts = [model.probability("a", []), model.probability("b", ["a"]), model.probability("</s>", ["a", "b"])]
    assert model.log_probability(["a", "b"]) == pytest.approx(sum(map(math.log, parts)))
