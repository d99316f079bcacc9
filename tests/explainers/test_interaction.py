from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

import saywhy
from saywhy.errors import OptionError
from saywhy.metrics import Truth
from saywhy.models import load
from saywhy.types import Example, Span
from tests import zoo

PAIR = ("red cat sat", "blue dog")


def joint(pairs: Any) -> list[list[float]]:
    """Likes cats and dogs, each a little and both together much; does not mind what else there is."""
    found = []
    for first, second in pairs:
        logit = 0.3 * ("cat" in first) + 0.2 * ("dog" in second) + 1.5 * ("cat" in first and "dog" in second)
        logit -= 0.4 * ("red" in first)
        p = 1 / (1 + math.exp(-logit))
        found.append([p, 1 - p])
    return found


@pytest.fixture
def box() -> Any:
    return load(joint, labels=["yes", "no"], task="pair")


def test_pairs_that_do_something_together(box: Any) -> None:
    for options in ({}, {"exact": 0}, {"exact": 0, "contexts": 0}):
        why: Any = saywhy.explain(box, PAIR, "interaction", target="yes", **options)
        expected = np.zeros((3, 2))
        # The logarithm of a probability is not additive: the logit of the box is that of two classes.
        expected[1, 1] = np.asarray(why.scores)[1, 1]
        assert why.top(1)[0][0][0].text == "cat"
        assert why.top(1)[0][0][1].text == "dog"
        assert np.asarray(why.scores)[1, 1] > 3 * np.abs(np.asarray(why.scores) - expected).max()
        assert why.header.erasure == "delete"
        assert why.header.space == "alignments"
        assert why.verdict is None  # there is no attention to cut


def test_equals_the_index_by_its_definition() -> None:
    model = zoo.pair_classifier("decomposable-attention")
    pair = ("Dull film", "It sleeps well")
    why: Any = saywhy.explain(model, pair, "interaction", output="probability")
    from saywhy.models.word_space import WordSpace

    space = WordSpace(model, [Example(pair)])
    target = model.predict(pair)[0].index
    sets = list(itertools.product([0, 1], repeat=5))
    values = dict(
        zip(sets, space.probabilities(np.zeros(32, dtype=int), np.asarray(sets))[:, target].tolist(), strict=True)
    )
    for i, j in itertools.product(range(2), range(3)):
        others = [k for k in range(5) if k not in (i, 2 + j)]
        total = 0.0
        for size in range(4):
            for chosen in itertools.combinations(others, size):
                weight = math.factorial(3 - size) * math.factorial(size) / math.factorial(4)

                def with_(*more: int, chosen: tuple[int, ...] = chosen) -> float:
                    return values[tuple(int(k in {*chosen, *more}) for k in range(5))]

                total += weight * (with_(i, 2 + j) - with_(i) - with_(2 + j) + with_())
        assert why.scores[i][j] == pytest.approx(total, abs=1e-6)


def test_in_company_and_alone_and_checked_where_attention_can_be_cut() -> None:
    model = zoo.pair_classifier("bert")
    together: Any = saywhy.explain(model, [zoo.PAIR, PAIR], "interaction", contexts=3)
    alone: Any = saywhy.explain(model, zoo.PAIR, "interaction", contexts=3)
    np.testing.assert_allclose(together[0].scores, alone.scores, atol=1e-4)
    assert alone.verdict.erasure == "co-attention"


def test_a_black_box_is_measured_against_gold_alignments(box: Any) -> None:
    example = Example(PAIR, "yes", alignments=((Span(0, 4, 7), Span(1, 5, 8)),), truth=True)
    table = saywhy.evaluate(box, [example], ["interaction"], Truth(), space="alignments")
    assert table.results[0].value == 1.0
    with pytest.raises(saywhy.errors.CapabilityError, match="alignments need the model's attention"):
        saywhy.evaluate(box, [example], ["interaction"], "fidelity", space="alignments")


def test_mistakes(box: Any) -> None:
    with pytest.raises(OptionError, match="contexts must be at least 0"):
        saywhy.explain(box, PAIR, "interaction", contexts=-1)
