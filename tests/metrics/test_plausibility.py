from __future__ import annotations

import numpy as np
import pytest

from saywhy.errors import DataError, InputError, OptionError
from saywhy.metrics import Auprc, Auroc, IouF1, TokenF1, TokenPrecision, TokenRecall, Truth
from saywhy.ops.bootstrap import resampled_means
from saywhy.types import Example, Span

from .stubs import align, make_bench, marked, pair_bench, score_words, select_words

TEXT = "a b c d e f g h i j"
SELECTING = [TokenPrecision, TokenRecall, TokenF1, IouF1]
RANKING = [Auprc, Auroc, Truth]


def _score(metric, examples, explanations):
    return metric.score(make_bench(examples).trial("m", explanations))


def test_macro_and_micro_by_hand():
    examples = [marked(TEXT, [(0, 2)]), marked(TEXT, [(0, 8)])]
    why = [select_words(examples[0], [0, 5]), select_words(examples[1], [0, 1, 2, 9])]
    # hits, selected, gold: (1, 2, 2) and (3, 4, 8)
    got = {(m, a): _score(m(average=a), examples, why).value for m in SELECTING[:3] for a in ("macro", "micro")}
    assert got[TokenPrecision, "macro"] == pytest.approx((1 / 2 + 3 / 4) / 2)
    assert got[TokenRecall, "macro"] == pytest.approx((1 / 2 + 3 / 8) / 2)
    assert got[TokenF1, "macro"] == pytest.approx((1 / 2 + 1 / 2) / 2)
    assert got[TokenPrecision, "micro"] == pytest.approx(4 / 6)
    assert got[TokenRecall, "micro"] == pytest.approx(4 / 10)
    assert got[TokenF1, "micro"] == pytest.approx(2 * 4 / 16)


def test_micro_interval_resamples_counts_not_values():
    examples = [marked(TEXT, [(0, k)]) for k in (1, 2, 5, 8)]
    why = [select_words(e, chosen) for e, chosen in zip(examples, ([0], [5], [0, 1, 9], range(6)), strict=True)]
    counts = np.array([[1, 1, 1], [0, 1, 2], [2, 3, 5], [6, 6, 8]], dtype=float)
    got = _score(TokenRecall(average="micro", samples=500), examples, why)
    means = resampled_means(counts, samples=500, seed=0)
    expected = np.quantile(means[:, 0] / means[:, 2], [0.025, 0.975])
    assert got.value == pytest.approx(9 / 16)
    assert [got.low, got.high] == pytest.approx(expected.tolist())
    assert got.values == pytest.approx([1.0, 0.0, 0.4, 0.75])


def test_scores_select_their_top_share():
    example = marked(TEXT, [(2, 4)])
    why = score_words(example, [0, 0, 9, 8, 7, 0, 0, 0, 0, 0])
    assert _score(TokenPrecision(top=0.2), [example], [why]).value == 1.0
    assert _score(TokenPrecision(top=0.3), [example], [why]).value == pytest.approx(2 / 3)
    assert _score(TokenRecall(top=0.1), [example], [why]).value == 0.5
    assert _score(TokenRecall(top=0.15, rounding="floor"), [example], [why]).value == 0.5
    assert _score(TokenRecall(top=0.15), [example], [why]).value == 1.0


def test_a_rationale_keeps_its_own_selection_whatever_its_scores():
    example = marked(TEXT, [(2, 4)])
    why = select_words(example, [2, 3], scores=[9, 8, 0, 0, 0, 0, 0, 0, 0, 0])
    assert _score(TokenF1(), [example], [why]).value == 1.0
    # Its scores are what rankings are made of.
    assert _score(Auroc(), [example], [why]).value < 0.5


def test_rankings_of_a_rationale_without_scores_use_the_selection():
    example = marked(TEXT, [(2, 4)])
    assert _score(Auroc(), [example], [select_words(example, [2, 3])]).value == 1.0


@pytest.mark.parametrize("metric", SELECTING)
def test_nothing_selected_is_zero(metric):
    example = marked(TEXT, [(2, 4)])
    for average in metric.averages:
        result = _score(metric(average=average), [example], [select_words(example, [])])
        assert (result.value, result.low, result.high) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize("metric", SELECTING)
def test_everything_selected_and_everything_gold(metric):
    example = marked("a b c", [(0, 3)])
    assert _score(metric(), [example], [select_words(example, [0, 1, 2])]).value == 1.0


