from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import saywhy
from saywhy.errors import CapabilityError, SayWhyWarning
from saywhy.explainers.alignments import Pairs
from saywhy.loop import OptimiserSettings, Step
from saywhy.models.alignment_space import AlignmentSpace
from saywhy.models.attention_module import attach
from saywhy.models.diffmask import DiffMaskGates
from saywhy.objectives.diffmask import DiffMask as Objective
from saywhy.types import Example
from tests import zoo

KINDS = [*zoo.CO_ATTENTION, "bert"]
PAIRS = [zoo.PAIR, ("Dull film", "It isn't great.")]


def gated(kind: str) -> Any:
    model = zoo.pair_classifier(kind)
    torch.manual_seed(0)
    attach(model.module, DiffMaskGates(model.module.get_input_embeddings().weight.shape[1], 8))  # type: ignore[operator]
    return model


def by_hand(model: Any, premise: str, hypothesis: str) -> float:
    """The score of two words that each stand by themselves."""
    table, gates = model.module.get_input_embeddings(), model.module.diffmask

    def vector(word: str) -> Any:
        return table(torch.tensor(model.tokenizer(word, add_special_tokens=False)["input_ids"])).mean(0)

    with torch.no_grad():
        a, b = vector(premise), vector(hypothesis)
        return float(gates.layers(torch.cat([a, b, a - b, a * b])).sigmoid())


@pytest.mark.parametrize("kind", KINDS)
def test_gates_are_read_off_the_words_input_vectors(kind: str) -> None:
    model = gated(kind)
    pair = ("It isn't great", "dull film")
    together: Any = saywhy.explain(model, [*PAIRS, pair], "diffmask")
    alone: Any = saywhy.explain(model, pair, "diffmask")
    np.testing.assert_allclose(together[-1].scores, alone.scores, atol=1e-5)
    for i, p in enumerate(("It", "isn't", "great")):
        for j, h in enumerate(("dull", "film")):
            assert alone.scores[i][j] == pytest.approx(by_hand(model, p, h), abs=1e-5)
    assert (np.asarray(alone.selected) == (np.asarray(alone.scores) > 0.5)).all()
    space = AlignmentSpace(model, [Example(pair)])
    with model.evaluation() as network:
        found = Pairs(space, network, [0]).judge(0, torch.tensor(alone.selected), torch.tensor(alone.scores))
    assert alone.fidelity == pytest.approx(found.fidelity, abs=1e-5)


def test_words_of_every_window_have_their_vectors() -> None:
    beside: Any
    long: Any
    model = gated("bert")
    short = "dull film"
    words = [*["lovely", "score", "film", "dull", "great", "store"] * 12, "sleep"]
    with pytest.warns(SayWhyWarning, match="windows"):
        beside, long = saywhy.explain(
            model, [PAIRS[0], (" ".join(words), short)], "diffmask", truncation="window", batch_size=512
        )
    np.testing.assert_allclose(beside.scores, saywhy.explain(model, PAIRS[0], "diffmask").scores, atol=1e-5)
    assert len(long.scores) == len(words)
    for i, word in enumerate(words):
        for j, other in enumerate(short.split()):
            assert long.scores[i][j] == pytest.approx(by_hand(model, word, other), abs=1e-5), (i, word)


@pytest.mark.parametrize("kind", KINDS)
def test_the_explained_network_needs_no_gradients(kind: str) -> None:
    model = zoo.pair_classifier(kind)
    kept = model.module.get_input_embeddings().weight.requires_grad_(False)  # type: ignore[operator]
    others = list(model.module.parameters())
    objective = Objective(model, OptimiserSettings(), samples=2)
    items = objective.items([Example(pair, zoo.LABELS[0]) for pair in PAIRS], "error")
    slopes = {}
    for training in (False, True):  # with the network free, as before, and as the loop trains
        objective.train_mode(training)
        (phase,) = objective.phases(objective.collate(items), Step(index=0, total=1, epoch=0, seed=0))
        model.module.zero_grad()
        phase.loss().backward()  # type: ignore[union-attr]
        slopes[training] = [p.grad.clone() for p in objective.players["gates"].parameters() if p.grad is not None]
    assert all(p.grad is None for p in others)
    torch.testing.assert_close(slopes[True], slopes[False])
    assert len(slopes[True]) == 4
    objective.train_mode(False)
    assert [p for p in others if not p.requires_grad] == [kept]


def test_training_makes_a_model_that_can_be_saved_and_is_the_same_otherwise(tmp_path: Path) -> None:
    model = zoo.pair_classifier("decomposable-attention")
    with pytest.raises(CapabilityError, match="needs gates that were trained for the model"):
        saywhy.explain(model, PAIRS[0], "diffmask")
    examples = [Example(pair, label) for pair in PAIRS for label in zoo.LABELS] * 4
    options = {"epochs": 6, "batch_size": 8, "learning_rate": 1e-2, "samples": 2, "quiet": True}
    trained = saywhy.train("diffmask", examples, model, out=tmp_path / "m", **{"lambda": 0.3}, **options)
    assert trained.predict(PAIRS[0])[0].probabilities == pytest.approx(model.predict(PAIRS[0])[0].probabilities)
    again = saywhy.load(tmp_path / "m")
    one, other = (saywhy.explain(m, PAIRS[0], "diffmask") for m in (trained, again))
    np.testing.assert_allclose(one.scores, other.scores, atol=1e-6)  # type: ignore[attr-defined]
    # Where readability is worth nothing, gates stay open.
    free: Any = saywhy.explain(saywhy.train("diffmask", examples, model, lambda_=0.0, **options), PAIRS[0], "diffmask")
    assert np.mean(free.scores) > 3 * np.mean(one.scores)  # type: ignore[attr-defined]
