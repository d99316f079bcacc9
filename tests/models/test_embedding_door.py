from __future__ import annotations

import copy
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from saywhy.errors import CapabilityError
from saywhy.models import Batch, TextModel
from saywhy.models.embedding_door import embedding_modules, look_up, replace_embeddings
from saywhy.types import Example
from tests import zoo

EXAMPLES = [Example((text,)) for text in zoo.TEXTS]
ALL = [*zoo.ARCHITECTURES, "deberta-v2", "mpnet", "t5"]


def padded(model: TextModel, examples: list[Example] = EXAMPLES) -> Batch:
    return model.task.collate(model.encode(examples))


@pytest.mark.parametrize("architecture", ALL)
def test_new_vectors_for_a_word_do_what_a_changed_embedding_table_does(architecture: str) -> None:
    """Holds in padded batches and in decoders that read the text one place to the right."""
    model = zoo.shared(architecture)
    batch = padded(model)
    ids = batch.inputs["input_ids"]
    chosen = int(ids[0, 2])
    changed = copy.deepcopy(model.module)
    with torch.no_grad():
        weight = embedding_modules(changed)[0].weight
        # A shift of all dimensions alike would vanish in a layer normalisation.
        weight[chosen] += torch.linspace(-1, 1, weight.shape[1])
        expected = model.task.raw(changed, batch)
        plain = model.task.raw(model.module, batch)
        same, other = look_up(model.module, ids), look_up(changed, ids)
        with replace_embeddings(model.module, ids, same):
            assert torch.equal(model.task.raw(model.module, batch), plain)
        with replace_embeddings(model.module, ids, other):
            found = model.task.raw(model.module, batch)
    assert (expected - plain).abs().max() > 1e-3
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("architecture", ["bert", "electra", "albert", "distilbert", "modernbert", "deberta-v2"])
def test_equals_inputs_embeds_where_that_is_right(architecture: str) -> None:
    model = zoo.shared(architecture)
    batch = padded(model)
    inputs = dict(batch.inputs)
    ids = inputs.pop("input_ids")
    with torch.no_grad():
        vectors = look_up(model.module, ids) * 1.5
        with replace_embeddings(model.module, ids, vectors):
            found = model.task.raw(model.module, batch)
        torch.testing.assert_close(found, model.module(inputs_embeds=vectors, **inputs).logits, atol=1e-6, rtol=1e-6)


def test_bart_scales_its_embeddings_once() -> None:
    model = zoo.shared("bart")
    ids = padded(model).inputs["input_ids"]
    weight = embedding_modules(model.module)[0].weight
    torch.testing.assert_close(look_up(model.module, ids), weight[ids] * 32**0.5)


def test_threads_do_not_mix() -> None:
    model = zoo.shared("gpt2")
    batch = padded(model)
    ids = batch.inputs["input_ids"]

    def run(number: int) -> torch.Tensor:
        with torch.no_grad():
            for _ in range(5):
                with replace_embeddings(model.module, ids, look_up(model.module, ids) * (number + 1)):
                    found = model.task.raw(model.module, batch)
        return found

    alone = [run(n) for n in range(8)]
    with ThreadPoolExecutor(8) as pool:
        for one, other in zip(alone, pool.map(run, range(8)), strict=True):
            torch.testing.assert_close(other, one)


def test_the_innermost_replacement_counts_and_none_stays_open() -> None:
    model = zoo.shared("bert")
    batch = padded(model)
    ids = batch.inputs["input_ids"]
    with torch.no_grad():
        plain = model.task.raw(model.module, batch)
        vectors = look_up(model.module, ids)
        with replace_embeddings(model.module, ids, vectors * 0):
            empty = model.task.raw(model.module, batch)
            with replace_embeddings(model.module, ids, vectors):
                assert torch.equal(model.task.raw(model.module, batch), plain)
            assert torch.equal(model.task.raw(model.module, batch), empty)
        with pytest.raises(ZeroDivisionError), replace_embeddings(model.module, ids, vectors * 0):
            raise ZeroDivisionError
        assert torch.equal(model.task.raw(model.module, batch), plain)
    assert (empty - plain).abs().max() > 1e-3


def test_hooks_do_not_pile_up() -> None:
    model = zoo.classifier("bert")
    batch = padded(model)
    ids = batch.inputs["input_ids"]
    for _ in range(3):
        with torch.no_grad(), replace_embeddings(model.module, ids, look_up(model.module, ids)):
            model.task.raw(model.module, batch)
    assert len(embedding_modules(model.module)[0]._forward_hooks) == 1


def test_a_replacement_that_nobody_reads_is_an_error() -> None:
    model = zoo.shared("bert")
    ids = padded(model).inputs["input_ids"]
    with (
        pytest.raises(CapabilityError, match="did not look up"),
        replace_embeddings(model.module, ids, look_up(model.module, ids)),
    ):
        pass
    with pytest.raises(CapabilityError, match="no input embeddings"):
        look_up(torch.nn.Linear(2, 2), ids)
    assert embedding_modules(torch.nn.Linear(2, 2)) == []
