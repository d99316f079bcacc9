from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import kendalltau

from saywhy import explain
from saywhy.errors import DataError, InputError, OptionError
from saywhy.metrics import LooCorrelation, MethodJaccard, ModelJaccard, Sensitivity, evaluate
from saywhy.types import Example, WordScores
from tests.zoo import classifier

from .stubs import contributions, explain_again, make_bench, score_words, select_words, sigmoid


def test_tau_with_leave_one_out_by_hand():
    bench = make_bench(["a great film so bad"])
    weights = np.array([0, 3, 0.1, 0, -2.0])
    drops = sigmoid(1.1) - sigmoid(1.1 - weights)
    for scores in ([1, 5, 2, 0, 3], [0, 3, 0.1, 0, -2.0], [9, 1, 2, 3, 4]):
        got = LooCorrelation().score(bench.trial("m", [score_words(bench.examples[0], scores)]))
        assert got.value == pytest.approx(kendalltau(scores, drops).statistic)
    exact = LooCorrelation().score(bench.trial("m", contributions(bench)))
    assert exact.value == pytest.approx(1.0)


def test_the_calls_of_leave_one_out_are_made_once_for_all_methods():
    bench = make_bench(["a great film so bad"])
    for scores in ([1, 2, 3, 4, 5], [5, 4, 3, 2, 1]):
        LooCorrelation().score(bench.trial("m", [score_words(bench.examples[0], scores)]))
    assert sum(len(call) for call in bench.erasures.space.calls) == 6


def test_texts_without_order():
    bench = make_bench(["great", "great film"])
    got = LooCorrelation().score(bench.trial("m", contributions(bench)))
    assert (got.n, got.value) == (1, 1.0)
    assert any("1 of 2" in note for note in got.notes)
    alone = make_bench(["great"])
    with pytest.raises(DataError, match="two words"):
        LooCorrelation().score(alone.trial("m", contributions(alone)))


def test_jaccard_with_each_other_method():
    example = Example(("a b c d",))
    bench = make_bench([example, example])
    mine = [score_words(example, [9, 8, 0, 0]), score_words(example, [9, 8, 0, 0])]
    rivals = {
        "same": mine,
        "half": [score_words(example, [9, 0, 8, 0])] * 2,
        "rationale": [select_words(example, [3]), select_words(example, [0, 1])],
    }
    got = MethodJaccard(top=0.5).score(bench.trial("m", mine, rivals=rivals))
    assert got.bins == pytest.approx({"same": 1.0, "half": 1 / 3, "rationale": 0.5})
    assert got.values == pytest.approx([(1 + 1 / 3 + 0) / 3, (1 + 1 / 3 + 1) / 3])
    assert got.value == pytest.approx(np.mean(list(got.bins.values())))


def test_jaccard_needs_another_method_that_explains_the_same_words():
    example = Example(("a b c d",))
    bench = make_bench([example])
    mine = score_words(example, [9, 8, 0, 0])
    with pytest.raises(OptionError, match="at least two"):
        MethodJaccard().score(bench.trial("m", [mine]))
    cut = WordScores(mine.header, mine.words[:3], mine.scores[:3])
    with pytest.raises(InputError, match="m and other explain different words"):
        MethodJaccard().score(bench.trial("m", [mine], rivals={"other": [cut]}))


def test_jaccard_with_other_models():
    example = Example(("a b c d",))
    bench = make_bench([example, example])
    mine = [score_words(example, [9, 8, 0, 0])] * 2
    others = {"itself": mine, "apart": [score_words(example, [0, 0, 1, 2])] * 2}
    got = ModelJaccard(top=0.5).score(bench.trial("m", mine, others=others))
    assert got.bins == pytest.approx({"itself": 1.0, "apart": 0.0})
    assert got.value == pytest.approx(0.5)
    assert got.higher_is_better
    assert not ModelJaccard(untrained=True).score(bench.trial("m", mine, others=others)).higher_is_better
    with pytest.raises(OptionError, match="compares models"):
        ModelJaccard().score(bench.trial("m", mine, rivals=others))


