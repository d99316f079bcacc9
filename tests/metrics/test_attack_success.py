from __future__ import annotations

from pathlib import Path

import pytest

from saywhy.errors import DataError, OptionError
from saywhy.metrics import AttackSuccess
from saywhy.metrics.parts import join_parts
from saywhy.types import Example, Prediction
from tests.data.test_wordnet import folder  # noqa: F401 - a fixture

from .stubs import StubModel, make_bench


class Reader(StubModel):
    """Counts the texts it reads."""

    def __init__(self, weights, bias=0.0):
        super().__init__(weights, bias)
        self.read = []

    def predict(self, inputs, **options):
        self.read += [example.texts for example in inputs]
        return super().predict(inputs, **options)


def bench_of(texts, weights, bias=0.0, **options):
    bench = make_bench([Example((t,), label=label) for t, label in texts], weights, bias, **options)
    bench.model = Reader(weights, bias)
    return bench


def score(bench, **options):
    return AttackSuccess(**options).score(bench.trial())


@pytest.mark.parametrize("search", ["greedy", "ranked"])
def test_changes_that_turn_the_model_are_found(search):
    # One change is enough for the first two; the third has nothing to change, the fourth is wrong by itself.
    weights = {"not": -1.0, "isn't": 2.0, "aren't": 2.0, "don't": -3.0}
    texts = [
        ("this is not so and those are not so", "negative"),
        ("this is not so", "negative"),
        ("plain not", "negative"),
        ("not that", "positive"),
    ]
    bench = bench_of(texts, weights)
    got = score(bench, search=search)
    assert got.values == (1.0, 1.0, 0.0)
    assert (got.value, got.n, got.higher_is_better) == (pytest.approx(2 / 3), 3, False)
    assert got.bins["successes"] == 2
    assert got.bins["accuracy"] == pytest.approx(3 / 4)
    assert got.bins["accuracy-under-attack"] == pytest.approx(1 / 4)
    # -2 + 1 + 2 = 1 after one of the two changes of the first text.
    assert got.bins["words-changed"] == pytest.approx((2 / 9 + 2 / 4) / 2)
    assert got.bins["queries"] == pytest.approx(3 / 3)
    assert any("1 of 4" in note for note in got.notes)
    assert len(bench.model.read) == 4 + 3


def test_greedy_builds_on_what_it_has_done():
    weights = {"isn't": 1.0, "aren't": 1.0, "wasn't": 0.1}
    bench = bench_of([("this is not it those are not it all was not it", "negative")], weights, bias=-1.5)
    got = score(bench)
    assert got.values == (1.0,)
    assert got.bins["queries"] == 3 + 2
    assert got.bins["words-changed"] == pytest.approx(4 / 12)
    assert bench.model.read[-1] != bench.model.read[0]


@pytest.mark.parametrize("search", ["greedy", "ranked"])
def test_a_label_that_denies_one_is_right_until_that_one_is_said(search):
    # The first takes two changes, which raise "positive" one by one; the second is wrong by itself.
    weights = {"isn't": 1.0, "aren't": 1.0, "wasn't": 0.1}
    texts = [("this is not it those are not it all was not it", "non-positive"), ("isn't aren't", "non-positive")]
    bench = bench_of(texts, weights, bias=-1.5)
    got = score(bench, search=search)
    same = score(bench_of([(t, "negative") for t, _ in texts], weights, bias=-1.5), search=search)
    assert got.values == same.values == (1.0,)
    assert got.bins == same.bins
    assert got.bins["accuracy"] == 0.5
    safe = score(bench_of([("this is not it", "non-positive")], {"isn't": -1.0}, bias=-1.5), search=search)
    assert safe.values == (0.0,)


def test_a_label_that_denies_one_holds_while_the_others_change_places():
    # Of three labels: the change turns the second into the third, and "non-first" stays right.
    class Three(Reader):
        labels = ("first", "second", "third")

        def predict(self, inputs, **options):
            self.read += [example.texts for example in inputs]
            some = [(0.2, 0.1, 0.7) if "isn't" in e.texts[0] else (0.1, 0.8, 0.1) for e in inputs]
            return [Prediction(self.labels[p.index(max(p))], max(p), self.labels, p) for p in some]

        def label_index(self, label, example=None):
            return self.labels.index(label)

    found = {}
    for label in ("second", "non-first"):
        bench = make_bench([Example(("this is not it",), label=label)])
        bench.model = Three({})
        found[label] = score(bench).values
    assert found == {"second": (1.0,), "non-first": (0.0,)}


def test_it_stops_where_nothing_helps_and_where_the_queries_end():
    bench = bench_of([("this is not it and that was not it", "negative")], {"isn't": -1.0, "wasn't": -1.0}, bias=-1.0)
    got = score(bench)
    assert (got.value, got.bins["queries"]) == (0.0, 2.0)
    harmful = bench_of([("this is not it and that was not it", "negative")], {"wasn't": 9.0}, bias=-1.0)
    assert score(harmful).value == 1.0
    assert score(harmful, max_queries=1).value == 0.0
    assert score(harmful, max_queries=1).bins["queries"] == 1.0


def test_the_seed_draws_the_candidates_and_blocks_do_not_matter():
    texts = [("Robert met Sarah in Paris", "negative"), ("Thomas is not here", "negative")]
    weights = {"Robert": -0.1, "isn't": 2.0}
    bench = bench_of(texts, weights, bias=-1.0)
    metric = AttackSuccess()
    whole = metric.measure(bench.trial())
    parts = [metric.measure(bench_of([t], weights, bias=-1.0).trial()) for t in texts]
    assert metric.summarise(join_parts(parts), bench.trial().origin) == metric.summarise(whole, bench.trial().origin)
    read = bench.model.read
    other = bench_of(texts, weights, bias=-1.0, seed=1)
    score(other)
    assert other.model.read != read


def test_fixed_fields_are_left_alone():
    example = Example(("is it not", "this is not so"), label="negative", meta={"fixed": (0,)})
    bench = make_bench([example], {"isn't": 5.0}, bias=-1.0)
    bench.model = Reader({"isn't": 5.0}, -1.0)
    assert score(bench).value == 1.0
    assert all(texts[0] == "is it not" for texts in bench.model.read)


def test_synonyms(folder: Path):  # noqa: F811
    bench = bench_of([("a good film", "positive")], {"good": 1.0, "goodness": -1.0, "movie": -0.5}, bias=0.2)
    assert score(bench).value == 0.0  # the other recipe has nothing to change
    got = score(bench, recipe="synonyms", wordnet=str(folder), search="ranked")
    assert got.value == 1.0
    assert ("a goodness film",) in bench.model.read


def test_mistakes(tmp_path: Path):
    bench = bench_of([("good", "negative")], {"good": 1.0})
    with pytest.raises(DataError, match="that the model gets right, and none of the 1"):
        score(bench)
    with pytest.raises(DataError, match="wordnet-base"):
        score(bench, recipe="synonyms", wordnet=str(tmp_path / "nothing"))
    for options in ({"recipe": "synonyms"}, {"wordnet": "x"}, {"recipe": "spelling"}, {"search": "beam"}):
        with pytest.raises(OptionError, match="attack-success"):
            AttackSuccess(**options)
    with pytest.raises(OptionError, match="at least 1"):
        AttackSuccess(candidates=0)
