"""What holds for every method on every model it claims."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import saywhy
from saywhy.errors import CapabilityError, SayWhyWarning
from saywhy.explainers import methods
from saywhy.models import TextModel
from saywhy.types import Example, WordScores, explanation_from_dict
from tests import zoo
from tests.models.test_architectures import recurrent

# What only models offer that explain themselves is tested with these.
METHODS = [
    entry.name for entry in methods if not entry.fitted and "words" in entry.spaces and "rationale" not in entry.needs
]
ATTENTION = {"attention", "scaled-attention"}
# Where it looks by default depends on rounding, and takes long on networks with random weights.
# Few samples and large steps save time, and all are drawn: when a sampler stops depends on rounding too.
OPTIONS: dict[str, dict[str, Any]] = {
    "auto": {"budget": 9},
    "back-select": {"step": 0.25},
    "integrated-gradients": {"points": 5},
    "kernel-shap": {"samples": 40, "tolerance": None},
    "lime": {"samples": 40, "tolerance": None},
    "shapley": {"exact": 5, "samples": 40, "tolerance": None},
}


def explain(model: Any, inputs: Any, method: str, **options: Any) -> Any:
    return saywhy.explain(model, inputs, method, **{**OPTIONS.get(method, {}), **options})


def agree(one: WordScores, other: WordScores) -> None:
    assert one.words == other.words
    assert one.target == other.target
    np.testing.assert_allclose(one.header.probabilities, other.header.probabilities, atol=1e-5)
    scale = max(1.0, float(np.abs(one.scores).max()))
    np.testing.assert_allclose(np.asarray(one.scores) / scale, np.asarray(other.scores) / scale, atol=5e-5)


def check(model: TextModel, inputs: list[Any], method: str) -> list[WordScores]:
    """List in, list out, and the same as one by one; a finite score for every word of the text and no others."""
    made: Any = explain(model, inputs, method)
    assert isinstance(made, list)
    assert len(made) == len(inputs)
    for given, why, prediction in zip(inputs, made, model.predict(inputs), strict=True):
        assert why.header.parameters.get("chosen-by", why.method) == method
        assert why.words == model.words(given)
        assert len(why.scores) == len(why.words)
        assert np.isfinite(why.scores).all()
        assert why.target == prediction.label
        np.testing.assert_allclose(why.header.probabilities, prediction.probabilities, atol=1e-5)
        fields = (*why.header.texts, *why.header.choices)
        assert all(fields[w.field][w.start : w.end] == w.text for w in why.words)
        assert why.header.model == model.fingerprint
        assert explanation_from_dict(why.to_dict()) == why
        agree(why, explain(model, given, method))  # type: ignore[arg-type]
    return made


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("architecture", zoo.ARCHITECTURES)
def test_every_method_on_every_architecture(method: str, architecture: str) -> None:
    made = check(zoo.shared(architecture), zoo.TEXTS, method)
    assert [why.header.texts for why in made] == [(text,) for text in zoo.TEXTS]


@pytest.mark.parametrize("architecture", ["bert", "distilbert"])
def test_integrated_gradients_where_it_looks_by_itself(architecture: str) -> None:
    model = zoo.shared(architecture)
    made: Any = saywhy.explain(model, zoo.TEXTS)
    for text, why in zip(zoo.TEXTS, made, strict=True):
        alone: Any = saywhy.explain(model, text)
        assert why.method == "integrated-gradients"
        scale = float(np.abs(why.scores).max())
        np.testing.assert_allclose(np.asarray(why.scores) / scale, np.asarray(alone.scores) / scale, atol=3e-2)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("architecture", ["deberta-v2", "mpnet", "t5", "gru", "lstm"])
def test_every_method_that_needs_no_attention(method: str, architecture: str) -> None:
    model = recurrent(architecture) if architecture in ("gru", "lstm") else zoo.shared(architecture)
    if method not in ATTENTION:
        check(model, zoo.TEXTS, method)
        return
    with pytest.raises(CapabilityError, match=r"needs attention of the model.*these would do:") as caught:
        explain(model, zoo.TEXTS, method)
    able = str(caught.value).rsplit("these would do: ", 1)[1].split(", ")
    assert set(able) == set(METHODS) - ATTENTION
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("architecture", ["bert", "roberta", "bart"])
def test_pairs(method: str, architecture: str) -> None:
    made = check(zoo.pair_classifier(architecture), [zoo.PAIR, ("Dull film", "It sleeps.")], method)
    assert {word.field for word in made[0].words} == {0, 1}


@pytest.mark.parametrize("method", [e.name for e in methods if not e.fitted and "alignments" in e.spaces])
@pytest.mark.parametrize("architecture", ["bert", "decomposable-attention"])
def test_an_empty_text_has_nothing_to_align(method: str, architecture: str) -> None:
    options = {"space": "alignments"} if "words" in methods[method].spaces else {}
    few: dict[str, Any] = {"arec": {"steps": 3, "samples": 2}, "interaction": {"contexts": 4}}
    options |= few.get(method, {})
    model = zoo.pair_classifier(architecture)
    beside = explain(model, [("A film", ""), ("", "A film"), ("It sleeps.", "Dull film")], method, **options)
    assert [np.shape(why.scores) for why in beside] == [(2, 0), (0,), (3, 2)]
    assert np.isfinite(beside[2].scores).all()
    assert np.shape(explain(model, ("A film", ""), method, **options).scores) == (2, 0)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("architecture", ["bert", "roberta", "gru"])
def test_choices_of_different_number(method: str, architecture: str) -> None:
    if architecture == "gru":
        if method in ATTENTION:
            pytest.skip("a recurrent network has no attention to tap")
        model = recurrent("gru", "choices")
    else:
        model = zoo.shared_chooser(architecture)
    made = check(model, zoo.QUESTIONS, method)
    assert [len(why.header.labels) for why in made] == [3, 2]
    assert {word.field for word in made[0].words} == {0, 1, 2, 3}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("architecture", ["bert", "roberta"])
def test_span_qa(method: str, architecture: str) -> None:
    made = check(zoo.shared_reader(architecture), zoo.CONTEXTS, method)
    assert all(why.target in context for why, (_, context) in zip(made, zoo.CONTEXTS, strict=True))


@pytest.mark.parametrize("method", METHODS)
def test_black_boxes(method: str) -> None:
    def function(texts: list[str]) -> list[list[float]]:
        return [[1 / (1 + len(t)), len(t) / (1 + len(t))] for t in texts]

    model = saywhy.load(function, labels=["short", "long"])
    if methods[method].needs == ("outputs",):
        check(model, zoo.TEXTS, method)
        return
    with pytest.raises(CapabilityError, match=r"these would do: .*leave-one-out.*, random"):
        explain(model, zoo.TEXTS, method)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("architecture", ["bert", "gpt2", "bart"])
def test_windows_and_batches_smaller_than_their_number(method: str, architecture: str) -> None:
    model = zoo.shared(architecture)
    long = " ".join(zoo.TEXTS * 3)
    with pytest.warns(SayWhyWarning, match="windows"):
        whole, short = explain(model, [long, zoo.TEXTS[0]], method, truncation="window")
    with pytest.warns(SayWhyWarning, match="windows"):
        few, _ = explain(model, [long, zoo.TEXTS[0]], method, truncation="window", batch_size=2)
    alone = explain(model, zoo.TEXTS[0], method)
    with pytest.warns(SayWhyWarning, match="cut to the first"):
        cut = explain(model, long, method, truncation="head")
    assert "windows" in whole.header.notes[0]
    assert len(whole.scores) == len(model.words(long)) == len(cut.scores)  # type: ignore[attr-defined]
    assert np.isfinite(whole.scores).all()  # type: ignore[attr-defined]
    agree(whole, few)  # type: ignore[arg-type]
    agree(short, alone)  # type: ignore[arg-type]
    # Words of every window count; words that were cut off do not.
    assert np.abs(whole.scores[-3:]).max() > 0  # type: ignore[attr-defined]
    assert np.abs(cut.scores[-3:]).max() == 0  # type: ignore[attr-defined]
    assert "cut to the first" in cut.header.notes[0]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("architecture", ["bert", "gpt2", "bart"])
def test_the_batch_size_changes_nothing(method: str, architecture: str) -> None:
    model = zoo.shared(architecture)
    one = explain(model, zoo.TEXTS, method, batch_size=1)
    many = explain(model, zoo.TEXTS, method, batch_size=32)
    assert len(many) == len(zoo.TEXTS)  # type: ignore[arg-type]
    for a, b in zip(one, many, strict=True):
        agree(a, b)  # type: ignore[arg-type]


@pytest.mark.parametrize("method", METHODS)
def test_nothing_of_the_callers_is_changed(method: str) -> None:
    network, tokenizer = zoo.network_and_tokenizer("bert")
    network.train()
    network.bert.encoder.layer[0].eval()
    network.bert.embeddings.word_embeddings.weight.requires_grad_(False)
    modes = [m.training for m in network.modules()]
    flags = [p.requires_grad for p in network.parameters()]
    weights = {k: v.clone() for k, v in network.state_dict().items()}
    config = network.config.to_dict()
    inputs = [Example((t,)) for t in zoo.TEXTS]
    given = list(inputs)
    explain((network, tokenizer), inputs, method, target=1)
    assert [m.training for m in network.modules()] == modes
    assert [p.requires_grad for p in network.parameters()] == flags
    assert all(p.grad is None for p in network.parameters())
    assert all(torch.equal(v, weights[k]) for k, v in network.state_dict().items())
    assert network.config.to_dict() == config
    assert inputs == given
    assert torch.is_grad_enabled()


@pytest.mark.parametrize("method", METHODS)
def test_the_seed_decides_everything(method: str) -> None:
    model = zoo.shared()
    one, again = (explain(model, zoo.TEXTS[0], method, seed=3) for _ in range(2))
    assert one == again
    assert one.header.seed == 3


@pytest.mark.parametrize("method", METHODS)
def test_half_precision(method: str) -> None:
    network, tokenizer = zoo.network_and_tokenizer("bert")
    model = saywhy.load((network.to(torch.bfloat16), tokenizer), labels=zoo.LABELS)
    for why in explain(model, zoo.TEXTS, method):
        assert np.isfinite(why.scores).all()  # type: ignore[attr-defined]


def test_the_registry_says_what_each_method_is() -> None:
    assert set(METHODS) >= {
        "random", "attention", "scaled-attention", "gradient", "input-x-gradient", "integrated-gradients",
        "leave-one-out",
    }  # fmt: skip
    for entry in methods:
        assert entry.family
        assert entry.summary.endswith(".")
        assert set(entry.needs) <= {
            "outputs", "gradients", "embeddings", "attention", "alignments", "rationale", "sentences",
        }  # fmt: skip
        assert entry.needs
        assert entry.value.name == entry.name
        assert entry.paper or entry.name in ("auto", "random")
