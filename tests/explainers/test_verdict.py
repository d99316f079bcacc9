from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import saywhy
from saywhy.errors import OptionError
from saywhy.explainers import LeaveOneOut, Random
from saywhy.explainers.base import Explainer, Request
from saywhy.explainers.verdict import VerdictOptions, judge, named_features
from saywhy.models.mask_space import RowSpace
from saywhy.models.word_space import WordSpace
from saywhy.types import (
    Example,
    Explanation,
    FreeText,
    Header,
    Rationale,
    Verdict,
    Word,
    WordScores,
    explanation_from_dict,
)
from tests import zoo


def liking(texts: list[str]) -> list[list[float]]:
    """Likes what is good by four tenths and what is fine by two; knows nothing else."""
    likes = [0.1 + 0.4 * ("good" in t.split()) + 0.2 * ("fine" in t.split()) for t in texts]
    return [[like, 1 - like] for like in likes]


FAN = saywhy.load(liking, labels=["yes", "no"])
TEXT = "a good old fine film"


def verdict(model: Any, text: Any, method: Any = "leave-one-out", **options: Any) -> Verdict:
    found = saywhy.explain(model, text, method, **options).verdict
    assert found is not None
    return found


def judged(model: Any, example: Example, why: Explanation, **options: Any) -> Verdict:
    request = Request(saywhy.load(model), (example,), (why.target,), (None,))
    found = judge(request, LeaveOneOut(), [why], VerdictOptions(**options))[0].verdict
    assert found is not None
    return found


def test_the_values_by_hand() -> None:
    found = verdict(FAN, TEXT, target="yes")
    assert found.features == (1,)
    assert (found.total, found.erasure) == (5, "delete")
    assert [found.whole, found.kept, found.removed, found.empty] == pytest.approx([0.7, 0.5, 0.3, 0.1])
    # There are only four other words, so each is tried once: a, old, fine, film.
    assert found.random_kept == pytest.approx((0.1, 0.1, 0.3, 0.1))
    assert found.random_removed == pytest.approx((0.7, 0.7, 0.5, 0.7))
    assert found.effect == pytest.approx(0.2)
    assert found.random_effects == pytest.approx((-0.6, -0.6, -0.2, -0.6))
    assert found.better is True
    assert found.cost == {"forwards": 12}
    assert (found.agreement, found.seeds) == (None, 0)


def test_a_contrast_is_a_difference() -> None:
    found = verdict(FAN, TEXT, target="yes", against="no")
    assert [found.whole, found.kept, found.removed, found.empty] == pytest.approx([0.4, 0.0, -0.4, -0.8])


def test_what_does_as_little_as_random_words_is_no_better() -> None:
    class Misled(LeaveOneOut):
        def explain(self, request: Request) -> list[Explanation]:
            return [replace(why, scores=tuple(-s for s in why.scores)) for why in super().explain(request)]  # type: ignore[type-var,attr-defined]

    assert verdict(FAN, TEXT, Misled(), target="yes").better is False
    constant = saywhy.load(lambda texts: [[0.3, 0.7]] * len(texts), labels=["yes", "no"])
    found = verdict(constant, "one two three four five six")
    assert len(found.features) == 1
    assert found.better is False


@pytest.mark.parametrize(("size", "better"), [(0.001, False), (0.02, True)])
def test_what_cannot_be_seen_is_no_difference(size: float, better: bool) -> None:
    def nearly(texts: list[str]) -> list[list[float]]:
        return [[0.5 + size * ("good" in t), 0.5 - size * ("good" in t)] for t in texts]

    model = saywhy.load(nearly, labels=["yes", "no"])
    found = verdict(model, TEXT, target="yes")
    assert found.features == (1,)
    assert found.better is better


@pytest.mark.parametrize(("draws", "as_good", "better"), [(10, 0, True), (10, 1, False), (29, 2, True), (29, 3, False)])
def test_one_in_ten_may_do_as_well(draws: int, as_good: int, better: bool) -> None:
    effects = [0.5, *[0.5] * as_good, *[0.0] * (draws - as_good)]
    assert saywhy.explainers.verdict._better(effects) is better


