from __future__ import annotations

import copy
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torch import Tensor

from saywhy.errors import CapabilityError
from saywhy.models import Batch, TextModel
from saywhy.models.attention_door import AttentionCall, AttentionTap, attention_kinds, tap_attention
from saywhy.types import Example
from tests import zoo

EXAMPLES = [Example((text,)) for text in zoo.TEXTS]


def padded(model: TextModel, examples: list[Example] = EXAMPLES) -> Batch:
    return model.task.collate(model.encode(examples))


def double(architecture: str) -> TextModel:
    network, tokenizer = zoo.network_and_tokenizer(architecture)
    return zoo.saywhy.load((network.double(), tokenizer), labels=zoo.LABELS)


@pytest.mark.parametrize("architecture", zoo.ARCHITECTURES)
def test_logits_keep_their_bits_until_probabilities_are_asked_for(architecture: str) -> None:
    network, _ = zoo.network_and_tokenizer(architecture)
    model = zoo.shared(architecture)
    batch = padded(model)
    with torch.no_grad():
        original = model.task.raw(network, batch)
        assert torch.equal(model.task.raw(model.module, batch), original)
        with tap_attention(model.module, AttentionTap()) as tap:
            assert torch.equal(model.task.raw(model.module, batch), original)
        assert tap.count == len(tap.calls) == len(model.attention_kinds)
        for asked in (AttentionTap(explicit=True), AttentionTap(probabilities=True)):
            with tap_attention(model.module, asked):
                tapped = model.task.raw(model.module, batch)
            torch.testing.assert_close(tapped, original, atol=5e-6, rtol=5e-6)


@pytest.mark.parametrize("architecture", ["bert", "albert", "modernbert", "gpt2", "llama", "bart"])
def test_probabilities_are_those_of_eager_attention(architecture: str) -> None:
    network, _ = zoo.network_and_tokenizer(architecture)
    network.set_attn_implementation("eager")
    model = zoo.shared(architecture)
    batch = padded(model)
    with torch.no_grad():
        out = network(**batch.inputs, output_attentions=True) if architecture not in ("gpt2", "llama") else (
            network.base_model(**batch.inputs, output_attentions=True)
        )  # fmt: skip
        with tap_attention(model.module, AttentionTap(probabilities=True)) as tap:
            model.task.raw(model.module, batch)
    if architecture == "bart":
        expected = {"encoder": out.encoder_attentions, "decoder": out.decoder_attentions, "cross": out.cross_attentions}
    else:
        expected = {"self": out.attentions}
    seen: dict[str, int] = {}
    for call in tap.calls:
        wanted = expected[call.kind][seen.setdefault(call.kind, 0)]
        seen[call.kind] += 1
        assert call.probabilities is not None
        for found in (call.probabilities, call.softmax()):
            for row, length in enumerate(batch.lengths.tolist()):
                torch.testing.assert_close(
                    found[row, :, :length], wanted[row, :, :length].to(found), atol=2e-6, rtol=1e-5
                )
            # Nothing real looks at padding.
            assert found[1, :, : batch.lengths[1], batch.lengths[1] :].abs().max() < 1e-6
    assert seen == {kind: len(tables) for kind, tables in expected.items()}


def test_a_tap_on_queries_and_keys_gives_the_probabilities_afterwards() -> None:
    model = zoo.shared("llama")
    batch = padded(model)
    with torch.no_grad():
        with tap_attention(model.module, AttentionTap()) as plain:
            model.task.raw(model.module, batch)
        with tap_attention(model.module, AttentionTap(probabilities=True)) as full:
            model.task.raw(model.module, batch)
    for a, b in zip(plain.calls, full.calls, strict=True):
        assert a.probabilities is None
        assert a.key.shape[1] == a.query.shape[1] == 4  # two key heads, repeated
        torch.testing.assert_close(a.softmax(), b.probabilities)


def test_layers_are_counted_in_the_order_of_the_calls() -> None:
    model = zoo.shared("albert")  # both layers are one module
    batch = padded(model)
    with torch.no_grad(), tap_attention(model.module, AttentionTap(layers=frozenset({1}))) as tap:
        model.task.raw(model.module, batch)
    assert [call.number for call in tap.calls] == [1]
    assert tap.count == 2


def test_kinds_of_an_encoder_decoder() -> None:
    model = zoo.shared("bart")
    assert model.attention_kinds == ("encoder", "encoder", "decoder", "cross", "decoder", "cross")
    assert attention_kinds(zoo.shared("bert").module) == {}


