from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saywhy.errors import InputError, OptionError
from saywhy.metrics import Comprehensiveness, Sufficiency
from saywhy.types import Example, FreeText, WordScores

from .stubs import (
    WEIGHTS,
    StubModel,
    StubSpace,
    contributions,
    header,
    make_bench,
    score_words,
    select_words,
    sigmoid,
)

BOTH = [Sufficiency, Comprehensiveness]


def test_eraser_values_by_hand():
    bench = make_bench(["a great film so bad"])
    why = contributions(bench)[0]
    full = sigmoid(3.0 + 0.1 - 2.0)
    trial = bench.trial("hand", [why])
    suff = Sufficiency(bins=(0.2, 0.4)).score(trial)
    comp = Comprehensiveness(bins=(0.2, 0.4)).score(trial)
    kept, removed = [sigmoid(3.0), sigmoid(3.1)], [sigmoid(0.1 - 2.0), sigmoid(-2.0)]
    assert suff.value == pytest.approx(full - np.mean(kept))
    assert comp.value == pytest.approx(full - np.mean(removed))
    assert list(suff.bins) == ["0.2", "0.4"]
    assert list(comp.bins.values()) == pytest.approx([full - p for p in removed])
    assert (suff.name, suff.method, suff.family, suff.erasure, suff.model) == (
        "sufficiency",
        "hand",
        "faithfulness",
        "delete",
        "stub",
    )


def test_normalised_values_by_hand_and_the_class_is_the_predicted_one():
    bench = make_bench(["an awful bad x"], bias=0.5)
    full, empty = 1 - sigmoid(0.5 - 5), 1 - sigmoid(0.5)
    trial = bench.trial("hand", contributions(bench))
    options = {"score": "normalised", "bins": (0.25,)}
    drop = full - empty
    assert Comprehensiveness(**options).score(trial).value == pytest.approx((full - (1 - sigmoid(-1.5))) / drop)
    assert Sufficiency(**options).score(trial).value == pytest.approx((1 - sigmoid(-2.5) - empty) / drop)


@pytest.mark.parametrize("aopc", ["mean", "n-plus-1"])
@pytest.mark.parametrize("score", ["eraser", "normalised"])
@pytest.mark.parametrize("metric", BOTH)
def test_direction_and_range_belong_to_the_variant(metric, score, aopc):
    made = metric(score=score, aopc=aopc)
    top = 1.0 if aopc == "mean" else 5 / 6
    assert made.range == (-top if score == "eraser" else 0.0, top)
    assert made.higher_is_better == (metric is Comprehensiveness or score == "normalised")
    bench = make_bench(["a great film so bad", "good"])
    result = made.score(bench.trial("hand", contributions(bench)))
    assert (result.range, result.higher_is_better) == (made.range, made.higher_is_better)
    assert result.variant["score"] == score
    assert result.variant["aopc"] == aopc
    assert json.loads(json.dumps(result.to_dict()))["value"] == result.value


def test_right_explanations_beat_reversed_ones():
    bench = make_bench(["a great film so bad", "this awful and bad story", "good good story with an ending"])
    right = contributions(bench)
    wrong = [WordScores(e.header, e.words, tuple(-s for s in e.scores)) for e in right]
    for metric in (Sufficiency(score="normalised"), Comprehensiveness(score="normalised"), Comprehensiveness()):
        a, b = (metric.score(bench.trial(n, e)) for n, e in (("right", right), ("wrong", wrong)))
        assert a.value > b.value + 0.1
    a, b = (Sufficiency().score(bench.trial(n, e)) for n, e in (("right", right), ("wrong", wrong)))
    assert a.value < b.value - 0.1


@pytest.mark.parametrize("metric", BOTH)
def test_whole_text_and_nothing(metric):
    example = Example(("a great film",))
    bench = make_bench([example])
    everything, nothing = select_words(example, [0, 1, 2]), select_words(example, [])
    normal = metric(score="normalised", aopc="n-plus-1")  # aopc must not touch a rationale's value
    assert normal.score(bench.trial("all", [everything])).value == 1.0
    assert normal.score(bench.trial("none", [nothing])).value == 0.0
    drop = sigmoid(3.1) - 0.5
    eraser = [metric().score(bench.trial("m", [e])).value for e in (everything, nothing)]
    assert eraser == pytest.approx([0.0, drop] if metric is Sufficiency else [drop, 0.0])


