"""CAGE's objective: whose sentences the classifier reads, and when."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import saywhy
from saywhy.errors import OptionError
from saywhy.loop import OptimiserSettings, Step
from saywhy.objectives.cage import Cage
from tests import zoo
from tests.objectives.test_mpii import TINY, learn, pets


def test_cage_learns_to_explain_and_to_decide_by_it() -> None:
    shape = {**TINY, "longest": 10}
    model = learn(objective="cage", epochs=24, model_options=shape)
    for example in pets(6):
        why: Any = saywhy.explain(model, example)
        assert why.prediction.label == example.label
        assert why.sentence == example.explanations[0]
    with pytest.raises(OptionError, match="own_from is a share"):
        learn(objective="cage", epochs=1, own_from=2.0)
    with pytest.raises(OptionError, match="trains the network cage"):
        Cage(zoo.classifier(), OptimiserSettings())


def test_the_classifier_reads_people_first_and_then_the_language_model(monkeypatch: pytest.MonkeyPatch) -> None:
    model = learn(objective="cage", epochs=1, model_options={**TINY, "dropout": 0.0})
    objective = Cage(model, OptimiserSettings(), own_from=0.5, explanations=1)
    batch = objective.collate(objective.items(pets(4), "error"))
    people = objective.lesson(batch).ids
    own = torch.full_like(people, int(people[0, 1]))
    read: list[torch.Tensor] = []
    decide = objective.speaker.decide

    def watched(sentences: torch.Tensor, **inputs: torch.Tensor) -> torch.Tensor:
        read.append(sentences)
        return decide(sentences, **inputs)

    monkeypatch.setattr(objective.speaker, "decide", watched)
    monkeypatch.setattr(objective.speaker, "write", lambda ids, mask: (own, None))
    for index in (4, 5):
        (phase,) = objective.phases(batch, Step(index, 10, 0, 0))
        phase.loss()
    assert torch.equal(read[0], people)
    assert torch.equal(read[1], own)
    never = Cage(model, OptimiserSettings(), own_from=1.0)
    next(iter(never.phases(batch, Step(9, 10, 0, 0)))).loss()
    assert torch.equal(read[2], people)