@pytest.mark.parametrize("architecture", ["bert", "bart"])
def test_an_edit_is_what_the_network_uses(architecture: str) -> None:
    model = zoo.shared(architecture)
    batch = padded(model)
    kept = []

    def same(call: AttentionCall) -> Tensor:
        assert call.probabilities is not None
        kept.append(call.probabilities)
        return call.probabilities.clone()

    def nothing(call: AttentionCall) -> Tensor:
        assert call.probabilities is not None
        return torch.zeros_like(call.probabilities)

    with torch.no_grad():
        plain = model.task.raw(model.module, batch)
        with tap_attention(model.module, AttentionTap(edit=same)):
            torch.testing.assert_close(model.task.raw(model.module, batch), plain, atol=5e-6, rtol=5e-6)
        with tap_attention(model.module, AttentionTap(edit=nothing)):
            assert (model.task.raw(model.module, batch) - plain).abs().max() > 1e-3
    assert len(kept) == len(model.attention_kinds)


@pytest.mark.parametrize("architecture", ["bert", "gpt2", "bart"])
@pytest.mark.parametrize("start", [0.0, 0.6, 1.0])
def test_gradients_of_key_weights_equal_finite_differences(architecture: str, start: float) -> None:
    model = double(architecture)
    batch = padded(model, EXAMPLES[1:2])
    size = int(batch.lengths[0])
    keep = torch.ones(size, dtype=torch.float64)
    keep[1 if architecture != "gpt2" else 0] = start

    def value(weights: Tensor) -> Tensor:
        with tap_attention(model.module, AttentionTap(weigh=lambda call: weights[None, None, None, :])):
            return model.task.raw(model.module, batch)[0, 0]

    leaf = keep.clone().requires_grad_()
    (found,) = torch.autograd.grad(value(leaf), leaf)
    assert found.isfinite().all()
    step = 1e-7
    with torch.no_grad():
        for place in range(size):
            if architecture == "gpt2" and place == 0 and start == 0.0:
                continue  # with its only key gone the first position has no limit: it attends to nothing
            up, down = keep.clone(), keep.clone()
            up[place] += step
            down[place] -= step if keep[place] > 0 else 0.0
            expected = (value(up) - value(down)) / (up - down)[place]
            # Forward differences at zero are less exact.
            torch.testing.assert_close(found[place], expected, atol=1e-6, rtol=1e-3)


def test_removed_keys_neither_drown_the_rest_nor_break_gradients() -> None:
    query = torch.tensor([[[[1.0]]]])
    key = torch.tensor([[[[300.0], [1.0], [2.0], [5.0]]]])
    mask = torch.tensor([[[[True, True, True, False]]]])
    call = AttentionCall(0, "self", query, key, mask, 1.0, False)
    weights = torch.tensor([[[[0.0, 1.0, 1.0, 1.0]]]], requires_grad=True)
    found = call.softmax(weights)
    expected = torch.tensor([1.0, 2.0]).softmax(0)
    torch.testing.assert_close(found[0, 0, 0], torch.tensor([0.0, *expected, 0.0]))
    (grad,) = torch.autograd.grad(found[..., 1].sum(), weights)
    assert grad.isfinite().all()
    assert grad[..., 0] < 0
    gone = torch.tensor([[[[0.0, 0.0, 0.0, 1.0]]]], requires_grad=True)
    nothing = call.softmax(gone)
    assert nothing.abs().max() == 0
    (grad,) = torch.autograd.grad(nothing.sum(), gone)
    assert grad.isfinite().all()
    assert grad.abs().max() <= 1


def test_the_secant_of_a_removed_key_is_what_putting_it_back_changes() -> None:
    query, key = torch.ones(1, 1, 1, 1), torch.tensor([9.0, 0.5, -1.0, 0.0]).reshape(1, 1, 4, 1)
    values = torch.tensor([2.0, -1.0, 0.5, 3.0])
    call = AttentionCall(0, "self", query, key, None, 1.0, False)

    def mixed(weights: Tensor, *, secant: bool) -> Tensor:
        return (call.softmax(weights[None, None, None], secant=secant) * values).sum()

    removed = torch.tensor([0.0, 1.0, 1.0, 1.0], requires_grad=True)
    assert mixed(removed, secant=True) == mixed(removed, secant=False)
    (secant,) = torch.autograd.grad(mixed(removed, secant=True), removed)
    (slope,) = torch.autograd.grad(mixed(removed, secant=False), removed)
    back = mixed(torch.ones(4), secant=False) - mixed(removed, secant=False)
    assert secant[0].item() == pytest.approx(back.item(), rel=1e-5)
    assert slope[0] > 1000 * secant[0]  # this head looks at nothing else: a trace of the key would do
    torch.testing.assert_close(secant[1:], slope[1:])


def test_weights_between_zero_and_one_scale_the_odds() -> None:
    query, key = torch.ones(1, 1, 1, 1), torch.tensor([[[[0.3], [-0.2], [0.9]]]])
    weights = torch.tensor([0.25, 1.0, 0.5])
    found = AttentionCall(0, "self", query, key, None, 1.0, False).softmax(weights[None, None, None])
    odds = weights * key.flatten().exp()
    torch.testing.assert_close(found.flatten(), odds / odds.sum())


