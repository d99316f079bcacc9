from __future__ import annotations

import json

import numpy as np
import pytest

import saywhy
from saywhy.errors import OptionError
from saywhy.metrics import Comparison, IouF1, evaluate
from saywhy.metrics.comparison import compare_results
from saywhy.ops.bootstrap import paired_difference
from saywhy.types import WordScores

from .stubs import LABELS, WEIGHTS, header, marked, sigmoid


@pytest.fixture(scope="module")
def model():
    def box(texts):
        p = [sigmoid(sum(WEIGHTS.get(word, 0.0) for word in text.split())) for text in texts]
        return [[1 - x, x] for x in p]

    return saywhy.load(box, labels=list(LABELS))


def _examples(n=24):
    texts = ["a great film about us all", "this awful story never ends", "we saw a good one", "so very bad it hurts"]
    gold = [(1, 2), (1, 2), (3, 4), (2, 3)]
    return [marked(texts[i % 4], [gold[i % 4]], id=str(i)) for i in range(n)]


METRICS = ["faithfulness", "token-f1", "iou-f1"]


@pytest.fixture(scope="module")
def table(model):
    return evaluate(model, _examples(), ["random", "leave-one-out"], METRICS)


def test_better_whatever_the_direction(table):
    for metric in ("sufficiency", "comprehensiveness", "token-f1"):
        got = table.compare("leave-one-out", "random", metric)
        assert (got.verdict, got.n) == ("better", 24)
        assert 0 < got.low <= got.difference <= got.high
        back = table.compare("random", "leave-one-out", metric)
        assert back.verdict == "worse"
        assert (back.low, back.high) == pytest.approx((-got.high, -got.low))
        assert "random is worse than leave-one-out by" in str(back)
    a, b = (table[m, "sufficiency"] for m in ("leave-one-out", "random"))
    expected = paired_difference(b.values, a.values, seed=0)
    got = table.compare("leave-one-out", "random", "sufficiency")
    assert (got.difference, got.low, got.high) == pytest.approx(expected)


def test_a_method_is_not_better_than_itself(table):
    same = table.compare("random", "random", "sufficiency")
    assert (same.difference, same.low, same.high, same.verdict) == (0, 0, 0, "no clear difference")


def test_statistics_that_are_no_means_are_compared_by_what_they_are_made_of(model):
    table = evaluate(model, _examples(), ["random", "leave-one-out"], IouF1(average="micro", top=0.5))
    got = table.compare("leave-one-out", "random", "iou-f1")
    a, b = (table[m, "iou-f1"] for m in ("leave-one-out", "random"))
    assert got.difference == pytest.approx(a.value - b.value)
    assert got.difference != pytest.approx(np.mean(a.values) - np.mean(b.values))
    with pytest.raises(OptionError, match="not the mean of its examples' values"):
        compare_results(a, b)


def test_all_against_chance_are_printed_and_written(table):
    made = table.comparisons()
    assert [(c.first, c.second, c.metric) for c in made] == [
        ("leave-one-out", "random", m) for m in ("comprehensiveness", "sufficiency", "token-f1", "iou-f1")
    ]
    for line in map(str, made):
        assert line in str(table)
        assert line in table._caption()
    assert [c["verdict"] for c in json.loads(table.to_json())["comparisons"]] == [c.verdict for c in made]
    assert table.comparisons("leave-one-out", "random")[0].verdict == "worse"
    with pytest.raises(OptionError, match="no method 'lime'"):
        table.comparisons("lime")


def test_without_chance_nothing_is_compared_unasked(model):
    assert "better" not in str(evaluate(model, _examples(8), ["leave-one-out"], "faithfulness"))


def test_metrics_of_pairs_are_not_compared_again(model):
    table = evaluate(model, _examples(8), ["random", "leave-one-out"], ["method-jaccard", "loo-correlation"])
    assert [c.metric for c in table.comparisons()] == ["loo-correlation"]


def test_few_examples_cannot_tell():
    assert Comparison("m", "a", "b", 0.5, 0.4, 0.6, n=6).verdict == "better"
    few = Comparison("m", "a", "b", 0.5, 0.4, 0.6, n=5)
    assert few.verdict == "no clear difference"
    assert str(few).endswith("; 5 examples cannot tell")
    assert Comparison("m", "a", "b", 0.5, 0.4, 0.6, n=6, level=0.99).verdict == "no clear difference"


def test_only_examples_that_count_for_both(model):
    # "mine" and "yours" are told apart by the examples for which they have anything to compare.
    from saywhy.metrics.comparison import Evidence

    examples = _examples(8)
    ready = [WordScores(header(e), model.words(e), tuple(range(len(model.words(e))))) for e in examples]
    table = evaluate(model, examples, {"a": ready, "b": ready}, "token-f1")
    a, b = table.results
    evidence = (Evidence(np.array([0, 2, 5]), np.array([1.0, 2.0, 3.0])), Evidence(np.array([2, 5]), np.ones(2)))
    got = compare_results(a, b, evidence)
    assert (got.difference, got.n) == (1.5, 2)
    with pytest.raises(OptionError, match="no example counts for both"):
        compare_results(a, b, (evidence[0], Evidence(np.array([7]), np.ones(1))))


def test_variants_must_agree(model):
    examples = _examples(8)
    table = evaluate(model, examples, ["random", "leave-one-out"], [IouF1(), IouF1(threshold=1.0)])
    with pytest.raises(OptionError, match="2 variants"):
        table.compare("leave-one-out", "random", "iou-f1")
    assert table.compare("leave-one-out", "random", "iou-f1", threshold=1.0).variant["threshold"] == 1.0
    with pytest.raises(OptionError, match="not of one variant"):
        compare_results(table.results[0], table.results[3])