def test_evaluate_explains_the_other_models():
    texts = ["a gripping film, and so lovely that it never lets go", "dull and lifeless; I slept through most of it"]
    model, same, other = classifier("bert"), classifier("bert"), classifier("electra")
    table = evaluate(model, texts, ["gradient"], "model-jaccard", against={"same": same, "other": other})
    (result,) = table.results
    assert result.bins["same"] == 1.0
    assert 0 <= result.bins["other"] < 1.0
    # Chance agrees with itself on the same model, and on another one as two draws do.
    drawn = evaluate(model, texts * 20, ["random"], "model-jaccard", against={"same": same, "other": other}).results[0]
    assert drawn.bins["same"] == 1.0
    assert drawn.bins["other"] < 0.4
    mirrored = evaluate(other, texts, ["gradient"], "model-jaccard", against=[model]).results[0]
    assert mirrored.value == pytest.approx(result.bins["other"])
    for given, message in [
        ({"metrics": "model-jaccard"}, "compares models: give others"),
        ({"metrics": "sufficiency", "against": [other]}, "no metric compares models"),
        ({"metrics": "model-jaccard", "against": [other, other]}, "comes twice"),
    ]:
        with pytest.raises(OptionError, match=message):
            evaluate(model, texts, ["gradient"], **given)
    with pytest.raises(OptionError, match="explains other models: name methods"):
        evaluate(model, texts, {"mine": explain(model, texts, "gradient")}, "model-jaccard", against=[other])


def _sensitivity(bench, explanations, explain, **options):
    return Sensitivity(**options).score(bench.trial("m", explanations, explain=explain))


def test_sensitivity_of_a_method_that_does_not_care_is_zero():
    bench = make_bench(["a great film so bad", "this awful story is long"])
    got = _sensitivity(bench, contributions(bench), explain_again(bench))
    assert got.value == pytest.approx(0.0, abs=1e-12)


def test_sensitivity_is_the_largest_distance_of_scores_of_length_one():
    bench = make_bench(["great b c"])
    seen = []

    def explain(examples, targets):
        seen.extend((e.texts[0], t) for e, t in zip(examples, targets, strict=True))
        answers = {"great b": [0.0, 2.0], "great c": [2.0, 2.0]}
        return [score_words(e, answers[e.texts[0]]) for e in examples]

    got = _sensitivity(bench, [score_words(bench.examples[0], [5, 0, 0])], explain, draws=9)
    assert sorted(seen) == [("great b", 1), ("great c", 1)]  # never the top word, and for the class it was asked about
    assert got.value == pytest.approx(np.sqrt(2))
    few = _sensitivity(bench, [score_words(bench.examples[0], [5, 0, 0])], explain, draws=1)
    assert few.value in (pytest.approx(np.sqrt(2)), pytest.approx(np.linalg.norm([1 - 0.5**0.5, 0.5**0.5])))


def test_scores_that_are_all_zero_can_be_compared():
    bench = make_bench(["a b c"])
    zero = [score_words(bench.examples[0], [0, 0, 0])]

    def explain(value):
        return lambda examples, targets: [score_words(e, [value] * 2) for e in examples]

    assert _sensitivity(bench, zero, explain(0.0)).value == 0.0
    assert _sensitivity(bench, zero, explain(1.0)).value == pytest.approx(1.0)


def test_sensitivity_draws_by_seed_and_text_only():
    texts = ["a b c d e f g h", "i j k l m n o p"]
    asked = {}
    for order in (texts, texts[::-1]):
        bench = make_bench(order)

        def explain(examples, targets, key=tuple(order)):
            asked[key] = sorted(e.texts for e in examples)
            return [score_words(e, range(7)) for e in examples]

        _sensitivity(bench, [score_words(e, range(8)) for e in bench.examples], explain)
    assert asked[tuple(texts)] == asked[tuple(texts[::-1])]


def test_a_text_is_never_emptied_and_needs_a_way_to_explain():
    pair = Example(("a", "b c d"))
    bench = make_bench([pair])
    seen = []

    def explain(examples, targets):
        seen.extend(e.texts for e in examples)
        return [score_words(e, range(3)) for e in examples]

    _sensitivity(bench, [score_words(pair, [0, 1, 2, 3])], explain, draws=9)
    assert seen
    assert all(first == "a" for first, _ in seen)
    with pytest.raises(OptionError, match="name the method"):
        Sensitivity().score(bench.trial("m", [score_words(pair, [0, 1, 2, 3])]))


@pytest.mark.parametrize("options", [{"draws": 0}, {"top": 0}])
def test_options_are_checked(options):
    with pytest.raises(OptionError, match=f"sensitivity: {next(iter(options))}"):
        Sensitivity(**options)