def test_masks_that_are_added_hide_as_those_of_booleans_do() -> None:
    torch.manual_seed(0)
    query, key = torch.randn(1, 2, 3, 4), torch.randn(1, 2, 3, 4)
    boolean = torch.tensor([[[[True, True, False]] * 3]])
    added = torch.zeros(boolean.shape).masked_fill(~boolean, torch.finfo(torch.float32).min)
    weights = torch.tensor([0.0, 1.0, 1.0])[None, None, None]
    for given in (None, weights):
        tables = [AttentionCall(0, "self", query, key, m, 0.5, False).softmax(given) for m in (boolean, added)]
        torch.testing.assert_close(*tables)
    causal = AttentionCall(0, "self", query, key, None, 0.5, True).softmax()
    assert causal[0, 0].triu(1).abs().max() == 0
    torch.testing.assert_close(causal.sum(-1), torch.ones(1, 2, 3))


@pytest.mark.parametrize("architecture", ["bert", "gpt2", "bart"])
def test_second_derivatives_under_an_explicit_tap(architecture: str) -> None:
    model = double(architecture)
    batch = padded(model, EXAMPLES[1:2])
    weight = next(m for m in model.module.modules() if isinstance(m, torch.nn.LayerNorm)).weight

    def slope() -> Tensor:
        with tap_attention(model.module, AttentionTap(explicit=True)):
            (grad,) = torch.autograd.grad(model.task.raw(model.module, batch)[0, 0], weight, create_graph=True)
        return grad[0]

    (found,) = torch.autograd.grad(slope(), weight)
    step = 1e-5
    ends = []
    for sign in (1, -1):
        with torch.no_grad():
            weight[3] += sign * step
        ends.append(slope().detach())
        with torch.no_grad():
            weight[3] -= sign * step
    torch.testing.assert_close(found[3], (ends[0] - ends[1]) / (2 * step), atol=1e-7, rtol=1e-4)
    assert found.abs().max() > 0


def test_taps_of_eight_threads_do_not_mix() -> None:
    model = zoo.shared("bert")
    batches = [padded(model, [Example((" ".join(["film"] * (n + 1)),))]) for n in range(8)]

    def run(number: int) -> list[Tensor]:
        found = []
        for _ in range(5):
            with torch.no_grad(), tap_attention(model.module, AttentionTap(probabilities=number % 2 == 0)) as tap:
                model.task.raw(model.module, batches[number])
            assert len(tap.calls) == 2
            found.append(tap.calls[-1].softmax())
        return found

    alone = [run(n)[0] for n in range(8)]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(run, range(8)))
    for one, many in zip(alone, together, strict=True):
        for table in many:
            torch.testing.assert_close(table, one)


def test_the_innermost_tap_counts() -> None:
    model = zoo.shared("bert")
    batch = padded(model)
    with torch.no_grad(), tap_attention(model.module, AttentionTap()) as outer:
        model.task.raw(model.module, batch)
        with tap_attention(model.module, AttentionTap()) as inner:
            model.task.raw(model.module, batch)
        assert (outer.count, inner.count) == (2, 2)
        model.task.raw(model.module, batch)
    assert (outer.count, inner.count) == (4, 2)


def test_an_exception_leaves_no_tap_open() -> None:
    model = zoo.shared("bert")
    tap = AttentionTap(probabilities=True)
    with pytest.raises(ZeroDivisionError), tap_attention(model.module, tap):
        raise ZeroDivisionError
    with torch.no_grad():
        model.task.raw(model.module, padded(model))
    assert tap.count == 0


def test_refusals_say_why() -> None:
    model = zoo.classifier("bert")
    with pytest.raises(CapabilityError, match="attention interface"), tap_attention(model.module, AttentionTap()):
        pass
    model.module.gradient_checkpointing_enable()
    model.module.train()
    with pytest.raises(CapabilityError, match="checkpointing"), tap_attention(model.module, AttentionTap()):
        pass


@pytest.mark.parametrize("architecture", ["deberta-v2", "mpnet", "t5"])
def test_networks_that_cannot_be_tapped_are_left_as_they_were(architecture: str) -> None:
    network, tokenizer = zoo.network_and_tokenizer(architecture)
    before = network.config._attn_implementation
    reference = copy.deepcopy(network)
    model = zoo.saywhy.load((network, tokenizer), labels=zoo.LABELS)
    assert "attention" not in model.capabilities
    assert model.no_attention
    assert network.config._attn_implementation == before
    batch = padded(model)
    with torch.no_grad():
        assert torch.equal(model.task.raw(network, batch), model.task.raw(reference, batch))


@pytest.mark.parametrize("architecture", ["bert", "gpt2", "bart"])
def test_half_precision_goes_through_the_door(architecture: str) -> None:
    network, tokenizer = zoo.network_and_tokenizer(architecture)
    model = zoo.saywhy.load((network.to(torch.bfloat16), tokenizer), labels=zoo.LABELS)
    assert "attention" in model.capabilities
