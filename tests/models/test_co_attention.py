"""Decomposable attention and ESIM."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import saywhy
from saywhy.errors import OptionError
from saywhy.models.alignment_space import AlignmentSpace
from saywhy.models.networks import networks
from saywhy.types import Example, as_example
from tests import zoo

KINDS = zoo.CO_ATTENTION
P, H = 4, 3


def row(kind: str, left: int = 0, right: int = 0) -> tuple[Any, dict[str, Tensor]]:
    network: Any = zoo.pair_classifier(kind).module
    ids = torch.tensor([[7, 8, 9, 6, 10, 11, 7]])
    types = torch.tensor([[0] * P + [1] * H])
    pad = (left, right)
    inputs = {
        "input_ids": nn.functional.pad(ids, pad),
        "attention_mask": nn.functional.pad(torch.ones_like(ids), pad),
        "token_type_ids": nn.functional.pad(types, pad),
    }
    return network, inputs


@pytest.mark.parametrize("kind", KINDS)
def test_padding_changes_nothing(kind: str) -> None:
    network, inputs = row(kind)
    expected = network(**inputs).logits
    for left, right in [(0, 1), (0, 30), (3, 4)]:
        torch.testing.assert_close(network(**row(kind, left, right)[1]).logits, expected, rtol=0, atol=1e-6)
    beside = {name: torch.cat([nn.functional.pad(v, (0, 2)), torch.ones(1, 9).long()]) for name, v in inputs.items()}
    torch.testing.assert_close(network(**beside).logits[:1], expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_a_masked_position_is_as_if_deleted(kind: str) -> None:
    network, inputs = row(kind)
    hidden = {**inputs, "attention_mask": torch.tensor([[1, 0, 1, 1, 1, 1, 1]])}
    deleted = {name: v[:, [0, 2, 3, 4, 5, 6]] for name, v in inputs.items()}
    torch.testing.assert_close(network(**hidden).logits, network(**deleted).logits, rtol=0, atol=1e-6)
    assert not torch.allclose(network(**hidden).logits, network(**inputs).logits)


@pytest.mark.parametrize("kind", KINDS)
def test_a_text_with_nothing_in_it_has_finite_logits_and_gradients(kind: str) -> None:
    network, inputs = row(kind)
    for types in (torch.zeros_like(inputs["token_type_ids"]), torch.ones_like(inputs["token_type_ids"])):
        logits = network(**{**inputs, "token_type_ids": types}).logits
        assert logits.isfinite().all()
        grads = torch.autograd.grad(logits.sum(), [p for p in network.parameters() if p.requires_grad])
        assert all(g.isfinite().all() for g in grads)


def plain_decomposable(network: Any, ids: Tensor, keep: Tensor) -> Tensor:
    """Equations of Parikh et al. 2016 with AREC's mask, word by word."""
    a, b = (network.project(network.embeddings(part)) for part in (ids[:P], ids[P:]))
    similarity = torch.stack([torch.stack([network.attend(x) @ network.attend(y) for y in b]) for x in a])
    there, back = similarity.softmax(1), similarity.softmax(0)
    weight = torch.cat([network.compare_own.weight, network.compare_other.weight], dim=1)

    def compare(word: Tensor, met: Tensor) -> Tensor:
        return network.compare(weight @ torch.cat([word, met]) + network.compare_own.bias)

    first = sum(compare(a[i], sum(keep[i, j] * there[i, j] * b[j] for j in range(H))) for i in range(P))
    second = sum(compare(b[j], sum(keep[i, j] * back[i, j] * a[i] for i in range(P))) for j in range(H))
    return network.classifier(network.aggregate(torch.cat([first, second])))


def plain_esim(network: Any, ids: Tensor, keep: Tensor) -> Tensor:
    """Equations of Chen et al. 2017 with AREC's mask, with torch's own bidirectional layers."""

    def both(right: nn.LSTM, left: nn.LSTM, words: Tensor) -> Tensor:
        layer = nn.LSTM(right.input_size, right.hidden_size, batch_first=True, bidirectional=True)
        weights = {**right.state_dict(), **{f"{k}_reverse": v for k, v in left.state_dict().items()}}
        layer.load_state_dict(weights)
        return layer(words.unsqueeze(0))[0][0]

    a, b = (both(network.read_right, network.read_left, network.embeddings(part)) for part in (ids[:P], ids[P:]))
    similarity = a @ b.T
    met_a = (similarity.softmax(1) * keep) @ b
    met_b = (similarity.softmax(0) * keep).T @ a
    pooled = []
    for own, met in ((a, met_a), (b, met_b)):
        local = network.project(torch.cat([own, met, own - met, own * met], dim=1))
        read = both(network.compose_right, network.compose_left, local)
        pooled += [read.mean(0), read.amax(0)]
    return network.classifier(network.aggregate(torch.cat(pooled)))