def test_a_rationale_is_its_own_cut():
    example = Example(("a great film",))
    result = Sufficiency().score(make_bench([example]).trial("m", [select_words(example, [1], scores=(9, 1, 5))]))
    assert result.value == pytest.approx(sigmoid(3.1) - sigmoid(3.0))
    assert result.range == (-1.0, 1.0)
    assert list(result.bins) == ["selected"]
    assert any("own selections" in note for note in result.notes)


def test_text_of_one_word():
    bench = make_bench(["great"])
    trial = bench.trial("hand", contributions(bench))
    assert Sufficiency().score(trial).value == 0.0
    assert Comprehensiveness().score(trial).value == pytest.approx(sigmoid(3.0) - 0.5)
    assert Sufficiency(score="normalised").score(trial).value == 1.0
    assert Comprehensiveness(score="normalised").score(trial).value == 1.0
    # Rounded down, half a word is none.
    assert Comprehensiveness(rounding="floor").score(trial).value == 0.0


def test_constant_scores_take_the_earlier_words():
    example = Example(("great x bad y",))
    bench = make_bench([example])
    space = bench.erasures.space
    Sufficiency(bins=(0.25, 0.5)).score(bench.trial("flat", [score_words(example, [0.5] * 4)]))
    asked = {row for call in space.calls for _, row in call}
    assert asked == {(1, 1, 1, 1), (1, 0, 0, 0), (1, 1, 0, 0)}


def test_a_model_that_is_always_wrong_is_measured_on_what_it_predicts():
    labelled = [Example(("a great film",), label="negative"), Example(("so bad",), label="positive")]
    plain = [Example(e.texts) for e in labelled]
    values = []
    for examples in (labelled, plain):
        bench = make_bench(examples)
        values.append(Comprehensiveness().score(bench.trial("hand", contributions(bench))).values)
    assert values[0] == values[1]
    assert min(values[0]) > 0


def test_where_erasing_everything_does_not_lower_the_probability():
    example = Example(("bad great film",))
    bench = make_bench([example], bias=3.0, weights={"bad": -2.0})
    trial = bench.trial("m", [score_words(example, [1, 0, 0])])
    suff, comp = (m(score="normalised").score(trial) for m in BOTH)
    assert any("does not lower" in note and "1 of 1" in note for note in suff.notes)
    assert (suff.value, comp.value) == (1.0, 0.0)
    assert Comprehensiveness().score(trial).value < 0


def test_both_metrics_share_one_call_and_equal_masks():
    bench = make_bench(["a great film so bad", "good", "this awful story is too long to be told"])
    trial = bench.trial("hand", contributions(bench))
    metrics = [m(score=s) for m in BOTH for s in ("eraser", "normalised")]
    for metric in metrics:
        metric.prepare(trial)
    first = [metric.score(trial) for metric in metrics]
    calls = bench.erasures.space.calls
    assert len(calls) == 1
    assert len(calls[0]) == len(set(calls[0]))
    assert {row for o, row in calls[0] if o == 1} == {(1.0,), (0.0,)}
    again = [metric.score(bench.trial("hand", contributions(bench))) for metric in metrics]
    assert again == first
    assert len(calls) == 1


def test_eraser_scores_do_not_pay_for_the_empty_text():
    bench = make_bench(["a great film so bad"])
    Sufficiency().score(bench.trial("hand", contributions(bench)))
    assert not any(sum(row) == 0 for call in bench.erasures.space.calls for _, row in call)


def test_large_requests_go_in_parts(monkeypatch):
    from saywhy.metrics import erasures

    texts = ["a great film so bad", "good", "this awful story is too long to be told"]
    whole, parts = make_bench(texts), make_bench(texts)
    expected = Comprehensiveness().score(whole.trial("hand", contributions(whole)))
    monkeypatch.setattr(erasures, "_CELLS", 20)
    assert Comprehensiveness().score(parts.trial("hand", contributions(parts))) == expected
    calls = parts.erasures.space.calls
    assert len(calls) > 2
    assert all(len(call) * max(len(row) for _, row in call) <= 20 for call in calls)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.lists(st.sampled_from([*WEIGHTS, "x", "y"]), min_size=1, max_size=9), min_size=1, max_size=5), st.data()
)
def test_properties(texts, data):
    examples = [Example((" ".join(words),)) for words in texts]
    given_scores = [
        data.draw(st.lists(st.sampled_from([-1.0, 0.0, 0.5]), min_size=len(t), max_size=len(t))) for t in texts
    ]
    order = data.draw(st.permutations(range(len(texts))))
    for metric in BOTH:
        for score in ("eraser", "normalised"):
            made = metric(score=score, samples=10)
            bench = make_bench(examples)
            why = [score_words(e, s) for e, s in zip(examples, given_scores, strict=True)]
            result = made.score(bench.trial("m", why))
            assert result.range[0] - 1e-12 <= result.value <= result.range[1] + 1e-12
            shuffled = make_bench([examples[i] for i in order])
            mixed = made.score(shuffled.trial("m", [why[i] for i in order]))
            assert mixed.value == pytest.approx(result.value)
            assert list(mixed.values) == pytest.approx([result.values[i] for i in order])
            n = len(made.bins)
            scaled = metric(score=score, aopc="n-plus-1", samples=10).score(bench.trial("m", why))
            assert scaled.value == pytest.approx(result.value * n / (n + 1))