def test_with_nothing_else_to_name_there_is_no_judgement() -> None:
    found = verdict(FAN, "good")
    assert (found.features, found.better, found.random_kept) == ((0,), None, ())
    assert (
        verdict(FAN, TEXT, verdict={"top": 1.0}, method="random").random_kept != ()
    )  # half of the scores are below zero


def test_only_words_that_speak_for_the_target_are_named() -> None:
    model = saywhy.load(zoo.classifier())
    words = model.words(zoo.TEXTS[0])
    header = saywhy.explain(model, zoo.TEXTS[0], "random", verdict=False).header
    for scores, top, named in (
        ([0, 3, -1, 2, 1, 0, 0], 0.2, (1, 3)),
        ([0, 3, -1, 2, 1, 0, 0], 0.6, (1, 3, 4)),
        ([0, 3, 1e-16, 2, 0, 0, 0], 0.6, (1, 3)),
        ([0, 0, 0, 0, 0, 0, 0], 0.6, (0,)),
        ([-2, -1, -3, -2, -2, -2, -2], 0.5, (1,)),
    ):
        why = WordScores(header, words, tuple(map(float, scores)))
        assert judged(model, Example((zoo.TEXTS[0],)), why, top=top).features == named


def test_a_rationale_is_judged_by_its_own_selection() -> None:
    why = saywhy.explain(FAN, TEXT, "leave-one-out", target="yes", verdict=False)
    assert isinstance(why, WordScores)
    chosen = Rationale(why.header, why.words, (False, True, False, True, False))
    found = judged(FAN, Example((TEXT,)), chosen)
    assert found.features == (1, 3)
    assert found.kept == pytest.approx(0.7)
    assert (len(found.random_kept), found.better) == (9, True)
    ranked = replace(chosen, scores=(0.0, 0.2, 0.0, 0.9, 0.0))
    assert judged(FAN, Example((TEXT,)), ranked).features == (3, 1)
    nothing = judged(FAN, Example((TEXT,)), replace(chosen, selected=(False,) * 5))
    assert (nothing.features, nothing.better) == ((), None)
    assert (nothing.kept, nothing.removed) == (nothing.empty, nothing.whole)


def test_word_pairs_are_features_too() -> None:
    model = zoo.pair_classifier()
    why: Any = saywhy.explain(model, zoo.PAIR, "leave-one-out", space="alignments")
    found = why.verdict
    scores = np.asarray(why.scores)
    assert found.total == scores.size
    assert found.erasure == "co-attention"
    best = np.argsort(-scores.reshape(-1), kind="stable")[: len(found.features)]
    assert found.features == tuple(best.tolist())
    keep = np.zeros((1, scores.size))
    keep[0, best] = 1
    space = saywhy.models.alignment_space.AlignmentSpace(model, [Example(zoo.PAIR)])
    target = why.header.labels.index(why.target)
    assert found.kept == pytest.approx(space.probabilities(np.array([0]), keep)[0, target], abs=1e-6)
    assert found.removed == pytest.approx(space.probabilities(np.array([0]), 1 - keep)[0, target], abs=1e-6)
    assert explanation_from_dict(why.to_dict()) == why


@pytest.mark.parametrize("erasure", ["pad", "attention-mask", None])
def test_words_are_erased_as_the_explanation_erased_them(erasure: str | None) -> None:
    model = zoo.shared()
    why: Any = saywhy.explain(model, zoo.TEXTS[2], "leave-one-out", erasure=erasure)
    assert why.verdict.erasure == (erasure or "delete")
    space = WordSpace(model, [Example((zoo.TEXTS[2],))], erasure=erasure)
    keep = np.ones((1, len(why.words)))
    keep[0, list(why.verdict.features)] = 0
    target = why.header.labels.index(why.target)
    assert why.verdict.removed == pytest.approx(space.probabilities(np.array([0]), keep)[0, target], abs=1e-6)


