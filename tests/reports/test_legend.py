from __future__ import annotations

from saywhy.reports.legend import METHODS, METRICS, method_sentence, metric_sentence


def test_every_sentence_is_one_plain_sentence() -> None:
    for name, sentence in {**METRICS, **METHODS}.items():
        assert sentence[0].isupper(), name
        assert sentence.endswith("."), name
        assert sentence.count(". ") == 0, name
        assert len(sentence) <= 120, name


def test_unknown_metrics_fall_back_to_their_family() -> None:
    assert metric_sentence("brand-new", "faithfulness").startswith("Whether the explanation says")
    assert metric_sentence("brand-new") == method_sentence("brand-new") == ""
    assert metric_sentence("truth", "faithfulness") == METRICS["truth"]
