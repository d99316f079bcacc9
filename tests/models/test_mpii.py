"""MPII's network: METHODS 7, numbers 38 and 39, and that it is a classifier like any other."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import saywhy
from saywhy.data import load_dataset
from saywhy.errors import CapabilityError, InputError, OptionError, TooLongError
from saywhy.loop import OptimiserSettings
from saywhy.models import TextModel, load
from saywhy.models.mpii_building import build_mpii
from saywhy.models.sentences import follow, pad_sentences, speak, vocabulary_of
from saywhy.objectives.ivra import Ivra
from saywhy.objectives.smat import Smat
from saywhy.types import Example

TINY: dict[str, Any] = {"layers": 1, "width": 32, "heads": 2, "longest": 12}
ENCODER = {"layers": 1, "width": 32, "heads": 2, "vocabulary_size": 300}
NLI = list(load_dataset("planted-nli", n={"train": 40, "dev": 1, "test": 1})["train"])
CHOICES = list(load_dataset("planted-choices", n={"train": 30, "dev": 1, "test": 1})["train"])
LABELS = ("entailment", "neutral", "contradiction")


def nli(stirred: bool = True, **options: Any) -> TextModel:
    network, tokenizer = build_mpii(NLI, "pair", LABELS, 0, **{**TINY, "encoder_options": ENCODER, **options})
    return TextModel(stir(network) if stirred else network, tokenizer, "pair", LABELS)


def choices(stirred: bool = True, **options: Any) -> TextModel:
    network, tokenizer = build_mpii(CHOICES, "choices", (), 0, **{**TINY, "encoder_options": ENCODER, **options})
    return TextModel(stir(network) if stirred else network, tokenizer, "choices")


def stir(network: Any) -> Any:
    """As if it had been trained: gates half open, and a label that words move."""
    part = network.integration
    with torch.random.fork_rng():
        torch.manual_seed(0)
        part.labels.change[-1].reset_parameters()
    for gate in (part.word_gate, part.label_gate):
        torch.nn.init.zeros_(gate[-1].bias)
    return network


def inputs(model: TextModel, examples: list[Example]) -> dict[str, torch.Tensor]:
    return model.task.collate(model.encode(examples)).inputs


def gold(model: TextModel, examples: list[Example]) -> torch.Tensor:
    known = vocabulary_of(model)
    return pad_sentences([known.encode(e.explanations[0]) for e in examples], 0, 12)


def same(some: Any, others: Any) -> None:
    for one, other in zip(some, others, strict=True):
        np.testing.assert_allclose(one.probabilities, other.probabilities, atol=1e-6)


@torch.no_grad()
@pytest.mark.parametrize("integration", ["full", "no-inference", "no-interpretation", "none"])
def test_the_gates_are_shut_where_they_should_be(integration: str) -> None:
    model = nli(integration=integration)
    network: Any = model.module.eval()
    ids, given = gold(model, NLI[:4]), inputs(model, NLI[:4])
    scores, steps = network.teach(ids, **given)
    moves = float((steps[:, 1:] - steps[:, :1]).abs().max())
    assert (moves > 1e-4) == (integration in ("full", "no-inference"))
    # With the words' gate shut the decoder is a plain one, whatever the label's layers hold.
    for parameter in network.integration.labels.vector.parameters():
        parameter.add_(1.0)
    changed = float((network.teach(ids, **given)[0] - scores).abs().max())
    assert (changed > 1e-4) == (integration in ("full", "no-interpretation"))


@torch.no_grad()
def test_gates_lie_between_zero_and_one() -> None:
    """Found from what goes in and what comes out: how far a word turns into the label, and how far the label moves."""
    model = nli()
    network: Any = model.module.eval()
    part = network.integration
    for layers in (part.word_gate, part.label_gate):
        layers[-1].weight.mul_(20)  # so that they say more than one half
    memory = network.read(**inputs(model, NLI[:6]))
    logits, start = network.starting(memory)
    words, hidden = start + torch.randn_like(start), torch.randn_like(start)
    label = part.labels.project(logits, memory)
    mixed, apart = part.fuse(logits, words, memory) - words, label - words
    moved, wanted = part.move(logits, hidden, memory) - logits, part.labels.move(hidden, memory)
    for done, whole in ((mixed, apart), (moved, wanted)):
        gate = (done * whole).sum(1, keepdim=True) / whole.square().sum(1, keepdim=True)
        assert bool(((gate > 0) & (gate < 1)).all())
        assert float(gate.std()) > 1e-3
        torch.testing.assert_close(done, gate * whole, atol=1e-4, rtol=1e-4)  # one number for all features


@torch.no_grad()
def test_what_is_unknown_is_never_written() -> None:
    model = nli()
    network: Any = model.module.eval()
    unknown = vocabulary_of(model).table.index("<unk>")  # type: ignore[attr-defined]
    network.word_bias[unknown] = 100.0
    for options in ({}, {"beams": 3}, {"sample": torch.Generator().manual_seed(0)}):
        assert not bool((network.generate(**inputs(model, NLI[:4]), **options).ids == unknown).any())


def test_hidden_states_and_criteria_that_need_them() -> None:
    model = nli()
    table = saywhy.evaluate(model, NLI[:6], "attention", ["consistency"])
    assert np.isfinite(table.results[0].value)
    objective = Ivra(model, OptimiserSettings(), criteria="cons,comp")
    batch, items = objective.collate(objective.items(NLI[:4], "error"))
    total, terms = objective.loss(batch, items, (0.2,), unrolled=False)
    total.backward()
    assert float(terms["cons"]) > 0
    assert float(objective.module.head.grad.abs().max()) > 0  # type: ignore[union-attr]


def test_a_student_is_never_the_teacher_unawares() -> None:
    model = nli()
    for make in (lambda: Ivra(model, OptimiserSettings(), criteria="sim"), lambda: Smat(model, OptimiserSettings())):
        with pytest.raises(CapabilityError, match=r"no head that a student could have anew.*student=\.\.\."):
            make()
    assert Ivra(model, OptimiserSettings(), criteria="sim", student="copy").student is not None


@torch.no_grad()
def test_a_plain_decoder_is_transformers_own() -> None:
    """Number 38: with g = 0 the words' scores are those of the MBart decoder run on the same ids at once."""
    model = nli(integration="no-inference")
    network: Any = model.module.eval()
    ids, given = gold(model, NLI[:4]), inputs(model, NLI[:4])
    scores, _ = network.teach(ids, **given)
    shifted = torch.cat([torch.ones_like(ids[:, :1]), ids[:, :-1]], dim=1)
    memory = network.read(**given)
    out = network.decoder(
        input_ids=shifted, encoder_hidden_states=memory.hidden, encoder_attention_mask=memory.mask, use_cache=False
    )
    expected = out.last_hidden_state @ network.decoder.embed_tokens.weight.T + network.word_bias
    torch.testing.assert_close(scores, expected, atol=1e-5, rtol=1e-4)