def test_words_that_must_stay_are_neither_named_nor_drawn() -> None:
    seen: list[Any] = []

    def pairs(texts: list[Any]) -> list[list[float]]:
        seen.extend(texts)
        return [[0.9, 0.1] if "good" in " ".join(t) else [0.2, 0.8] for t in texts]

    model = saywhy.load(pairs, labels=["yes", "no"], task="pair")
    example = Example(("what is good", "a good old film"), meta={"fixed": (0,)})
    why: Any = saywhy.explain(model, example, "random", verdict=False)
    seen.clear()
    found = judged(model, example, why)
    assert found.total == 4
    assert all(place >= 3 for place in found.features)
    assert {first for first, _ in seen} == {"what is good"}
    assert ("what is good", "") in seen


def test_words_the_model_does_not_read_are_neither_named_nor_drawn() -> None:
    model = zoo.shared()
    long = "film " * 100
    with pytest.warns(saywhy.errors.SayWhyWarning, match="cut to the first"):
        why: Any = saywhy.explain(model, long, "random", truncation="head")
    assert why.verdict.total == 62
    assert len(why.words) == 100
    assert max(why.verdict.features) < 62


def test_a_text_that_is_cut_is_warned_of_once() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        saywhy.explain(zoo.shared(), "film " * 100, "random", truncation="head", verdict={"seeds": 2})
    assert len(caught) == 1


def test_other_seeds_show_what_stays() -> None:
    runs = 0

    class Counting(Random):
        def explain(self, request: Request) -> list[Explanation]:
            nonlocal runs
            runs += 1
            return super().explain(request)

    text = " ".join(f"word{i}" for i in range(40))
    found = verdict(FAN, text, Counting(), verdict={"seeds": 4})
    assert (runs, found.seeds) == (5, 4)
    assert found.agreement is not None
    assert 0 < found.agreement < 0.5
    named = [set(verdict(FAN, text, "random", seed=seed).features) for seed in range(5)]
    expected = np.mean([len(named[0] & other) / len(named[0] | other) for other in named[1:]])
    assert found.agreement == pytest.approx(expected)


def test_a_method_that_does_not_draw_is_run_once_more_only() -> None:
    found = verdict(zoo.shared(), zoo.TEXTS[0], "gradient", verdict={"seeds": 4})
    assert (found.agreement, found.seeds) == (1.0, 1)


def test_the_draws_depend_on_the_seed_and_the_text_only() -> None:
    model = zoo.shared()
    alone = verdict(model, zoo.TEXTS[2], "leave-one-out")
    listed: Any = saywhy.explain(model, zoo.TEXTS, "leave-one-out", verdict=True)[2].verdict
    assert listed.features == alone.features
    np.testing.assert_allclose(listed.random_kept, alone.random_kept, atol=1e-5)
    np.testing.assert_allclose(listed.random_removed, alone.random_removed, atol=1e-5)
    other = verdict(model, zoo.TEXTS[2], "leave-one-out", seed=1)
    assert not np.allclose(other.random_kept, alone.random_kept)
    assert len(set(alone.random_kept)) == 10


@pytest.mark.parametrize("seed", range(5))
def test_no_set_is_drawn_twice(seed: int) -> None:
    # Each word weighs differently, so that equal values would be equal sets; only one of the eleven others is left out.
    def weighing(texts: list[str]) -> list[list[float]]:
        table = [sum(0.5 ** (ord(w) - 96) for w in t.split() if len(w) == 1) for t in texts]
        return [[p, 1 - p] for p in table]

    found = verdict(
        saywhy.load(weighing, labels=["yes", "no"]), "a b c d e f g h i j k l", seed=seed, verdict={"top": 0.05}
    )
    values = [round(value, 9) for value in (found.kept, *found.random_kept)]
    assert len(set(values)) == len(values) == 11


