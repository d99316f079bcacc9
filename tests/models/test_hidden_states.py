from __future__ import annotations

import copy

import pytest
import torch

from saywhy.errors import CapabilityError
from saywhy.models.hidden_states import keep_hidden_states
from saywhy.types import Example
from tests import zoo
from tests.models.test_architectures import recurrent


@pytest.mark.parametrize("architecture", zoo.ARCHITECTURES)
def test_the_mean_over_layers_and_the_same_logits(architecture: str) -> None:
    model = zoo.shared(architecture)
    batch = model.task.collate(model.encode([Example((t,)) for t in zoo.TEXTS]))
    with torch.no_grad(), model.evaluation() as network:
        before = model.task.raw(network, batch)
        with keep_hidden_states(network) as kept:
            inside = model.task.raw(network, batch)
        out = network.base_model(**batch.inputs, output_hidden_states=True)  # type: ignore[operator]
        other = copy.deepcopy(network)
        with keep_hidden_states(other) as again:
            model.task.raw(other, batch)
    states = getattr(out, "encoder_hidden_states", None) or out.hidden_states
    assert torch.equal(before, inside)
    torch.testing.assert_close(kept.value, torch.stack(states[1:]).mean(0))
    torch.testing.assert_close(kept.value, again.value)


def test_choices_and_span_qa() -> None:
    for model, examples in (
        (zoo.shared_chooser(), [Example((q["question"],), choices=tuple(q["choices"])) for q in zoo.QUESTIONS]),
        (zoo.shared_reader(), [Example(texts) for texts in zoo.CONTEXTS]),
    ):
        batch = model.task.collate(model.encode(examples))
        with torch.no_grad(), keep_hidden_states(model.module) as kept:
            model.task.raw(model.module, batch)
        assert kept.value.shape[:2] == batch.inputs["input_ids"].shape


def test_a_network_without_any() -> None:
    model = recurrent("gru")
    batch = model.task.collate(model.encode([Example((zoo.TEXTS[0],))]))

    def states() -> torch.Tensor:
        with keep_hidden_states(model.module) as kept, torch.no_grad():
            model.task.raw(model.module, batch)
        return kept.value

    with pytest.raises(CapabilityError, match="hidden states"):
        states()