def test_scores_that_cannot_be_ranked():
    example = Example(("a great film",), id="17")
    with pytest.raises(InputError, match=r"example 17.*'great' is nan"):
        Sufficiency().score(make_bench([example]).trial("m", [score_words(example, [0, float("nan"), 1])]))


def test_explanations_that_do_not_fit():
    example = Example(("a great film",))
    bench = make_bench([example])
    with pytest.raises(OptionError, match="name a method"):
        Sufficiency().score(bench.trial())
    with pytest.raises(InputError, match="2 explanations for 1"):
        bench.trial("m", [score_words(example, [1, 2, 3])] * 2)
    with pytest.raises(InputError, match="another text"):
        bench.trial("m", [score_words(Example(("a bad film",)), [1, 2, 3])])
    with pytest.raises(InputError, match="2 scores for 3 words"):
        Sufficiency().score(bench.trial("m", [score_words(example, [1, 2])]))
    with pytest.raises(OptionError, match="free-text"):
        Sufficiency().score(bench.trial("m", [FreeText(header(example), "because")]))
    cut = WordScores(header(example), words=bench.model.words(example)[:2], scores=(1.0, 2.0))
    with pytest.raises(InputError, match="take them from model"):
        Sufficiency().score(bench.trial("m", [cut]))


def test_kinds_must_not_be_mixed():
    example = Example(("a great film",))
    bench = make_bench([example, example])
    with pytest.raises(InputError, match="mix"):
        Sufficiency().score(bench.trial("m", [score_words(example, [1, 2, 3]), select_words(example, [1])]))


def test_another_target_is_noted():
    example = Example(("a great film",))
    bench = make_bench([example])
    words = bench.model.words(example)
    why = WordScores(header(example, target="negative"), words=words, scores=(0.0, 1.0, 0.0))
    assert any("another class" in note for note in Sufficiency().score(bench.trial("m", [why])).notes)


@pytest.mark.parametrize(
    "options",
    [
        {"score": "ratio"},
        {"aopc": "sum"},
        {"rounding": "up"},
        {"bins": ()},
        {"bins": (2,)},
        {"bins": (0.1, 0.1)},
        {"samples": 0},
        {"level": 1},
    ],
)
def test_options_are_checked(options):
    with pytest.raises(OptionError, match=f"sufficiency: {next(iter(options))}"):
        Sufficiency(**options)


def test_metrics_are_values():
    assert Sufficiency(bins=[0.1, 0.2]) == Sufficiency(bins=(0.1, 0.2))
    assert Sufficiency() != Sufficiency(score="normalised")
    assert Sufficiency() != Comprehensiveness()
    assert len({Sufficiency(), Sufficiency(), Sufficiency(aopc="n-plus-1")}) == 2
    with pytest.raises(AttributeError):
        Sufficiency().bins = (0.5,)


def test_the_span_of_span_qa_is_followed_even_if_it_is_improbable():
    class Task:
        name = "span-qa"

    bench = make_bench(["so bad"])
    bench.model.task = Task()
    # Class 0 of the stub is "negative".
    assert bench.erasures.predicted(0) == 0
    bench = make_bench(["so great"])
    bench.model.task = Task()
    assert bench.erasures.predicted(0) == 0
    assert bench.erasures.probability(0, bench.erasures.full(0)) == pytest.approx(1 - sigmoid(3.0))


def test_the_space_is_made_once_by_the_given_function():
    made = []

    def maker(bench):
        made.append(bench)
        return StubSpace(bench)

    bench = make_bench(["so bad"], make_space=maker)
    trial = bench.trial("hand", contributions(bench))
    for metric in BOTH:
        metric().score(trial)
    assert made == [bench]
    assert isinstance(bench.model, StubModel)
