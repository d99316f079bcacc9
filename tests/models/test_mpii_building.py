"""MPII over any encoder, out of a whole sequence-to-sequence model, and what no network can be made of."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers

import saywhy
from saywhy.errors import OptionError, SayWhyWarning, TooLongError
from saywhy.models import TextModel, load
from saywhy.models.mpii_building import build_mpii
from saywhy.models.sentences import vocabulary_of
from saywhy.types import Example
from tests import zoo

from .test_mpii import LABELS, NLI, TINY, nli, same


def test_a_whole_sequence_to_sequence_model(tmp_path: Path) -> None:
    tokenizer = zoo.byte_pieces(True)
    config = transformers.BartConfig(
        vocab_size=len(tokenizer), d_model=32, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2,
        decoder_attention_heads=2, encoder_ffn_dim=32, decoder_ffn_dim=32, max_position_embeddings=128,
        pad_token_id=tokenizer.pad_token_id, bos_token_id=tokenizer.bos_token_id, eos_token_id=tokenizer.eos_token_id,
        decoder_start_token_id=tokenizer.eos_token_id,
    )  # fmt: skip
    source = transformers.BartForConditionalGeneration(config)
    source.save_pretrained(tmp_path / "bart")
    tokenizer.save_pretrained(tmp_path / "bart")
    network, tokenizer = build_mpii(NLI, "pair", LABELS, 0, seq2seq=tmp_path / "bart", longest=8)
    torch.testing.assert_close(network.decoder.layers[0].fc1.weight, source.model.decoder.layers[0].fc1.weight)
    torch.testing.assert_close(network.encoder.layers[0].fc1.weight, source.model.encoder.layers[0].fc1.weight)
    model = TextModel(network, tokenizer, "pair", LABELS)
    why = saywhy.explain(model, NLI[0])
    assert why.method == "sentence"
    np.testing.assert_allclose(why.steps[-1], model.predict(NLI[0])[0].probabilities, atol=1e-5)
    known = vocabulary_of(model)
    assert " ".join(w for w, _ in known.words(known.encode("A dull film."))) == "A dull film."
    model.save(tmp_path / "mpii")
    same(load(tmp_path / "mpii").predict(NLI[0]), model.predict(NLI[0]))
    # Its positions end somewhere, and what does not fit is cut or refused before it gets there.
    assert model.encoder.max_length == load(tmp_path / "mpii").encoder.max_length == 128
    long = replace(NLI[0], texts=("word " * 200, NLI[0].texts[1]))
    with pytest.raises(TooLongError):
        model.predict(long)
    with pytest.warns(SayWhyWarning, match="cut to the first 128"):
        assert model.predict(long, truncation="head")
    short, tokenizer = build_mpii(NLI, "pair", LABELS, 0, seq2seq=tmp_path / "bart", longest=8, max_length=32)
    assert TextModel(short, tokenizer, "pair", LABELS).encoder.max_length == 32
    with pytest.raises(OptionError, match="longest must be at most 128"):
        build_mpii(NLI, "pair", LABELS, 0, seq2seq=tmp_path / "bart", longest=129)
    with pytest.raises(OptionError, match="encoder, layers cannot be chosen with seq2seq"):
        build_mpii(NLI, "pair", LABELS, 0, seq2seq=tmp_path / "bart", encoder="minilm", layers=3)
    with pytest.raises(OptionError, match="mpii takes it whole, as seq2seq"):
        nli(encoder=tmp_path / "bart", encoder_options=None)


def saved(architecture: str, folder: Path) -> Path:
    network, tokenizer = zoo.network_and_tokenizer(architecture)
    network.base_model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.mark.parametrize("architecture", ["roberta", "electra", "distilbert", "modernbert", "mpnet"])
def test_any_encoder(architecture: str, tmp_path: Path) -> None:
    model = nli(encoder=saved(architecture, tmp_path / "encoder"), encoder_options=None)
    pair = ("a dog", "a cat")
    why: Any = saywhy.explain(model, pair)
    np.testing.assert_allclose(why.steps[-1], model.predict([pair])[0].probabilities, atol=1e-5)
    given = zoo.network_and_tokenizer(architecture)[0].base_model
    torch.testing.assert_close(model.module.encoder.get_input_embeddings().weight, given.get_input_embeddings().weight)


@pytest.mark.parametrize("architecture", ["gpt2", "llama"])
def test_what_reads_from_left_to_right_is_no_encoder(architecture: str, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="reads from left to right"):
        nli(encoder=saved(architecture, tmp_path / "decoder"), encoder_options=None)


def test_mistakes_are_named() -> None:
    for wrong, says in (
        ({"heads": 0}, "heads must be at least 1, not 0"),
        ({"longest": 0}, "longest must be at least 1"),
        ({"dropout": 1.5}, "dropout must be at least 0 and below 1"),
        ({"width": 30, "heads": 4}, "width must be a multiple of heads, not 30 and 4"),
    ):
        with pytest.raises(OptionError, match=says):
            nli(**wrong)
    with pytest.raises(OptionError, match="unknown integration 'half'; use one of full"):
        nli(integration="half")
    with pytest.raises(OptionError, match="no explanations in words to learn from"):
        build_mpii([Example(("a", "b"), "neutral")], "pair", LABELS, 0, **TINY)
    with pytest.raises(OptionError, match="'gru' cannot be the encoder"):
        nli(encoder="gru")
    with pytest.raises(OptionError, match="encoder 'text-transformer' has no option depth"):
        nli(encoder_options={"depth": 3})
    with pytest.raises(OptionError, match="mpii does text, pair and choices"):
        build_mpii(NLI, "span-qa", (), 0)
