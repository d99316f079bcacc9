from __future__ import annotations

from typing import Any

import pytest
import torch

from saywhy.errors import OptionError
from saywhy.models.mpii_building import build_mpii
from saywhy.models.sentences import SPECIAL_WORDS
from saywhy.models.word_starts import principal_directions
from tests.models.test_mpii import ENCODER, LABELS, NLI, TINY


def build(**options: Any) -> tuple[Any, Any]:
    return build_mpii(NLI, "pair", LABELS, 0, **{**TINY, "encoder_options": ENCODER, **options})


@torch.no_grad()
@pytest.mark.parametrize("width", [8, ENCODER["width"], 2 * ENCODER["width"]])
def test_words_begin_as_the_encoder_knows_them(width: int) -> None:
    (drawn, _), (network, tokenizer) = (build(width=width, heads=2, word_vectors=name) for name in ("drawn", "encoder"))
    count, own = len(SPECIAL_WORDS), network.decoder.embed_tokens.weight
    assert torch.equal(own[:count], drawn.decoder.embed_tokens.weight[:count])
    table = network.encoder.get_input_embeddings().weight
    words = network.config.words[count:]
    pieces = tokenizer([word.removeprefix("##") or word for word in words], add_special_tokens=False)["input_ids"]
    vectors = torch.stack([table[torch.tensor(ids)].mean(0) for ids in pieces])
    centred = vectors - vectors.mean(0)
    size = min(width, table.shape[1])
    assert float(own[count:, :size].norm(dim=1).mean()) == pytest.approx(1.0, rel=1e-4)
    # As near to each other as in the encoder, as far as there is room.
    best = torch.linalg.svdvals(centred)[:size].square().sum() / centred.square().sum()
    products = own[count:, :size] @ own[count:, :size].T
    wanted = centred @ centred.T
    agreement = (products * wanted).sum() / (products.norm() * wanted.norm())
    assert float(agreement) > 0.999 if size == table.shape[1] else float(agreement) >= float(best)


@torch.no_grad()
def test_a_state_that_looks_like_a_word_of_the_input_is_that_word_of_the_decoder() -> None:
    network, tokenizer = build(width=16, heads=2, word_vectors="encoder")
    words = network.config.words
    known = [w for w in words[len(SPECIAL_WORDS) :] if len(tokenizer(w, add_special_tokens=False)["input_ids"]) == 1]
    assert len(known) > 5
    ids = torch.tensor([tokenizer(word, add_special_tokens=False)["input_ids"][0] for word in known])
    states = network.bridge[0](network.encoder.get_input_embeddings().weight[ids])
    own = network.decoder.embed_tokens.weight[torch.tensor([words.index(word) for word in known])]
    near = torch.nn.functional.cosine_similarity(
        (states - states.mean(0)).unsqueeze(1), (own - own.mean(0)).unsqueeze(0), dim=-1
    )
    torch.testing.assert_close(own[near.argmax(1)], own)  # words that differ in case only have one vector


@torch.no_grad()
def test_an_encoder_that_knows_nothing_yet_is_not_asked() -> None:
    """The default goes by whether the encoder was trained before."""
    (given, _), (drawn, _) = build(), build(word_vectors="drawn")
    assert torch.equal(given.decoder.embed_tokens.weight, drawn.decoder.embed_tokens.weight)
    with pytest.raises(OptionError, match="unknown word_vectors 'glove'; use one of encoder, drawn"):
        build(word_vectors="glove")


def test_principal_directions_are_those_of_the_singular_values() -> None:
    points = torch.randn(50, 6, generator=torch.Generator().manual_seed(0)) * torch.tensor([5.0, 4, 3, 2, 1, 0.5])
    centred = points - points.mean(0)
    found = principal_directions(centred, 3)
    torch.testing.assert_close(found.T @ found, torch.eye(3), atol=1e-5, rtol=0)
    expected = torch.linalg.svd(centred).Vh[:3]
    torch.testing.assert_close((expected @ found).abs(), torch.eye(3), atol=1e-4, rtol=0)