@torch.no_grad()
@pytest.mark.parametrize("make", [nli, choices])
@pytest.mark.parametrize("feedback", ["token", "soft"])
def test_with_and_without_a_cache_and_in_any_batch_it_says_the_same(make: Any, feedback: str) -> None:
    model, examples = make(feedback=feedback), (NLI if make is nli else CHOICES)[:6]
    network: Any = model.module.eval()
    whole = network.generate(**inputs(model, examples))
    slow = network.generate(**inputs(model, examples), cache=False)
    assert torch.equal(whole.ids, slow.ids)
    torch.testing.assert_close(whole.steps, slow.steps, atol=1e-4, rtol=1e-4)
    for i, example in enumerate(examples):
        alone = network.generate(**inputs(model, [example]))
        size = int(alone.lengths[0])
        assert alone.ids[0, :size].tolist() == whole.ids[i, : int(whole.lengths[i])].tolist()
        torch.testing.assert_close(alone.logits[0], whole.logits[i], atol=1e-4, rtol=1e-4)


@torch.no_grad()
@pytest.mark.parametrize("make", [nli, choices, functools.partial(choices, choice_states="pooled")])
def test_words_do_not_move_the_label_before_training(make: Any) -> None:
    model = make(stirred=False)
    network: Any = model.module.eval()
    examples = NLI if model.task.name == "pair" else CHOICES
    memory = network.read(**inputs(model, examples))
    hidden, steps = network.states(memory, gold(model, examples))
    assert torch.equal(steps, steps[:, :1].expand_as(steps))
    part = network.integration
    label = part.labels.project(steps[:, 0], memory)
    gates = part.word_gate(torch.cat([label, label], -1)), part.label_gate(torch.cat([label, hidden[:, 0]], -1))
    assert all(float(torch.sigmoid(gate).max()) < 0.25 for gate in gates)


