from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import saywhy
from saywhy.errors import CapabilityError, OptionError, SayWhyWarning
from saywhy.models import TextModel
from saywhy.models.recurrent import build_recurrent
from saywhy.types import Example
from tests import zoo

PLACE = {"bert": 0, "distilbert": 0, "albert": 0, "gpt2": -1, "llama": -1, "bart": -1}


def eager(architecture: str, text: str) -> torch.Tensor:
    """Layers x heads x L x L of a text alone, from the eager attention of a fresh copy."""
    network, tokenizer = zoo.network_and_tokenizer(architecture)
    network.set_attn_implementation("eager")
    given = tokenizer(text, return_tensors="pt")
    given.pop("token_type_ids", None)
    body = network.base_model if architecture in ("gpt2", "llama") else network
    with torch.no_grad():
        out = body(**given, output_attentions=True)
    return torch.cat(out.cross_attentions if architecture == "bart" else out.attentions)


def words_of(model: TextModel, text: str, pieces: torch.Tensor) -> np.ndarray:
    return model.encode([saywhy.Example((text,))])[0].rows[0].pieces.word_scores(pieces.numpy())


def scores(model: TextModel, inputs: Any, **options: Any) -> list[np.ndarray]:
    return [np.asarray(why.scores) for why in saywhy.explain(model, inputs, "attention", **options)]  # type: ignore[attr-defined]


@pytest.mark.parametrize("architecture", sorted(PLACE))
@pytest.mark.parametrize("layers", ["last", "mean"])
def test_the_deciding_position_of_eager_attention(architecture: str, layers: str) -> None:
    model = zoo.shared(architecture)
    for text, found in zip(zoo.TEXTS, scores(model, zoo.TEXTS, layers=layers), strict=True):
        tables = eager(architecture, text).mean(1)
        table = tables[-1] if layers == "last" else tables.mean(0)
        np.testing.assert_allclose(found, words_of(model, text, table[PLACE[architecture]]), atol=1e-5)


@pytest.mark.parametrize("query", ["first", "last", "mean"])
def test_whose_attention_can_be_chosen(query: str) -> None:
    model = zoo.shared()
    for text, found in zip(zoo.TEXTS, scores(model, zoo.TEXTS, query=query), strict=True):
        table = eager("bert", text)[-1].mean(0)
        row = {"first": table[0], "last": table[-1], "mean": table.mean(0)}[query]
        np.testing.assert_allclose(found, words_of(model, text, row), atol=1e-5)


def test_the_reading_is_written_down() -> None:
    assert saywhy.explain(zoo.shared("gpt2"), "film", "attention").header.parameters["query"] == "last"
    assert saywhy.explain(zoo.shared_reader(), zoo.CONTEXTS[0], "attention").header.parameters["query"] == "mean"
    network, tokenizer = zoo.network_and_tokenizer("modernbert", classifier_pooling="mean")
    why = saywhy.explain((network, tokenizer), "film", "attention")
    assert why.header.parameters == {"layers": "last", "query": "mean"}


def test_what_special_tokens_get_is_nobodys() -> None:
    (found,) = scores(zoo.shared(), zoo.TEXTS[:1])
    table = eager("bert", zoo.TEXTS[0])[-1].mean(0)[0]
    assert found.sum() == pytest.approx(float(1 - table[0] - table[-1]), abs=1e-5)


def test_only_the_choice_asked_about_is_read() -> None:
    model = zoo.shared_chooser()
    question = zoo.QUESTIONS[0]
    for target in range(3):
        why: Any = saywhy.explain(model, question, "attention", target=target)
        for word, score in zip(why.words, why.scores, strict=True):
            assert (score > 0) == (word.field in (0, 1 + target))


def test_unknown_readings() -> None:
    with pytest.raises(OptionError, match="unknown layers 'first'; use one of last, mean"):
        saywhy.explain(zoo.shared(), "film", "attention", layers="first")
    with pytest.raises(OptionError, match="unknown query 'cls'"):
        saywhy.explain(zoo.shared(), "film", "attention", query="cls")


def test_words_on_which_windows_overlap_are_not_counted_twice() -> None:
    model = zoo.shared("bert")
    long = " ".join(zoo.TEXTS * 4)
    with pytest.warns(SayWhyWarning, match="windows"):
        item = model.encode([Example((long,))], truncation="window")[0]
    with pytest.warns(SayWhyWarning, match="windows"):
        why = saywhy.explain(model, long, "attention", truncation="window")
    shown = np.zeros(len(item.words))
    for row in item.rows:
        shown[np.unique(row.pieces.word)] += 1
    assert set(shown.tolist()) == {1.0, 2.0}
    scores = np.asarray(why.scores)  # type: ignore[attr-defined]
    # An untrained network attends to all words about equally.
    assert 0.6 < scores[shown == 2].mean() / scores[shown == 1].mean() < 1.5


@pytest.mark.parametrize("cell", ["gru", "lstm"])
def test_pooling_by_attention_is_read_as_it_pools(cell: str) -> None:
    examples = [Example((t,), label) for t, label in (("a good , long evening", "good"), ("bad food", "bad"))]
    network, tokenizer = build_recurrent(
        examples, "text", ("bad", "good"), 0, cell=cell, pooling="attention", hidden_size=4
    )
    model = TextModel(network, tokenizer, "text", ("bad", "good"))
    assert "pooling" in model.capabilities
    assert "attention" not in model.capabilities
    whys: Any = saywhy.explain(model, examples, method="attention", verdict=False)
    for why, example in zip(whys, examples, strict=True):
        assert sum(why.scores) == pytest.approx(1, abs=1e-5)
        # By hand: softmax of the layer's scores of the states, one piece for each word here.
        ids = torch.tensor([tokenizer(example.texts[0])["input_ids"]])
        with torch.no_grad():
            states = network.eval().states(ids)
            by_hand = network.attention(states).squeeze(-1).softmax(-1)[0]
            logits = network.classifier((by_hand.unsqueeze(-1) * states[0]).sum(0))
        np.testing.assert_allclose(why.scores, by_hand.numpy(), atol=1e-5)
        torch.testing.assert_close(network(ids).logits[0], logits)
    with pytest.raises(CapabilityError, match=r"needs attention of the model.*these would do: .*attention"):
        saywhy.explain(model, examples[0], method="scaled-attention")
    plain, tokenizer = build_recurrent(examples, "text", ("bad", "good"), 0, cell=cell, hidden_size=4)
    with pytest.raises(CapabilityError, match="needs attention of the model"):
        saywhy.explain(TextModel(plain, tokenizer, "text", ("bad", "good")), examples[0], method="attention")