def test_iou_macro_is_f1_of_means_and_skips_the_precision_of_empty_selections():
    examples = [marked(TEXT, [(0, 2)]), marked(TEXT, [(0, 2), (4, 6)]), marked(TEXT, [(0, 1)])]
    why = [select_words(examples[0], [0, 1, 5]), select_words(examples[1], [4, 5]), select_words(examples[2], [])]
    # precisions 1/2, 1, none; recalls 1, 1/2, 0
    p, r = 0.75, 0.5
    assert _score(IouF1(), examples, why).value == pytest.approx(2 * p * r / (p + r))
    assert _score(IouF1(average="micro"), examples, why).value == pytest.approx(2 * 2 / (3 + 4))
    instance = _score(IouF1(average="instance"), examples, why)
    assert instance.value == pytest.approx((2 / 3 + 2 / 3 + 0) / 3)
    assert instance.values == pytest.approx([2 / 3, 2 / 3, 0])


def test_phrases_do_not_cross_texts():
    example = Example(("a b", "c d"), rationales=((Span(0, 2, 3), Span(1, 0, 1)),))
    result = _score(IouF1(threshold=1.0), [example], [select_words(example, [1, 2])])
    assert result.value == 1.0


def test_gold_phrases_are_those_that_were_marked():
    # Two phrases side by side stay two, unlike a run of words.
    example = marked(TEXT, [(0, 2), (2, 4)])
    assert _score(IouF1(threshold=1.0), [example], [select_words(example, [0, 1])]).value == pytest.approx(2 / 3)


def test_joint_phrases_do_not_cross_texts():
    example = Example(("a b", "c d"), rationales=((Span(0, 2, 3),), (Span(1, 0, 1),)))
    assert _score(IouF1(threshold=1.0), [example], [select_words(example, [1])]).value == pytest.approx(2 / 3)


def test_annotators():
    # One marked words 1 to 4, one word 0, one words 0 and 1.
    example = marked(TEXT, [(1, 5)], [(0, 1)], [(0, 2)])
    why = select_words(example, [0, 1])
    recall = {a: _score(TokenRecall(annotators=a), [example], [why]).value for a in ("union", "majority", "best")}
    assert recall == {"union": pytest.approx(2 / 5), "majority": 1.0, "best": 1.0}
    union = select_words(example, range(5))
    assert _score(IouF1(threshold=1.0), [example], [union]).value == 1.0
    assert _score(IouF1(threshold=1.0, annotators="best"), [example], [union]).value == 0.0
    scores = score_words(example, [0, 9, 9, 9, 9, 0, 0, 0, 0, 0])
    assert _score(Auprc(annotators="best"), [example], [scores]).value == 1.0
    assert _score(Auprc(annotators="union"), [example], [scores]).value < 1.0


def test_majority_is_more_than_half():
    example = marked(TEXT, [(0, 1)], [(0, 3)])
    assert _score(TokenRecall(annotators="majority"), [example], [select_words(example, [0])]).value == 1.0


def test_majority_of_nobody_leaves_the_example_out():
    torn, agreed = marked(TEXT, [(0, 1)], [(2, 3)]), marked(TEXT, [(0, 1)], [(0, 1)])
    result = _score(
        TokenF1(annotators="majority"), [torn, agreed], [select_words(torn, [5]), select_words(agreed, [0])]
    )
    assert (result.value, result.n, len(result.values)) == (1.0, 1, 1)
    assert any("1 of 2" in note for note in result.notes)


@pytest.mark.parametrize("metric", [*SELECTING, *RANKING])
def test_examples_without_gold_are_left_out_and_counted(metric):
    gold = marked(TEXT, [(2, 4)], truth=True)
    silent = marked(TEXT, [], truth=True)
    plain = Example((TEXT,))
    why = [score_words(gold, range(10, 0, -1)) for _ in range(3)]
    alone = _score(metric(), [gold], why[:1])
    mixed = _score(metric(), [plain, gold, silent], why)
    assert mixed.value == alone.value
    assert mixed.n == 1
    assert any("2 of 3" in note for note in mixed.notes)


@pytest.mark.parametrize("metric", [*SELECTING, *RANKING])
def test_no_gold_anywhere_is_an_error_that_says_so(metric):
    for example in (Example((TEXT,), truth=True), marked(TEXT, [])):
        with pytest.raises(DataError, match=rf"{metric.name} needs examples with .* none of the 1"):
            _score(metric(), [example], [score_words(example, range(10))])
        with pytest.raises(DataError, match=metric.name):
            metric().check(make_bench([example]))