def test_all_masks_of_all_inputs_in_one_call(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    outputs = RowSpace.outputs

    def counted(self: RowSpace, owner: np.ndarray, keep: np.ndarray) -> Any:
        calls.append(len(owner))
        return outputs(self, owner, keep)

    monkeypatch.setattr(RowSpace, "outputs", counted)
    made: Any = saywhy.explain(zoo.shared(), zoo.TEXTS, "gradient", verdict={"draws": 5})
    assert len(calls) == 1
    assert [why.verdict.cost["forwards"] for why in made] == [14, 2, 14]


def test_a_list_is_judged_only_when_asked() -> None:
    model = zoo.shared()
    assert saywhy.explain(model, "Dull film", "random").verdict is not None
    assert saywhy.explain(model, "Dull film", "random", verdict=False).verdict is None
    assert saywhy.explain(model, ["Dull film"], "random")[0].verdict is None
    assert saywhy.explain(model, ["Dull film"], "random", verdict=True)[0].verdict is not None
    assert saywhy.explain(model, [], "random", verdict=True) == []


def test_explanations_without_features_have_no_verdict() -> None:
    class Sentences(Explainer):
        name = "random"

        def explain(self, request: Request) -> list[Explanation]:
            return [FreeText(Header("s", "yes", ("yes", "no"), (0.5, 0.5), e.texts), "so") for e in request.examples]

    assert saywhy.explain(FAN, TEXT, Sentences(), verdict={"seeds": 1}).verdict is None


def test_random_explanations_seldom_pass_and_good_ones_mostly_do() -> None:
    generator = np.random.default_rng(0)
    weights = dict(zip((f"w{i}" for i in range(50)), generator.normal(size=50), strict=True))

    def additive(texts: list[str]) -> list[list[float]]:
        table = [1 / (1 + np.exp(-sum(weights.get(w, 0.0) for w in t.split()))) for t in texts]
        return [[p, 1 - p] for p in table]

    model = saywhy.load(additive, labels=["yes", "no"])
    texts = [" ".join(generator.choice(list(weights), 12)) for _ in range(200)]
    shares = {}
    for method in ("random", "leave-one-out"):
        made: Any = saywhy.explain(model, texts, method, verdict=True)
        shares[method] = np.mean([why.verdict.better for why in made])
    # By the rule, one in eleven.
    assert 0.03 < shares["random"] < 0.17
    assert shares["leave-one-out"] > 0.75


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"top": 0.0}, "top is a share"),
        ({"top": 1.5}, "top is a share"),
        ({"draws": 0}, "draws must be at least 1"),
        ({"seeds": -1}, "seeds at least 0"),
        ({"words": 3}, "verdict has no option 'words'; its options: draws, seeds, top"),
        ({"draws": "many"}, "must be int"),
        ("yes", "verdict is true, false or a dict"),
    ],
)
def test_mistakes_are_told(given: Any, said: str) -> None:
    with pytest.raises(OptionError, match=said):
        saywhy.explain(FAN, TEXT, "random", verdict=given)


@pytest.mark.parametrize(
    ("scores", "named"),
    [
        ((0.1, 9.0, 0.5, 0.4, -3.0), [1]),  # one word has it all
        ((0.1, 9.0, 1.0, 0.8, -3.0), [1, 2]),
        ((0.5, 0.5, 0.5, 0.4, 0.4), [0, 1, 2]),
        ((-0.5, -0.1, -0.2, -0.4, -0.4), [1]),  # at least one
        ((1e-9, 2e-9, 0.0, -5.0, -4.0), [1]),  # rounding left these of zero
    ],
)
def test_weak_words_are_not_named(scores: tuple[float, ...], named: list[int]) -> None:
    words = tuple(Word(text, 2 * i, 2 * i + 1) for i, text in enumerate("abcde"))
    why = WordScores(Header("", "", (), (), ("a b c d e",)), words, scores)
    assert named_features(why, np.ones(5, dtype=bool), 0.6).tolist() == named


def test_a_word_that_decides_alone_is_told_from_random_words_though_others_have_a_little_score() -> None:
    text = "one good day in a long row of many days"
    words = tuple(saywhy.explain(FAN, text, "leave-one-out").words)
    scores = tuple(4.0 if word.text == "good" else 0.1 for word in words)
    header = Header("", "yes", ("yes", "no"), (0.5, 0.5), (text,))
    found = judged(FAN, Example((text,)), WordScores(header, words, scores))
    assert (len(found.features), found.better) == (1, True)
