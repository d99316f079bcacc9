"""Words that the model does not read, because a text is too long for it, are neither ranked nor selected."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import saywhy
from saywhy.metrics import (
    AttackSuccess,
    Auprc,
    Auroc,
    Compactness,
    Comprehensiveness,
    Consistency,
    ImportantTokens,
    LooCorrelation,
    Sufficiency,
    TokenF1,
    Workbench,
)
from saywhy.metrics.selection import free_of, ranking_of, selected_features
from saywhy.types import Alignments, Example, Span, WordScores
from tests import zoo

LONG = " ".join(zoo.TEXTS * 6)

pytestmark = pytest.mark.filterwarnings("ignore::saywhy.errors.SayWhyWarning")


def trial(example: Example, method: str = "gradient", scores: Any = None, model: Any = None, **options: Any) -> Any:
    model = model or zoo.shared()
    bench = Workbench(model, [example], truncation="head")
    why: Any = saywhy.explain(model, example, method, truncation="head", verdict=False, **options)
    if scores is not None:
        why = replace(why, scores=tuple(scores))
    return bench.trial(method, [why])


def read_part(example: Example) -> tuple[Example, int]:
    """The example without the words behind the cut, and how many are left."""
    (item,) = zoo.shared().encode([example], "head")
    assert item.notes
    left = [word for word, seen in zip(item.words, item.read(), strict=True) if seen]
    return replace(example, texts=(example.texts[0][: left[-1].end],)), len(left)


def test_what_is_read() -> None:
    model = zoo.shared()
    (item, short), size = (
        model.encode([Example((LONG,)), Example((zoo.TEXTS[0],))], "head"),
        read_part(Example((LONG,)))[1],
    )
    assert item.read().tolist() == [True] * size + [False] * (len(item.words) - size)
    assert short.read().all()
    (windows,) = model.encode([Example((LONG,))], "window")
    assert windows.read().all()


@pytest.mark.parametrize("method", ["gradient", "input-x-gradient", "random"])
def test_a_cut_text_measures_as_the_part_that_is_read(method: str) -> None:
    example = Example((LONG,))
    part, size = read_part(example)
    whole = trial(example, method)
    # The same scores on the words of the text that ends where the reading does.
    short = trial(part, method, whole.explanations[0].scores[:size])
    assert len(whole.explanations[0].words) > size
    for metric in (
        Comprehensiveness(),
        Sufficiency(),
        Sufficiency(score="normalised"),
        ImportantTokens(),
        Compactness(top=0.5),
        LooCorrelation(),
    ):
        assert metric.score(whole).value == pytest.approx(metric.score(short).value, abs=1e-6), metric.name


def test_shares_are_of_the_words_that_are_read() -> None:
    given = trial(Example((LONG,)), "random")
    size = int(free_of(given, 0).sum())
    assert 0 < size < len(given.explanations[0].words)
    half = selected_features(given, 0, 0.5, "ceil")
    assert half.sum() == int(np.ceil(size / 2))
    assert not half[size:].any()
    # Scores below 0 do not let unread words, which have 0, come first.
    below = replace(given.explanations[0], scores=(-1.0,) * size + (0.0,) * (len(half) - size))
    assert not ranking_of(replace(given, explanations=(below,)), 0).first(3)[size:].any()


def test_word_pairs_with_an_unread_word() -> None:
    example = Example(("Dull film", LONG))
    given = trial(example, "random", model=zoo.pair_classifier(), space="alignments")
    given.bench.space = "alignments"
    why = given.explanations[0]
    assert isinstance(why, Alignments)
    table = free_of(given, 0).reshape(len(why.premise), len(why.hypothesis))
    assert table.any(axis=1).all()
    assert not table[:, -1].any()
    assert (np.asarray(why.scores)[~table] == 0).all()


def test_random_keeps_its_scores_where_words_are_read() -> None:
    model = zoo.shared()
    with_cut: Any = saywhy.explain(model, LONG, "random", truncation="head", verdict=False)
    in_windows: Any = saywhy.explain(model, LONG, "random", truncation="window", verdict=False)
    size = read_part(Example((LONG,)))[1]
    assert with_cut.scores[:size] == in_windows.scores[:size]
    assert set(with_cut.scores[size:]) == {0.0}


def test_order_metrics_ask_about_the_words_that_are_read() -> None:
    whole = zoo.shared().words(LONG)
    size = read_part(Example((LONG,)))[1]
    early, late = whole[1], whole[-1]
    marked = Example((LONG,), rationales=((Span(0, early.start, early.end), Span(0, late.start, late.end)),))
    scores = np.where(np.arange(len(whole)) < size, -1.0, 0.0)
    scores[1] = -0.5  # the best of the words that are read, below the zeros of the others
    given = trial(marked, scores=scores)
    assert Auroc().score(given).value == 1.0
    assert Auprc().score(given).value == 1.0
    # A selection misses what was marked behind the cut.
    found = TokenF1(top=1 / size).score(given).value
    assert found == pytest.approx(2 * 1.0 * 0.5 / 1.5)
    unseen = Example((LONG,), rationales=((Span(0, late.start, late.end),),))
    both = Workbench(zoo.shared(), [marked, unseen], truncation="head")
    why = given.explanations[0]
    made = Auroc().score(both.trial("hand", [why, why]))
    assert made.value == 1.0
    assert "1 of 2 examples have no usable gold" in made.notes[0]


def test_consistency_leaves_unread_words_out() -> None:
    model = zoo.shared()
    examples = [Example((LONG,)), Example((LONG[10:],)), Example((LONG[25:],))]
    bench = Workbench(model, examples, truncation="head")
    made: Any = saywhy.explain(model, examples, "gradient", truncation="head", verdict=False)
    shares = [Consistency().score(bench.trial("gradient", made)).value]
    noise = np.random.default_rng(0)
    changed = []
    for why, read in zip(made, bench.read, strict=True):
        assert isinstance(why, WordScores)
        scores = np.where(read, why.scores, noise.normal(size=len(why.scores)))
        changed.append(replace(why, scores=tuple(scores.tolist())))
    shares.append(Consistency().score(bench.trial("gradient", changed)).value)
    assert shares[0] == pytest.approx(shares[1])


def test_nothing_changes_for_black_boxes_and_texts_that_fit() -> None:
    box = saywhy.load(lambda texts: [[0.5, 0.5]] * len(texts), labels=["a", "b"])
    assert Workbench(box, [Example((LONG,))], truncation="head").read == [None]
    assert Workbench(zoo.shared(), [Example((zoo.TEXTS[0],))], truncation="head").read == [None]


@pytest.mark.parametrize(
    ("text", "truncation", "least", "most"),
    [
        ("film " * 200 + "It is not so. " * 5, "head", 0, 0),
        ("It is not so. " + "film " * 200 + "It is not so. " * 5, "head", 1, 4),
        ("film " * 200 + "It is not so. " * 5, "window", 5, 100),
    ],
)
def test_an_attack_changes_only_what_is_read(text: str, truncation: str, least: int, most: int) -> None:
    model = zoo.shared()
    said = model.predict(text, truncation=truncation)[0].label
    bench = Workbench(model, [Example((text,), label=said)], truncation=truncation)
    assert least <= AttackSuccess().score(bench.trial()).bins["queries"] <= most