def test_truth_counts_planted_examples_only():
    planted, judged = marked(TEXT, [(0, 1)], truth=True), marked(TEXT, [(9, 10)])
    why = [score_words(planted, range(10, 0, -1)), score_words(judged, range(10, 0, -1))]
    assert _score(Truth(), [planted, judged], why).value == 1.0
    assert _score(Auprc(), [planted, judged], why).value < 0.7
    with pytest.raises(DataError, match="planted reasons"):
        _score(Truth(), [judged], why[1:])


def test_truth_gives_nothing_to_scores_that_say_nothing():
    example = marked(TEXT, [(3, 4)], truth=True)
    flat = [score_words(example, [0.0] * 10)]
    assert _score(Truth(), [example], flat).value == pytest.approx(0.1)
    assert _score(Truth(variant="eraser"), [example], flat).value == pytest.approx(0.55)


def test_text_that_is_gold_altogether():
    example = marked("a b c", [(0, 3)])
    why = [score_words(example, [1, 2, 3])]
    assert _score(Auprc(), [example], why).value == 1.0
    for metric in (Auroc(), Auprc(variant="average-precision")):
        with pytest.raises(DataError, match="none of the 1"):
            _score(metric, [example], why)


@pytest.mark.parametrize("metric", [Auroc(annotators="best"), Auprc(variant="average-precision", annotators="best")])
def test_an_annotator_who_marked_everything_is_not_the_best_one(metric):
    example = marked("a b c", [(0, 3)], [(0, 1)])
    assert _score(metric, [example], [score_words(example, [1, 2, 3])]).value < 0.5


def test_constant_scores():
    example = marked("a b c d", [(0, 1)])
    why = [score_words(example, [0.5] * 4)]
    assert _score(Auroc(), [example], why).value == 0.5
    assert _score(Auprc(variant="average-precision"), [example], why).value == 0.25
    # Ties are broken by position, so the first word is the one that is selected.
    assert _score(TokenF1(top=0.25), [example], why).value == 1.0


@pytest.mark.parametrize("metric", [TokenF1, IouF1, Auprc, Auroc])
def test_nan_is_an_error(metric):
    example = marked("a b", [(0, 1)])
    with pytest.raises(InputError, match="'b' is nan"):
        _score(metric(), [example], [score_words(example, [1, float("nan")])])


def test_order_of_examples_does_not_matter():
    examples = [marked(TEXT, [(i, i + 2)]) for i in range(5)]
    rng = np.random.default_rng(0)
    why = [score_words(e, rng.random(10)) for e in examples]
    for metric in (TokenF1(), TokenF1(average="micro"), IouF1(), Auprc(), Auroc()):
        assert _score(metric, examples, why).value == pytest.approx(_score(metric, examples[::-1], why[::-1]).value)


@pytest.mark.parametrize(
    ("metric", "options"),
    [
        (TokenF1, {"average": "weighted"}),
        (TokenF1, {"average": "instance"}),
        (TokenF1, {"top": 0}),
        (TokenF1, {"rounding": "up"}),
        (IouF1, {"threshold": 0}),
        (IouF1, {"annotators": "all"}),
        (Auprc, {"variant": "sklearn"}),
    ],
)
def test_options_are_checked(metric, options):
    with pytest.raises(OptionError, match=f"{metric.name}: {next(iter(options))}"):
        metric(**options)


def test_gold_alignments_are_the_pairs_of_words_inside_their_spans():
    # "red car" goes with "red", and "old" with "new": two cells and one.
    example = Example(
        ("old red car", "new red bus"),
        alignments=((Span(0, 4, 11), Span(1, 4, 7)), (Span(0, 0, 3), Span(1, 0, 3))),
        truth=True,
    )
    bench = pair_bench([example, Example(("a", "b"))])
    gold = np.array([[1, 0, 0], [0, 1, 0], [0, 1, 0]])
    for table, truth, recall in ((gold, 1.0, 1.0), (1 - gold, None, 0.0)):
        trial = bench.trial("m", [align(example, table), align(bench.examples[1], [[0.0]])])
        got = Truth().score(trial)
        assert got.n == 1
        assert got.value == (pytest.approx(truth) if truth else pytest.approx(3 / 9))
        assert TokenRecall(top=3 / 9).score(trial).value == recall
        assert Auroc().score(trial).value == recall
