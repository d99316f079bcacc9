from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

from saywhy.errors import OptionError
from saywhy.models import TextModel, load
from saywhy.models.networks import networks
from saywhy.models.recurrent import RecurrentConfig, RecurrentForSequenceClassification, build_recurrent
from saywhy.types import Example

TEXTS = ["The food was good, it wasn't bad.", "A bad evening; nobody smiled.", "Good food!"]
EXAMPLES = [Example((t,), label="bad" if "evening" in t else "good") for t in TEXTS]


def build(task: str = "text", **options: Any) -> tuple[Any, Any]:
    network, tokenizer = build_recurrent(EXAMPLES, task, ("bad", "good"), 0, **{"hidden_size": 8, **options})
    return network.eval(), tokenizer


VARIANTS = [
    {"cell": cell, "pooling": pooling, "layers": layers}
    for cell in ("gru", "lstm")
    for pooling in ("max", "attention")
    for layers in (1, 2)
]


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda v: "-".join(map(str, v.values())))
def test_padding_changes_nothing(variant: dict[str, Any]) -> None:
    network, _ = build(**variant)
    ids = torch.tensor([[7, 8, 9, 6, 5]])
    expected = network(ids).logits
    for left, right in [(0, 1), (0, 30), (3, 4)]:
        padded = torch.nn.functional.pad(ids, (left, right))
        mask = torch.nn.functional.pad(torch.ones_like(ids), (left, right))
        torch.testing.assert_close(network(padded, mask).logits, expected, rtol=0, atol=1e-6)
    # A row is read the same beside a longer one.
    rows = torch.tensor([[7, 8, 9, 6, 5, 0, 0], [9, 9, 8, 8, 7, 7, 6]])
    mask = torch.tensor([[1, 1, 1, 1, 1, 0, 0], [1] * 7])
    torch.testing.assert_close(network(rows, mask).logits[:1], expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("cell", ["gru", "lstm"])
def test_it_is_torchs_bidirectional_layer(cell: str) -> None:
    network, _ = build(cell=cell)
    kind = torch.nn.GRU if cell == "gru" else torch.nn.LSTM
    both = kind(100, 8, batch_first=True, bidirectional=True)
    weights = dict(network.rightward[0].state_dict())
    weights |= {f"{name}_reverse": value for name, value in network.leftward[0].state_dict().items()}
    both.load_state_dict(weights)
    ids = torch.tensor([[7, 8, 9, 6, 5]])
    hidden, _ = both(network.embeddings(ids))
    torch.testing.assert_close(network(ids).logits, network.classifier(hidden.amax(1)))


def test_a_masked_position_is_as_if_deleted_and_both_directions_are_read() -> None:
    network, _ = build()
    mask = torch.tensor([[1, 0, 1, 1]])
    deleted = network(torch.tensor([[7, 9, 6]])).logits
    torch.testing.assert_close(network(torch.tensor([[7, 8, 9, 6]]), mask).logits, deleted, rtol=0, atol=1e-6)
    for ids in ([[8, 9, 6]], [[7, 9, 8]]):
        assert not torch.allclose(network(torch.tensor(ids)).logits, deleted)


@pytest.mark.parametrize("pooling", ["max", "attention"])
def test_nothing_at_all_has_finite_logits_and_gradients(pooling: str) -> None:
    network, _ = build(pooling=pooling)
    logits = network(torch.zeros(2, 3, dtype=torch.long), torch.tensor([[0, 0, 0], [1, 0, 0]])).logits
    assert logits.isfinite().all()
    logits.sum().backward()
    assert all(p.grad.isfinite().all() for p in network.parameters() if p.grad is not None)


def test_tokenizer_splits_contractions_and_keeps_offsets() -> None:
    _, tokenizer = build()
    text = "It WASN’T  good, bad-food…"
    encoding = tokenizer(text).encodings[0]
    assert [text[a:b] for a, b in encoding.offsets] == ["It", "WAS", "N’T", "good", ",", "bad", "-", "food", "…"]
    assert encoding.tokens == ["it", "was", "n't", "good", ",", "bad", "[UNK]", "food", "[UNK]"]
    assert tokenizer("good", "bad").tokens() == ["good", "[SEP]", "bad"]


@pytest.fixture
def glove(tmp_path: Path) -> Path:
    path = tmp_path / "glove.txt"
    path.write_text("good 1 0 0\nbad 0 1 0\n[SEP] 9 9 9\nunseen 0 0 1\n")
    return path


def test_glove_vectors_are_read_and_kept(glove: Path) -> None:
    network, tokenizer = build(glove=glove)
    table, vocabulary = network.get_input_embeddings().weight, tokenizer.get_vocab()
    assert not table.requires_grad
    assert table[vocabulary["good"]].tolist() == [1, 0, 0]
    assert table[vocabulary["unseen"]].tolist() == [0, 0, 1]
    for token in ("[PAD]", "[UNK]", "[MASK]"):
        assert table[vocabulary[token]].tolist() == [0, 0, 0]
    assert table[vocabulary["[SEP]"]].abs().sum() > 0
    assert table[vocabulary["[SEP]"]].tolist() != [9, 9, 9]
    assert "food" not in vocabulary  # GloVe does not know it
    assert build(glove=glove, freeze_embeddings=False)[0].embeddings.weight.requires_grad
    assert set(build(glove=glove, vocabulary_size=1)[1].get_vocab()) & {"bad", "unseen"} == {"bad"}


@pytest.mark.parametrize("task", ["text", "pair", "choices"])
@pytest.mark.parametrize("cell", ["gru", "lstm"])
def test_saved_folders_load(tmp_path: Path, task: str, cell: str) -> None:
    network, tokenizer = build(task, cell=cell)
    labels = () if task == "choices" else ("bad", "good")
    model = TextModel(network, tokenizer, task, labels)
    model.save(tmp_path)
    again = load(tmp_path)
    inputs: Any = {
        "text": ["good food", "a bad evening; nobody smiled at the food, nobody"],
        "pair": [("good food", "bad"), ("bad", "it was good")],
        "choices": [{"question": "food", "choices": ["good", "it was bad", "bad evening"]}],
    }[task]
    for before, after in zip(model.predict(inputs), again.predict(inputs), strict=True):
        assert after.labels == before.labels
        # Not equal to the last bit: mapped files are aligned differently from memory.
        assert after.probabilities == pytest.approx(before.probabilities, abs=1e-6)
    assert again.task.name == task
    assert "embeddings" in again.capabilities


@pytest.mark.slow
def test_a_saved_folder_loads_in_a_fresh_process(tmp_path: Path) -> None:
    network, tokenizer = build()
    TextModel(network, tokenizer, "text", ("bad", "good")).save(tmp_path)
    code = f"import saywhy; print(saywhy.load({str(tmp_path)!r}).predict('good food')[0].labels)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "('bad', 'good')", done.stderr[-500:]


def test_auto_class_and_loss(tmp_path: Path) -> None:
    network, _ = build()
    network.save_pretrained(tmp_path)
    again = transformers.AutoModelForSequenceClassification.from_pretrained(tmp_path)
    assert type(again) is RecurrentForSequenceClassification
    assert type(again.config) is RecurrentConfig
    assert again.config.id2label == {0: "bad", 1: "good"}
    ids, gold = torch.tensor([[7, 8]]), torch.tensor([1])
    expected = torch.nn.functional.cross_entropy(network(ids).logits, gold)
    assert again.eval()(ids, labels=gold).loss.item() == pytest.approx(expected.item())


def test_seed_decides_the_weights() -> None:
    a, b, c = (build_recurrent(EXAMPLES, "text", ("bad", "good"), s)[0].state_dict() for s in (0, 0, 1))
    assert all(torch.equal(a[key], b[key]) for key in a)
    assert not torch.equal(a["embeddings.weight"], c["embeddings.weight"])


@pytest.mark.parametrize(
    ("options", "message"),
    [({"cell": "rnn"}, "unknown cell"), ({"pooling": "mean"}, "unknown pooling"), ({"task": "span-qa"}, "span-qa")],
)
def test_wrong_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        build(**options)


def test_registry() -> None:
    assert set(networks.names()) >= {"gru", "lstm", "minilm", "rationalizer", "text-transformer"}
    assert networks["lstm"].value(EXAMPLES, "text", ("bad", "good"), 0)[0].config.cell == "lstm"
    assert {"epochs", "learning_rate", "batch_size"} <= networks["gru"].to_dict().keys()
