"""The contract of all metrics, whatever they are."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from saywhy.errors import OptionError, UnknownNameError
from saywhy.metrics import Accuracy, Metric, TokenF1, expand_metrics, metrics
from saywhy.metrics.base import BIN_KINDS, bin_kind, register

from .stubs import contributions, make_bench, marked, say, sentence_bench, whole_trial

ENTRIES = list(metrics)


@pytest.fixture(scope="module")
def bench():
    texts = ["a great film so bad", "this awful story", "good"]
    return make_bench([marked(t, [(1, 2)] if " " in t else [(0, 1)], truth=True, label="positive") for t in texts])


@pytest.fixture(scope="module")
def spoken():
    texts = ["a great film so bad", "this awful story", "good"]
    facts = {"label": "positive", "explanations": ("it is a great film", "this film is a great one")}
    return sentence_bench([marked(t, [(0, 1)], **facts) for t in texts])


# What some need besides explanations: a corpus to learn from, somebody who judges.
HERE = Path(__file__).parent
NEEDED = {
    "perplexity": {"learned_from": "planted-nli"},
    "critic-score": {"critic": f"{HERE}/judges.py:Critic"},
    "label-accuracy": {"reader": f"{HERE}/judges.py:Reader"},
}
SPEAKING = ("label-follows",)  # asks the model itself: test_sentences


def test_names():
    expected = (
        "accuracy aorc attack-success auprc auroc bleu compactness comprehensiveness consistency contiguity "
        "critic-score exact-inc fidelity flip-rate important-tokens inter-rep iou-f1 label-accuracy "
        "label-follows label-kept lipschitz log-odds loo-correlation macro-f1 max-f1 method-jaccard model-jaccard "
        "perplexity rationale-accuracy rationale-cross-entropy sensitivity similarity "
        "simulatability soft-inc sufficiency token-f1 token-precision token-recall "
        "truth"
    )
    assert [e.name for e in ENTRIES] == expected.split()


# Those that look inside a network are in test_interpretability; those of alignments alone in test_edge_cases and
# test_alignment_rationales.
OUTSIDE = [e for e in ENTRIES if e.spaces != ("alignments",) and not e.value.inside and e.name not in SPEAKING]


@pytest.mark.parametrize("entry", OUTSIDE, ids=lambda e: e.name)
def test_every_metric_keeps_the_contract(entry, bench, spoken):
    metric = entry.value(**NEEDED.get(entry.name, {}))
    assert isinstance(metric, Metric)
    assert dataclasses.is_dataclass(metric)
    assert (metric.name, metric.family) == (entry.name, entry.family)
    assert metric.of in ("method", "model")
    assert set(metric.options) == set(entry.value.option_names())
    assert type(metric)(**metric.options) == metric
    assert entry.spaces == metric.spaces
    if "sentences" in metric.spaces:
        bench = spoken
        trial = bench.trial("hand", [say(e, "it is a great film indeed") for e in bench.examples])
    else:
        trial = whole_trial(bench, contributions(bench))
    metric.check(bench)
    metric.prepare(trial)
    result = metric.score(trial)
    assert result == metric.score(trial)
    assert (result.name, result.family, result.n) == (entry.name, entry.family, len(result.values) or 3)
    assert result.method == ("hand" if metric.of == "method" else "")
    assert result.low <= result.high
    assert result.range[0] <= result.value <= result.range[1]
    assert result.version
    assert result.model == "stub"
    assert dict(result.variant) == metric.options
    assert bool(result.bins) == bool(metric.bins_are)
    assert result.bins_are == metric.bins_are == entry.facts["bins_are"]
    if metric.bins_are not in ("", "parts"):
        assert [float(key) for key in result.bins] == sorted(float(key) for key in result.bins)
    if metric.bins_are == "histogram":
        assert sum(result.bins.values()) == pytest.approx(1.0)
    json.dumps(result.to_dict(), allow_nan=False)
    json.dumps(entry.to_dict(), allow_nan=False)


def test_metrics_say_what_their_bins_are():
    cutting = ("aorc", "comprehensiveness", "flip-rate", "log-odds", "sufficiency")
    parts = ("attack-success", "critic-score", "label-follows", "method-jaccard", "model-jaccard")
    expected = dict.fromkeys(cutting, "shares") | dict.fromkeys(parts, "parts")
    expected |= {"important-tokens": "thresholds", "similarity": "histogram"}
    assert {e.name: e.value.bins_are for e in ENTRIES if e.value.bins_are} == expected
    assert set(expected.values()) == set(BIN_KINDS)


def test_results_of_earlier_versions_have_the_bins_that_their_metric_declares():
    assert bin_kind("similarity") == "histogram"
    assert bin_kind("similarity", "shares") == "shares"  # what a result says itself goes first
    assert bin_kind("nobody-knows-it") == bin_kind("accuracy") == "parts"
    assert bin_kind("similarity", "of-a-later-version") == "parts"


def test_a_metric_cannot_declare_bins_of_a_kind_that_nobody_shows():
    wrong = type("Wrong", (Accuracy,), {"__doc__": "Wrong.", "name": "wrong", "bins_are": "pie"})
    with pytest.raises(ValueError, match="bins_are must be one of shares, thresholds, histogram, parts, not 'pie'"):
        register(wrong)
    assert "wrong" not in metrics


def test_families_and_names_expand():
    assert [m.name for m in expand_metrics("faithfulness")] == ["comprehensiveness", "sufficiency"]
    assert [m.name for m in expand_metrics(["truth", "accuracy"])] == ["truth", "accuracy"]
    assert "token-f1" in [m.name for m in expand_metrics("plausibility")]
    assert [m.name for m in expand_metrics(["sufficiency", "faithfulness"])] == ["sufficiency", "comprehensiveness"]
    names = [m.name for m in expand_metrics("plausibility", None, "words")]
    assert "iou-f1" in names
    assert "max-f1" not in names
    names = [m.name for m in expand_metrics("plausibility", None, "alignments")]
    assert "max-f1" in names
    assert "iou-f1" not in names
    assert expand_metrics(TokenF1(top=0.1)) == [TokenF1(top=0.1)]


def test_options_go_to_the_metrics_that_have_them():
    suff, token = expand_metrics(["sufficiency", "token-f1"], {"score": "normalised", "top": 0.1, "samples": 10})
    assert (suff.options["score"], suff.samples, token.top, token.samples) == ("normalised", 10, 0.1, 10)


def test_mistakes_are_named():
    with pytest.raises(UnknownNameError, match="did you mean 'sufficiency'"):
        expand_metrics("suficiency")
    with pytest.raises(OptionError, match="option scores; they have aopc, bins"):
        expand_metrics("faithfulness", {"scores": "normalised"})
    with pytest.raises(OptionError, match="no metric was asked for"):
        expand_metrics([])
