from __future__ import annotations

import pytest

from saywhy.errors import OptionError
from saywhy.metrics import FlipRate
from saywhy.types import Example

from .stubs import contributions, make_bench, score_words, select_words


def test_rate_and_smallest_share_by_hand():
    # Without "great" the first text is negative; the second needs both of its words gone.
    texts = ["great bad x y z", "good good bad y z", "x good film y z"]
    bench = make_bench(texts, bias=0.05)  # so that nothing at all is positive
    trial = bench.trial("hand", contributions(bench))
    bins = (0.2, 0.4, 0.6)
    rate = FlipRate(bins=bins).score(trial)
    assert list(rate.bins.values()) == pytest.approx([1 / 3, 2 / 3, 2 / 3])
    assert rate.values == pytest.approx([1.0, 2 / 3, 0.0])
    assert rate.value == pytest.approx((1 + 2 / 3) / 3)
    share = FlipRate(bins=bins, count="share").score(trial)
    assert share.values == pytest.approx([0.2, 0.4, 1.0])
    assert any("1 of 3 examples never changes" in note for note in share.notes)
    assert (rate.higher_is_better, share.higher_is_better) == (True, False)


def test_the_order_of_the_bins_does_not_decide_the_smallest():
    bench = make_bench(["great bad x y z"])
    trial = bench.trial("hand", contributions(bench))
    assert FlipRate(bins=(0.6, 0.2), count="share").score(trial).value == 0.2


def test_rationales_have_one_size():
    example = Example(("great bad",))
    trial = make_bench([example]).trial("m", [select_words(example, [0])])
    assert FlipRate().score(trial).value == 1.0
    assert list(FlipRate().score(trial).bins) == ["selected"]
    with pytest.raises(OptionError, match="of one size"):
        FlipRate(count="share").score(trial)


def test_a_model_of_one_class_never_flips():
    bench = make_bench(["great x", "bad x"], weights={}, bias=1.0)
    trial = bench.trial("m", [score_words(e, [1, 0]) for e in bench.examples])
    assert FlipRate().score(trial).value == 0.0


def test_span_qa_has_no_classes_to_flip():
    class Task:
        name = "span-qa"

    bench = make_bench(["so bad"])
    bench.model.task = Task()
    with pytest.raises(OptionError, match="use log-odds"):
        FlipRate().check(bench)
