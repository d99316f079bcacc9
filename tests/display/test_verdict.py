from __future__ import annotations

from dataclasses import replace

import pytest

from saywhy.display import explanation_html
from saywhy.display.verdict import judgement, verdict_sentences
from saywhy.types import Verdict, WordScores
from tests.display.shown import all_kinds, header, printed, read, scored, words


def verdict(*features: int, **facts: object) -> Verdict:
    values: dict[str, object] = {"total": 4, "whole": 0.97, "kept": 0.94, "removed": 0.31, "empty": 0.5, "better": True}
    values |= {"random_kept": (0.5, 0.6), "random_removed": (0.96, 0.94), "erasure": "delete", "cost": {"forwards": 8}}
    return Verdict(features=features, **{**values, **facts})  # type: ignore[arg-type]


def check(found: Verdict, **facts: object) -> WordScores:
    return replace(scored("good , fine film", 3, 2, 1, 0, **facts), verdict=found)


def test_a_verdict_in_plain_sentences() -> None:
    assert verdict_sentences(check(verdict(0, 1))) == [
        "keeping these 2 words (good, “,”): 0.97 → 0.94 (2 random words: 0.55, 0.50 to 0.60; no words: 0.50)",
        "without them: 0.97 → 0.31 (without 2 random words: 0.95, 0.94 to 0.96)",
    ]
    assert verdict_sentences(check(verdict(2, random_kept=(0.5, 0.501), agreement=0.625, seeds=3))) == [
        "keeping this word (fine): 0.97 → 0.94 (1 random word: 0.50; no words: 0.50)",
        "without it: 0.97 → 0.31 (without 1 random word: 0.95, 0.94 to 0.96)",
        "words named with 3 other seeds: 62% the same (mean Jaccard index)",
    ]
    assert verdict_sentences(check(verdict(0, agreement=1.0, seeds=1)))[-1] == "words named with 1 other seed: the same"
    nothing = check(verdict(random_kept=(), random_removed=(), kept=0.5, removed=0.97))
    assert verdict_sentences(nothing)[0] == "keeping no words: 0.97 → 0.50 (no words: 0.50)"
    assert verdict_sentences(scored("a", 1)) == []


def test_the_numbers_say_what_they_are_of() -> None:
    assert ": neg 0.97 → neg" not in verdict_sentences(check(verdict(0), target="neg"))[0]
    assert "(good): neg 0.97 → 0.94" in verdict_sentences(check(verdict(0), target="neg"))[0]
    contrast = verdict_sentences(check(verdict(0, removed=-0.4), against="neg"))
    assert contrast[1].startswith("without it: pos less neg 0.97 → −0.40")


def test_many_words_are_counted() -> None:
    long = WordScores(header("a b c d e f g"), words("a b c d e f g"), (1.0,) * 7, verdict=verdict(*range(7)))
    assert "keeping these 7 words (a, b, c, d, e and 2 more): " in verdict_sentences(long)[0]


def test_word_pairs_are_named_by_both_words() -> None:
    pair = replace(all_kinds("a store", "one car")[2], verdict=verdict(3, 0))
    assert "these 2 word pairs (store ↔ car, a ↔ one)" in verdict_sentences(pair)[0]
    assert judgement(pair).startswith("better than random word pairs")


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (verdict(0), "better than random words: none of 2 random sets does as well"),
        (
            verdict(0, random_kept=(0.9,) * 19 + (1.0,), random_removed=(0.9,) * 19 + (0.2,)),
            "better than random words: only 1 of 20 random sets does as well",
        ),
        (
            verdict(0, better=False, random_kept=(0.94, 1), random_removed=(0.31, 0)),
            "no better than random words: 2 of 2 random sets do as well",
        ),
        (verdict(0, better=False), "no better than random words: the difference is below 0.01"),
        (verdict(0, 1, 2, 3, better=None), "nothing to compare with: all words are named"),
        (verdict(better=None), "nothing to compare with: no words are named"),
        (verdict(0, better=None, total=1), "nothing to compare with: the only word is named"),
    ],
)
def test_the_judgement_is_plain(found: Verdict, said: str) -> None:
    assert judgement(check(found)) == said
    assert judgement(scored("a", 1)) == ""
    assert f"→ {said}" in " ".join(printed(check(found), color_system=None).split())
    assert said in explanation_html(check(found), compact=True)


def test_a_verdict_is_shown_with_what_it_cost() -> None:
    page = explanation_html(check(verdict(0)))
    assert page.count("sw-verdict") > 1
    assert "<dt>cost of the check</dt><dd>8 forwards</dd>" in page
    assert "sw-verdict" not in explanation_html(scored("a", 1.0), compact=True)
    evil = replace(scored("<b> x", 1.0, 0.0, 0.0, 0.0), verdict=verdict(0, 1))
    assert "(“&lt;”, b)" in explanation_html(evil)
    read(explanation_html(evil))
