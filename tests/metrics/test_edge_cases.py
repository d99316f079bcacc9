"""What every metric of explanations says about explanations and texts at the edge."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saywhy.errors import SayWhyError
from saywhy.metrics import Parts, metrics
from saywhy.metrics.parts import join_parts
from saywhy.types import Example, Span

from .stubs import WEIGHTS, align, contributions, make_bench, marked, pair_bench, score_words, select_words, whole_trial

METHOD = [e.value for e in metrics if e.value.of == "method" and not e.value.inside]
ON_WORDS = [m for m in METHOD if "words" in m.spaces]
ON_ALIGNMENTS = [m for m in METHOD if "alignments" in m.spaces]
# An order needs two words; a text that is gold altogether says nothing about a ranking.
NEED_TWO_WORDS = ("auroc", "loo-correlation", "sensitivity", "truth")
TEXTS = ["a great film so bad", "this awful story", "good and great", "x y z"]


def examples(label=None):
    return [marked(text, [(1, 2)], truth=True, label=label) for text in TEXTS]


def checked(metric, trial):
    """The result, which is sound and the same when measured twice."""
    result = metric.score(trial)
    low, high = result.range
    assert all(math.isfinite(x) for x in (result.value, result.low, result.high, *result.values))
    assert low - 1e-12 <= result.value <= high + 1e-12
    assert all(low - 1e-12 <= v <= high + 1e-12 for v in result.values)
    assert metric.score(trial) == result
    return result


def score(metric, bench, explanations):
    return checked(metric, whole_trial(bench, explanations))


@pytest.mark.parametrize("cls", ON_WORDS, ids=lambda c: c.name)
@pytest.mark.parametrize("selected", ["none", "all"])
def test_rationales_of_nothing_and_of_everything(cls, selected):
    bench = make_bench(examples())
    sizes = [len(bench.model.words(e)) for e in bench.examples]
    why = [select_words(e, range(n) if selected == "all" else []) for e, n in zip(bench.examples, sizes, strict=True)]
    score(cls(), bench, why)


EXPECTED = {
    # metric: value for nothing selected, for everything
    "comprehensiveness": (0.0, None),
    "sufficiency": (None, 0.0),
    "log-odds": (0.0, None),
    "flip-rate": (0.0, None),
    "fidelity": (None, 0.0),
    "label-kept": (None, 1.0),
    "compactness": (0.0, 100.0),
    "contiguity": (0.0, 0.0),
    "token-f1": (0.0, None),
    "token-recall": (0.0, 1.0),
}


@pytest.mark.parametrize("name", EXPECTED)
def test_what_nothing_and_everything_have(name):
    bench = make_bench(examples())
    metric = metrics[name].value()
    for expected, chosen in zip(EXPECTED[name], ([], range(20)), strict=True):
        got = score(metric, bench, [select_words(e, chosen) for e in bench.examples])
        if expected is not None:
            assert got.value == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("cls", ON_WORDS, ids=lambda c: c.name)
def test_texts_of_one_word(cls):
    one = marked("great", [(0, 1)], truth=True)
    more = marked("a great film so bad", [(1, 2)], truth=True)
    bench = make_bench([one, more])
    score(cls(), bench, contributions(bench))
    alone = make_bench([one])
    if cls.name in NEED_TWO_WORDS:
        with pytest.raises(SayWhyError, match=f"{cls.name}.*none of the 1"):
            cls().score(whole_trial(alone, contributions(alone)))
    else:
        score(cls(), alone, contributions(alone))


@pytest.mark.parametrize("cls", ON_WORDS, ids=lambda c: c.name)
@pytest.mark.parametrize("constant", [0.0, 0.5, -1.0])
def test_constant_scores(cls, constant):
    bench = make_bench(examples())
    flat = [score_words(e, [constant] * len(bench.model.words(e))) for e in bench.examples]
    got = score(cls(), bench, flat)
    assert got == score(cls(), make_bench(examples()), flat)


@pytest.mark.parametrize("cls", ON_WORDS, ids=lambda c: c.name)
def test_ties_go_to_the_earlier_word(cls):
    bench = make_bench(examples())
    tied = [score_words(e, [1.0, 1.0] + [0.0] * (len(bench.model.words(e)) - 2)) for e in bench.examples]
    broken = [
        replace(e, scores=tuple(s - 1e-9 * i for i, s in enumerate(e.scores))) for e in tied
    ]  # the same order, without ties
    if cls.name in ("auprc", "auroc", "truth", "loo-correlation", "sensitivity"):
        score(cls(), bench, tied)  # these see ties as ties
    else:
        a, b = score(cls(), bench, tied), score(cls(), bench, broken)
        assert a.values == pytest.approx(b.values)


@pytest.mark.parametrize("cls", ON_WORDS, ids=lambda c: c.name)
def test_a_model_that_is_always_wrong_is_measured_like_any_other(cls):
    bench = make_bench(examples())
    predicted = [p.label for p in bench.predictions]
    wrong = [replace(e, label="negative" if p == "positive" else "positive") for e, p in zip(examples(), predicted)]  # noqa: B905
    a = score(cls(), bench, contributions(bench))
    other = make_bench(wrong)
    assert score(cls(), other, contributions(other)) == a


@pytest.mark.parametrize("cls", ON_WORDS, ids=lambda c: c.name)
@settings(max_examples=10, deadline=None)
@given(data=st.data())
def test_the_order_of_the_examples_and_the_blocks_do_not_matter(cls, data):
    words = st.lists(st.sampled_from([*WEIGHTS, "x", "y"]), min_size=2, max_size=6)
    texts = data.draw(st.lists(words, min_size=2, max_size=5))
    made = [marked(" ".join(text), [(0, 1)], truth=True, id=str(i)) for i, text in enumerate(texts)]
    values = st.sampled_from([-1.0, 0.0, 0.5, 2.0])
    why = [score_words(e, data.draw(st.lists(values, min_size=len(t), max_size=len(t)))) for e, t in zip(made, texts)]  # noqa: B905
    order = data.draw(st.permutations(range(len(made))))
    metric = cls(samples=5)

    def parts_of(numbers) -> Parts:
        bench = make_bench([made[i] for i in numbers])
        return metric.measure(whole_trial(bench, [why[i] for i in numbers]))

    whole = parts_of(range(len(made)))
    if not len(whole):
        return
    cut = data.draw(st.integers(1, len(made) - 1))
    joined = join_parts([parts_of(range(cut)), parts_of(range(cut, len(made)))])
    origin = make_bench(made).trial("hand", why).origin
    result = metric.summarise(whole, origin)
    assert joined.index.tolist() == whole.index.tolist()
    assert metric.summarise(joined, origin) == result
    mixed = metric.summarise(parts_of(order), origin)
    assert mixed.value == pytest.approx(result.value)
    assert mixed.n == result.n


PAIRS = [("a red car", "a red bus"), ("not a dog", "a dog barks now"), ("x", "x")]


def pairs():
    return [Example(p, alignments=((Span(0, 0, 1), Span(1, 0, 1)),), truth=True) for p in PAIRS]


def tables(kind):
    rng = np.random.default_rng(1)
    for first, second in PAIRS:
        shape = (len(first.split()), len(second.split()))
        yield np.zeros(shape) if kind == "flat" else rng.random(shape).round(1)


@pytest.mark.parametrize("cls", ON_ALIGNMENTS, ids=lambda c: c.name)
@pytest.mark.parametrize("kind", ["flat", "random"])
def test_every_metric_of_alignments(cls, kind):
    bench = pair_bench(pairs())
    why = [align(e, t) for e, t in zip(bench.examples, tables(kind), strict=True)]
    trial = bench.trial("hand", why, rivals={"other": why[:]}, others={"other": why[:]})
    metric = cls()
    metric.check(bench)
    result = checked(metric, trial)
    assert result.erasure == ("co-attention" if metric.erases else None)


@pytest.mark.parametrize("cls", [m for m in METHOD if "alignments" not in m.spaces], ids=lambda c: c.name)
def test_metrics_of_words_refuse_alignments(cls):
    with pytest.raises(SayWhyError, match=f"over {cls.spaces[0]}, not alignments; these metrics do: aorc"):
        cls().check(pair_bench(pairs()))


@pytest.mark.parametrize("cls", ON_WORDS, ids=lambda c: c.name)
def test_words_that_may_not_be_selected_are_not(cls):
    # The query decides everything, and may neither be erased nor count as found.
    fixed = [
        Example(
            ("great great", text),
            rationales=((Span(0, 0, 5), Span(1, 2, 3)),),
            truth=True,
            meta={"fixed": (0,)},
        )
        for text in ("a b c d", "e f g h")
    ]
    plain = [replace(e, texts=e.texts[1:], rationales=((Span(0, 2, 3),),), meta={}) for e in fixed]
    rng = np.random.default_rng(0)
    scores = [rng.random(4).tolist() for _ in fixed]
    bench = make_bench(fixed)
    got = score(cls(), bench, [score_words(e, [9.0, -9.0, *s]) for e, s in zip(fixed, scores, strict=True)])
    # The model's bias stands in for the query.
    other = make_bench(plain, bias=6.0)
    without = score(cls(), other, [score_words(e, s) for e, s in zip(plain, scores, strict=True)])
    if cls.name in ("method-jaccard", "model-jaccard", "sensitivity"):
        return  # the stub's rival and its new explanations rank by weight, and only the query has one
    assert got.values == pytest.approx(without.values)


def test_the_query_is_in_every_input_the_model_sees():
    example = Example(("great", "a b c d"), meta={"fixed": (0,)})
    bench = make_bench([example])
    space = bench.erasures.space
    for name in ("sufficiency", "comprehensiveness", "aorc", "loo-correlation"):
        metrics[name].value().score(bench.trial("hand", [score_words(example, [9, 4, 3, 2, 1])]))
    asked = [row for call in space.calls for _, row in call]
    assert asked
    assert all(row[0] == 1 for row in asked)