@pytest.mark.parametrize("kind", KINDS)
def test_the_papers_equations(kind: str) -> None:
    plain = plain_esim if kind == "esim" else plain_decomposable
    network, inputs = row(kind, 0, 5)
    ids = inputs["input_ids"][0, : P + H]
    draw = torch.Generator().manual_seed(0)
    for keep in (torch.ones(P, H), torch.rand(P, H, generator=draw), torch.zeros(P, H)):
        with torch.no_grad():
            made = network.after(network.before(**inputs), keep.unsqueeze(0))[0]
            torch.testing.assert_close(made, plain(network, ids, keep), atol=1e-6, rtol=1e-5)
    torch.testing.assert_close(network(**inputs).logits[0], plain(network, ids, torch.ones(P, H)), atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_many_masks_of_a_pair_are_as_one_at_a_time(kind: str) -> None:
    network, inputs = row(kind, 0, 5)
    beside = {name: v.repeat(2, 1) for name, v in inputs.items()}
    beside["attention_mask"][1, :2] = 0  # a shorter premise
    masks = torch.rand(2, 5, P, H, generator=torch.Generator().manual_seed(0)).requires_grad_()
    with torch.no_grad():
        sides = network.before(**beside)
    together = network.after_each(sides, masks)
    alone = torch.stack([network.after(sides, masks[:, i]) for i in range(5)], dim=1)
    torch.testing.assert_close(together, alone, atol=1e-6, rtol=1e-5)
    weights = torch.randn(together.shape, generator=torch.Generator().manual_seed(1))
    made, expected = (torch.autograd.grad((out * weights).sum(), masks)[0] for out in (together, alone))
    torch.testing.assert_close(made, expected, atol=1e-6, rtol=1e-4)
    assert made.abs().max() > 0


@pytest.mark.parametrize("kind", KINDS)
def test_a_word_of_several_tokens_is_one_cell(kind: str) -> None:
    model = zoo.pair_classifier(kind)
    space = AlignmentSpace(model, [as_example(("It isn't great", "dull film"))])
    assert space.shape(0) == (3, 2)
    assert len(space.encoded[0].rows[0]) == 6  # is + n't
    network: Any = model.module
    sides = network.before(**model.task.collate(space.encoded).inputs)
    keep = torch.tensor([[1.0, 0.5], [0.0, 1.0], [0.25, 1.0]])
    tokens = keep[[0, 1, 1, 2]].unsqueeze(0)
    made = space.outputs(np.zeros(1, dtype=int), keep.reshape(1, -1).numpy())
    torch.testing.assert_close(made, network.after(sides, tokens).detach(), atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_saved_folders_load(tmp_path: Path, kind: str) -> None:
    model = zoo.pair_classifier(kind)
    assert "alignments" in model.capabilities
    assert "attention" not in model.capabilities
    model.save(tmp_path)
    again = saywhy.load(tmp_path)
    one, other = again.predict(zoo.PAIR)[0], model.predict(zoo.PAIR)[0]
    assert one.probabilities == pytest.approx(other.probabilities, abs=1e-6)
    assert again.fingerprint == model.fingerprint
    assert not again.reads_padding


@pytest.mark.parametrize("kind", KINDS)
def test_in_training_a_word_is_like_itself_in_the_other_text(kind: str) -> None:
    network, inputs = row(kind)
    seen: list[Tensor] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(network, "encode", lambda *parts: seen.extend(parts))
        network.train()
        network.before(**inputs)
        network.eval()
    assert torch.equal(seen[0][0, 0], seen[1][0, 2])  # word 7 is the first of the one and the last of the other


def test_decomposable_attention_starts_as_likeness_and_difference() -> None:
    words = list("abcdefgh")
    network, tokenizer = networks["decomposable-attention"].value(
        [Example((" ".join(words), "a"))], "pair", ("x", "y"), 0, hidden_size=64
    )
    torch.testing.assert_close(network.embeddings.weight[-8:].norm(dim=1), torch.full((8,), 3.0))
    inputs = tokenizer(" ".join(words), " ".join(reversed(words)), return_tensors="pt")
    with torch.no_grad():
        sides = network.eval().before(**inputs)
    same = torch.eye(8).flip(1).bool()
    assert sides.to_hypothesis[0][same].min() > 1.5 * sides.to_hypothesis[0][~same].max()
    # A word that met its like has nothing to be compared by.
    torch.testing.assert_close(sides.premise + sides.offered.flip(1), torch.zeros(1, 8, 64), atol=1e-5, rtol=0)


@pytest.mark.parametrize("kind", KINDS)
def test_it_learns(kind: str) -> None:
    examples = [Example((f"the {a} sat", f"a {b} ran"), label=str(b in "ab")) for a in "abcd" for b in "abcd"] * 4
    sizes = {"hidden_size": 24, "embedding_size": 24, "dropout": 0.0}
    model = saywhy.train(
        "plain", examples, kind, epochs=12, learning_rate=1e-2, model_options=sizes, weight_decay=0.0, quiet=True
    )
    right = [p.label == e.label for p, e in zip(model.predict(examples), examples, strict=True)]
    assert np.mean(right) > 0.95  # half of the pairs have the one label


@pytest.mark.parametrize("kind", KINDS)
def test_only_pairs(kind: str) -> None:
    with pytest.raises(OptionError, match="co-attention is between two texts; for task 'text' use"):
        networks[kind].value([Example(("a film",))], "text", ("a", "b"), 0)
    with pytest.raises(OptionError, match=f"model '{kind}' does pair; planted-reviews is text"):
        saywhy.train("plain", "planted-reviews", kind, data_options={"size": "demo"})
