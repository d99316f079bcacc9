"""Metrics that look inside a network, and how many words count."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from scipy.stats import spearmanr

import saywhy
from saywhy.errors import CapabilityError, DataError, OptionError
from saywhy.metrics import Consistency, ImportantTokens, Simulatability, Workbench, evaluate, source
from saywhy.metrics.consistency import _batches, _states
from saywhy.objectives import train
from saywhy.ops.gains import average_relative_gain
from saywhy.types import Example
from tests import zoo
from tests.objectives.test_training import SMALL, reviews

TEXTS = [*zoo.LINES, *zoo.TEXTS]
EXAMPLES = [Example((text,)) for text in TEXTS]


def trial(model: Any, examples: list[Example], method: str = "gradient") -> Any:
    bench = Workbench(model, examples, truncation="head")
    return bench.trial(method, saywhy.explain(model, examples, method, truncation="head"))


# -- important tokens -------------------------------------------------------------------------------------------------


def test_important_tokens_by_hand() -> None:
    model = zoo.shared()
    given = trial(model, EXAMPLES[:1])
    why = given.explanations[0]
    scores = (0.0, 1.0, 0.55, *(0.15,) * (len(why.scores) - 3))
    made = ImportantTokens().score(replace(given, explanations=(replace(why, scores=scores),)))
    n = len(scores)
    expected = {z: sum(s > z for s in scores) / n * 100 for z in (0.1, 0.2, 0.5, 0.6, 0.9)}
    for z, share in expected.items():
        assert made.bins[f"{z:g}"] == pytest.approx(share)
    assert made.value == pytest.approx(np.mean(list(made.bins.values())))
    flat = ImportantTokens().score(replace(given, explanations=(replace(why, scores=(0.3,) * n),)))
    assert flat.value == 0
    shifted = tuple(7 - 3 * s for s in scores)  # neither the unit nor the zero of scores matters, their direction does
    assert ImportantTokens().score(replace(given, explanations=(replace(why, scores=shifted),))).value > made.value
    scaled = tuple(7 + 3 * s for s in scores)
    again = ImportantTokens().score(replace(given, explanations=(replace(why, scores=scaled),)))
    assert again.value == pytest.approx(made.value)
    with pytest.raises(OptionError, match="thresholds"):
        ImportantTokens(thresholds=(1.0,))


# -- consistency ------------------------------------------------------------------------------------------------------


def test_consistency_over_words_is_scipys() -> None:
    given = trial(zoo.shared(), EXAMPLES[:3])
    states = _states(given.bench.model, EXAMPLES[:3], "head")
    shares = [np.abs(why.scores) / np.abs(why.scores).sum() for why in given.explanations]
    found: dict[int, list[float]] = {0: [], 1: [], 2: []}
    for i, j in ((0, 1), (0, 2), (1, 2)):
        n = min(len(shares[i]), len(shares[j]))
        apart = np.linalg.norm(states[i][:n] - states[j][:n], axis=1)
        rho = spearmanr(apart, np.abs(shares[i][:n] - shares[j][:n])).statistic
        found[i].append(rho)
        found[j].append(rho)
    made = Consistency().score(given)
    np.testing.assert_allclose(made.values, [np.mean(found[i]) for i in range(3)], atol=1e-9)
    json.dumps(made.to_dict(), allow_nan=False)
    assert Consistency().score(given) == made


def test_consistency_over_pairs_is_scipys() -> None:
    given = trial(zoo.shared(), EXAMPLES[:6])
    means = np.stack([s.mean(0) for s in _states(given.bench.model, EXAMPLES[:6], "head")])
    shares = np.zeros((6, 40))
    for i, why in enumerate(given.explanations):
        shares[i, : len(why.scores)] = np.abs(why.scores) / np.abs(why.scores).sum()
    made = Consistency(reading="pairs").score(given)
    for i in range(6):
        rest = [j for j in range(6) if j != i]
        expected = spearmanr(
            np.linalg.norm(means[rest] - means[i], axis=1), np.linalg.norm(shares[rest] - shares[i], axis=1)
        ).statistic
        assert made.values[i] == pytest.approx(expected)


def test_words_have_the_hidden_states_of_their_pieces() -> None:
    model = zoo.shared()
    (item,) = model.encode(EXAMPLES[:1])
    with torch.no_grad():
        out = model.module.base_model(**model.task.collate([item]).inputs, output_hidden_states=True)  # type: ignore[operator]
    states = torch.stack(out.hidden_states[1:]).mean(0)[0]
    (made,) = _states(model, EXAMPLES[:1], "head")
    pieces = item.rows[0].pieces
    for word in range(len(item.words)):
        own = states[pieces.piece[pieces.word == word]].mean(0)
        np.testing.assert_allclose(made[word], own.numpy(), atol=1e-5)


@pytest.mark.parametrize("reading", ["tokens", "pairs"])
@pytest.mark.parametrize("limits", [{"_BLOCK_TEXTS": 3}, {"_BLOCK_WORDS": 40}])
def test_blocks_do_not_change_who_is_compared(
    reading: str, limits: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    metric = Consistency(reading=reading, batch=5)
    given = [Example((text,)) for text in TEXTS if text != "Dull"] * 2
    whole = evaluate(zoo.shared(), given, ["gradient"], metric)
    for name, size in limits.items():
        monkeypatch.setattr(source, name, size)
    assert evaluate(zoo.shared(), given, ["gradient"], metric) == whole
    assert whole.results[0] == metric.score(trial(zoo.shared(), given))


def test_few_texts_at_the_end_are_compared_with_the_last_batch() -> None:
    texts = [text for text in TEXTS if text != "Dull"]
    for reading in ("tokens", "pairs"):
        for n in (5, 6, 7):
            given = trial(zoo.shared(), [Example((text,)) for text in texts[:n]])
            split, whole = (Consistency(reading=reading, batch=size).score(given) for size in (4, 32))
            assert split == replace(whole, variant=split.variant)
            assert split.n == n
    sizes = {(n, size): [len(numbers) for numbers in _batches(n, size)] for n, size in ((100, 32), (67, 32), (5, 2))}
    assert sizes == {(100, 32): [32, 32, 32, 4], (67, 32): [32, 35], (5, 2): [2, 3]}


def test_what_consistency_cannot_do() -> None:
    with pytest.raises(OptionError, match="reading must be one of"):
        Consistency(reading="words")
    with pytest.raises(OptionError, match="batch must be at least 2"):
        Consistency(batch=1)
    with pytest.raises(DataError, match="too few or short"):
        Consistency().score(trial(zoo.shared(), EXAMPLES[:1]))
    box = saywhy.load(lambda ts: [[0.5, 0.5]] * len(ts), labels=["a", "b"])
    for metric in ("consistency", "simulatability"):
        with pytest.raises(CapabilityError, match="looks inside the network"):
            evaluate(box, EXAMPLES, ["random"], metric)


# -- simulatability ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("maker", "examples"),
    [
        (zoo.shared, EXAMPLES),
        (zoo.shared_reader, [Example(texts) for texts in zoo.CONTEXTS * 2]),
        (zoo.shared_chooser, [Example((q["question"],), choices=tuple(q["choices"])) for q in zoo.QUESTIONS * 2]),
    ],
)
def test_a_copy_that_learns_nothing_agrees(maker: Any, examples: list[Example]) -> None:
    made = Simulatability(student="copy", epochs=0).score(trial(maker(), examples, "random"))
    assert made.value == 1
    assert made.n == len(examples) // 2
    taught = Simulatability(epochs=1, size=4).score(trial(maker(), examples, "random"))
    assert 0 <= taught.value <= 1


@pytest.mark.slow
def test_students_learn_and_explanations_reach_them() -> None:
    model = train("plain", reviews(60), "text-transformer", epochs=12, learning_rate=1e-2, model_options=SMALL)
    examples = [Example(e.texts) for e in reviews(60)]
    weights = {n: p.clone() for n, p in model.module.named_parameters()}
    options: dict[str, Any] = {"learning_rate": 3e-3, "epochs": 6}
    table = evaluate(model, examples, ["leave-one-out", "random"], Simulatability(**options))
    first = table["leave-one-out", "simulatability"]
    assert first.value > 0.9
    assert first.n == 30
    assert "30 examples" in first.notes[0]
    assert all(torch.equal(p, weights[n]) for n, p in model.module.named_parameters())
    assert evaluate(model, examples, ["leave-one-out"], Simulatability(**options)).results[0] == first
    with pytest.raises(DataError, match="to learn from"):
        Simulatability().score(trial(model, examples[:1]))
    with pytest.raises(OptionError, match="train must lie"):
        Simulatability(train=1.0)


def test_average_relative_gain() -> None:
    assert average_relative_gain([1.1, 0.9], [1.0, 1.0]) == pytest.approx(0)
    assert average_relative_gain([0.2], [-0.1]) == pytest.approx(3)
    assert average_relative_gain([0.2, 0.2], [0.4, 0.4], [False, False]) == pytest.approx(0.5)
    for scores, reference in (([1.0], [0.0]), ([1.0], [1.0, 2.0]), ([], [])):
        with pytest.raises(ValueError, match="reference"):
            average_relative_gain(scores, reference)
