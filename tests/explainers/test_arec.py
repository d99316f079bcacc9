from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import saywhy
from saywhy.errors import CapabilityError, OptionError
from saywhy.explainers.alignments import Pairs, selected_alignments
from saywhy.models import TextModel
from saywhy.models.alignment_space import AlignmentSpace
from saywhy.types import Alignments, Example, explanation_from_dict
from tests import zoo

PAIRS = [zoo.PAIR, ("Dull film", "It isn't great."), ("Film", "Car")]
KINDS = [*zoo.CO_ATTENTION, "bert"]
FAST: dict[str, Any] = {"steps": 40, "samples": 4, "lambda": 0.01}


def explain(model: TextModel, inputs: Any, **options: Any) -> Any:
    return saywhy.explain(model, inputs, "arec", **{**FAST, **options})


@pytest.mark.parametrize("kind", KINDS)
def test_many_at_once_is_one_at_a_time(kind: str) -> None:
    model = zoo.pair_classifier(kind)
    alone = [explain(model, pair, steps=20) for pair in PAIRS]
    for batch_size in (4, 32):
        together = explain(model, PAIRS, steps=20, batch_size=batch_size)
        for why, other in zip(together, alone, strict=True):
            np.testing.assert_allclose(why.scores, other.scores, atol=2e-3)
            assert why.selected == other.selected
            assert why.fidelity == pytest.approx(other.fidelity, abs=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_what_an_explanation_says(kind: str) -> None:
    model = zoo.pair_classifier(kind)
    why = explain(model, PAIRS[0])
    space = AlignmentSpace(model, [Example(PAIRS[0])])
    selected, scores = np.asarray(why.selected), np.asarray(why.scores)
    assert selected.shape == scores.shape == space.shape(0)
    assert (selected == (scores > 0.5)).all()
    assert 0 < scores.min() < scores.max() < 1
    masks = np.stack([np.ones(selected.size), selected.reshape(-1), np.zeros(selected.size)])
    whole, alone, none = space.outputs(np.zeros(3, dtype=int), masks)
    assert why.fidelity == pytest.approx(float((whole - alone).norm()), abs=1e-4)
    assert why.empty == pytest.approx(float((whole - none).norm()), abs=1e-4)
    assert why.kept == (int(alone.argmax()) == int(whole.argmax()))
    covered = np.zeros(selected.shape, dtype=int)
    for (first, second, score), (top, bottom, left, right) in zip(why.phrases, why.boxes, strict=True):
        covered[top : bottom + 1, left : right + 1] += 1
        assert PAIRS[0][0][why.premise[top].start : why.premise[bottom].end] == first
        assert PAIRS[0][1][why.hypothesis[left].start : why.hypothesis[right].end] == second
        assert score == pytest.approx(scores[top : bottom + 1, left : right + 1].mean())
    assert (covered == selected).all()
    assert why.header.space == "alignments"
    assert why.header.parameters["lambda"] == 0.01
    assert why.cost["gradients"] == 40 * 4
    assert why.verdict.features == tuple(
        sorted(np.flatnonzero(selected.reshape(-1)).tolist(), key=lambda i: -scores.reshape(-1)[i])
    )
    assert explanation_from_dict(why.to_dict()) == why


def test_nothing_costs_everything_is_kept_and_lambda_makes_it_small() -> None:
    model = zoo.pair_classifier("bert")
    free = explain(model, PAIRS[0], steps=80, samples=8, **{"lambda": 0.0})
    dear = explain(model, PAIRS[0], steps=80, samples=8, **{"lambda": 10.0})
    assert np.mean(free.selected) > 0.3
    assert free.fidelity < 0.5 * free.empty
    assert np.mean(dear.selected) == 0
    assert dear.fidelity == pytest.approx(dear.empty)


def test_a_whole_mask_is_the_model_itself() -> None:
    model = zoo.pair_classifier("bert")
    space = AlignmentSpace(model, [Example(pair) for pair in PAIRS])
    with model.evaluation() as network:
        pairs = Pairs(space, network, range(3))
        torch.testing.assert_close(pairs.whole, model.scores(space.encoded), atol=1e-5, rtol=1e-5)
        found = pairs.judge(0, torch.ones(6, 6, dtype=torch.bool), torch.ones(6, 6))
    assert found.fidelity == pytest.approx(0, abs=1e-4)


def test_pairs_that_are_done_leave_and_the_others_are_not_disturbed() -> None:
    model = zoo.pair_classifier("decomposable-attention")
    patient = explain(model, PAIRS, steps=200, patience=20)
    alone = [explain(model, pair, steps=200, patience=20) for pair in PAIRS]
    steps = [why.cost["gradients"] // 4 for why in patient]
    assert steps == [why.cost["gradients"] // 4 for why in alone]
    assert min(steps) < max(steps) <= 200
    for why, other in zip(patient, alone, strict=True):
        assert why.selected == other.selected
    every = explain(model, PAIRS, steps=60, patience=None)
    assert {why.cost["gradients"] // 4 for why in every} == {60}


def test_the_seed_decides() -> None:
    model = zoo.pair_classifier("decomposable-attention")
    one, again, other = (explain(model, PAIRS[0], seed=seed) for seed in (1, 1, 2))
    assert one == again
    assert one.scores != other.scores


@pytest.mark.filterwarnings("ignore::saywhy.errors.SayWhyWarning")
def test_windows_of_a_long_pair_share_their_cells() -> None:
    model = zoo.pair_classifier("bert")
    long = (" ".join(zoo.TEXTS * 3), "A film")
    why = explain(model, [long, PAIRS[0]], truncation="window", steps=12)
    assert len(why[0].scores) == len(model.words(long)) - 2
    np.testing.assert_allclose(why[1].scores, explain(model, PAIRS[0], steps=12).scores, atol=2e-3)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"steps": 0}, "steps must be at least 1"),
        ({"samples": 0}, "samples must be at least 1"),
        ({"patience": 0}, "patience must be at least 1"),
        ({"lambda": -1.0}, "lambda must be at least 0"),
        ({"learning-rate": 0.0}, "learning-rate must be above 0"),
        ({"lamda": 1.0}, "has no option 'lamda'; its options: lambda, learning-rate"),
    ],
)
def test_mistakes(options: dict[str, Any], words: str) -> None:
    with pytest.raises(OptionError, match=words):
        saywhy.explain(zoo.pair_classifier(), PAIRS[0], "arec", **options)


def test_models_without_alignments() -> None:
    box = saywhy.load(lambda pairs: [[0.5, 0.5]] * len(pairs), labels=["a", "b"], task="pair")
    with pytest.raises(CapabilityError, match="method 'arec' needs gradients and alignments of the model"):
        saywhy.explain(box, PAIRS[0], "arec")
    with pytest.raises(CapabilityError, match="'arec' needs alignments of the model"):
        saywhy.explain(zoo.shared(), "A film", "arec")


def test_rationales_from_scores() -> None:
    why = saywhy.explain(zoo.pair_classifier(), PAIRS[2], "leave-one-out", space="alignments")
    assert isinstance(why, Alignments)
    chosen = selected_alignments(why, np.ones((1, 1), dtype=bool), kept=True)
    assert chosen.phrases == (("Film", "Car", why.scores[0][0]),)
    assert chosen.boxes == ((0, 0, 0, 0),)
    assert chosen.kept