@torch.no_grad()
def test_the_label_is_read_at_the_end_and_stays() -> None:
    model = nli()
    network: Any = model.module.eval()
    end = network.config.end_id
    network.word_bias[end] += 0.0
    found = None
    for push in (0.0, 0.5, 1.0, 2.0, 4.0):  # until some sentences end before others
        network.word_bias[end] = push
        found = network.generate(**inputs(model, NLI[:20]))
        if 1 < int(found.lengths.min()) < int(found.lengths.max()):
            break
    assert found is not None
    short = int(found.lengths.argmin())
    size = int(found.lengths[short])
    assert size < found.ids.shape[1]
    assert found.ids[short, size - 1] == end
    assert bool((found.ids[short, size:] == network.config.pad_id).all())
    torch.testing.assert_close(found.steps[short, size], found.logits[short])
    torch.testing.assert_close(found.steps[short, -1], found.logits[short])
    again = network.follow(found.ids, **inputs(model, NLI[:20]))
    torch.testing.assert_close(again.logits, found.logits, atol=1e-4, rtol=1e-4)


@torch.no_grad()
@pytest.mark.parametrize("make", [nli, choices])
def test_rows_that_leave_when_their_sentences_end_are_as_if_alone(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    model, examples = make(), (NLI if make is nli else CHOICES)[:6]
    network: Any = model.module.eval()
    given, sizes = inputs(model, examples), [3, 9, 1, 5, 9, 2]
    words = torch.arange(4, 4 + 6 * 9).reshape(6, 9) % (network.decoder.config.vocab_size - 4) + 4
    ids = torch.stack([torch.where(torch.arange(9) < size, row, 0) for row, size in zip(words, sizes, strict=True)])
    rows: list[int] = []
    decode = network.decode
    monkeypatch.setattr(
        network, "decode", lambda memory, *a, **k: (rows.append(len(memory.mask)), decode(memory, *a, **k))[1]
    )
    hidden, steps = network.states(network.read(**given), ids)
    assert rows == [6, 5, 4, 3, 3, 2, 2, 2, 2]
    for i, size in enumerate(sizes):
        one = {name: value[i : i + 1] for name, value in given.items()}
        alone, moved = network.states(network.read(**one), ids[i : i + 1, :size])
        torch.testing.assert_close(hidden[i, :size], alone[0], atol=1e-4, rtol=1e-4)
        torch.testing.assert_close(steps[i, : size + 1], moved[0], atol=1e-4, rtol=1e-4)
        assert bool((steps[i, size:] == steps[i, size]).all())


@torch.no_grad()
@pytest.mark.parametrize("make", [nli, choices])
def test_beams(make: Any) -> None:
    model, examples = make(), (NLI if make is nli else CHOICES)[:4]
    network: Any = model.module.eval()
    given = inputs(model, examples)
    greedy, beam = network.generate(**given), network.generate(**given, beams=4)
    mean = [found.log_probability / found.lengths for found in (greedy, beam)]
    assert bool((mean[1] >= mean[0] - 1e-4).all())
    assert make is choices or bool((mean[1] > mean[0] + 1e-4).any())
    # What the beam says of its best sentence is what the network says when that sentence is put into its mouth.
    told = network.follow(beam.ids, **given)
    torch.testing.assert_close(told.logits, beam.logits, atol=1e-4, rtol=1e-4)
    barred = network.allowed(torch.zeros(1, network.decoder.config.vocab_size), 1).log_softmax(-1)
    assert bool(torch.isfinite(barred[0, network.config.end_id]))
    with pytest.raises(OptionError, match="beams go with the feedback of tokens"):
        network.generate(**given, beams=2, feedback="soft")


def test_gradients_reach_the_encoder_through_the_label() -> None:
    model = nli()
    network: Any = model.module.eval()
    network(**inputs(model, NLI[:2])).logits[:, 0].sum().backward()
    for part in (
        network.encoder.embeddings.word_embeddings,
        network.decoder.layers[0].fc1,
        network.integration.reading,
    ):
        grads = [p.grad for p in part.parameters()]
        assert all(g is not None for g in grads)
        assert max(float(g.abs().max()) for g in grads) > 0


@pytest.mark.parametrize("method", ["leave-one-out", "input-x-gradient", "attention"])
def test_it_is_explained_like_any_classifier(method: str) -> None:
    model = nli()
    made: Any = saywhy.explain(model, NLI[:2], method)
    for why, example, said in zip(made, NLI, model.predict(NLI[:2]), strict=False):
        assert why.prediction.label == said.label
        np.testing.assert_allclose(why.prediction.probabilities, said.probabilities, atol=1e-5)
        assert len(why.scores) == len(model.words(example))
        assert max(map(abs, why.scores)) > 0


def test_erasing_by_attention_is_erasing() -> None:
    """A piece that nobody attends to may be any other: also the decoder does not see it."""
    model = nli()
    one, other = (Example((f"The {w} met the dog.", "The dog met somebody.")) for w in ("cat", "fox"))
    encoded = model.encode([one, other])
    assert len(encoded[0].rows[0]) == len(encoded[1].rows[0])
    from saywhy.models.word_space import WordSpace

    def scores(example: Example, keep: list[float]) -> Any:
        return WordSpace(model, [example], erasure="attention-mask").outputs(np.zeros(1, int), np.asarray([keep]))

    keep = [1.0] * len(encoded[0].words)
    assert float((scores(one, keep) - scores(other, keep)).abs().max()) > 1e-4
    keep[1] = 0.0
    torch.testing.assert_close(scores(one, keep), scores(other, keep))


def test_the_sentence_of_a_model() -> None:
    model = nli()
    why = saywhy.explain(model, NLI[0])  # auto
    assert why.method == "sentence"
    assert why.kind == "free-text"
    assert why.verdict is None
    said = speak(model, model.encode(NLI[:3]))
    assert why.sentence == said[0].sentence
    assert len(why.steps) == len(why.sentence.split()) + 2
    np.testing.assert_allclose(why.steps[-1], model.predict(NLI[0])[0].probabilities, atol=1e-5)
    assert "leads from" in why.to_html() or "from the start" in why.to_html()
    told = follow(model, model.encode(NLI[:3]), [s.sentence for s in said])
    assert [t.sentence for t in told] == [s.sentence for s in said]


def test_the_folder_loads(tmp_path: Path) -> None:
    for name, model, example in (("a", nli(), NLI[0]), ("b", choices(choice_states="pooled"), CHOICES[0])):
        model.save(tmp_path / name)
        again = load(tmp_path / name)
        assert again.fingerprint == model.fingerprint
        same(again.predict(example), model.predict(example))
        assert saywhy.explain(again, example).sentence == saywhy.explain(model, example).sentence


@pytest.mark.parametrize("states", ["joint", "pooled"])
def test_choices_are_read_in_one_row(states: str) -> None:
    model = choices(choice_states=states)
    example = CHOICES[0]
    item = model.encode([example])[0]
    (row,) = item.rows
    assert row.types is not None
    assert set(row.types.tolist()) == {0, 1, 2, 3, 4, 5}
    assert all(t == f for t, f in zip(row.types.tolist(), row.fields, strict=True) if f is not None)
    assert {w.field for w in item.words} == {0, 1, 2, 3, 4, 5}
    (said,) = model.predict(example)
    assert said.labels == example.choices
    assert sum(said.probabilities) == pytest.approx(1.0)
    fewer = Example(example.texts, choices=example.choices[:3])
    assert len(model.predict([fewer, example])[0].probabilities) == 3
    np.testing.assert_allclose(
        model.predict([fewer, example])[0].probabilities, model.predict(fewer)[0].probabilities, atol=1e-5
    )
    why: Any = saywhy.explain(model, example, "leave-one-out")
    assert any(w.field == 3 and s != 0 for w, s in zip(why.words, why.scores, strict=True))
    with pytest.raises(InputError, match="6 choices, the model knows at most 5"):
        model.predict(Example(example.texts, choices=(*example.choices, "another")))
    long = Example((" ".join(["word"] * 600) + " who?",), choices=example.choices)
    with pytest.raises(TooLongError, match="use truncation='head'"):
        model.predict(long)
    with pytest.warns(saywhy.errors.SayWhyWarning, match="cut to the last"):
        assert model.predict(long, truncation="head")


def test_pooled_choices_have_no_places() -> None:
    """Renumbering the choices renumbers the scores, if the encoder does not tell their places."""
    model = choices(choice_states="pooled")
    network: Any = model.module.eval()
    with torch.no_grad():
        given = inputs(model, CHOICES[:2])
        memory = network.read(**given)
        order = torch.tensor([3, 1, 4, 0, 2])
        first = network.integration.labels.first(memory)
        turned = type(memory)(
            memory.hidden, memory.mask, memory.first, memory.choices[:, order], memory.present[:, order]
        )
        torch.testing.assert_close(network.integration.labels.first(turned), first[:, order])
