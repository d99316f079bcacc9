from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from saywhy.data.words import split_words
from saywhy.errors import CapabilityError, OptionError
from saywhy.models import Row, TextModel
from saywhy.models.encoding import collate
from saywhy.models.erasures import CONTINUOUS, ERASURES, check_erasure, default_erasure, erase_row, erase_text
from saywhy.models.word_space import WordSpace
from saywhy.types import Example
from tests import zoo

TEXT = zoo.TEXTS[2]
ALL = [*zoo.ARCHITECTURES, "deberta-v2", "mpnet", "t5"]


def whole_row(model: TextModel, text: str = TEXT) -> Row:
    return model.encode([Example((text,))])[0].rows[0]


def pieces_of(row: Row, word: int) -> np.ndarray:
    return np.unique(row.pieces.piece[row.pieces.word == word])


def logits(model: TextModel, ids: np.ndarray, **changes: np.ndarray) -> torch.Tensor:
    """What the network itself says, without any of our batching."""
    row = whole_row(model)
    types = None if row.types is None else np.zeros(len(ids), dtype=np.int64)
    made = Row(np.asarray(ids), types, row.pieces, ((0, 0),) * len(ids), (None,) * len(ids))
    batch = collate([made], [0], model.task.pad_id)
    for name, value in changes.items():
        batch.inputs[name] = torch.from_numpy(value)[None]
    with torch.no_grad():
        return model.task.raw(model.module, batch)[0]


def erased(model: TextModel, erasure: str, gone: list[int]) -> torch.Tensor:
    space = WordSpace(model, [Example((TEXT,))], erasure=erasure)
    keep = np.ones((1, len(space.features[0])))
    keep[0, gone] = 0
    return space.outputs(np.zeros(1, dtype=int), keep)[0]


@pytest.mark.parametrize("architecture", ALL)
def test_delete_equals_the_row_made_by_hand(architecture: str) -> None:
    model = zoo.shared(architecture)
    row = whole_row(model)
    gone = np.concatenate([pieces_of(row, 0), pieces_of(row, 5)])
    torch.testing.assert_close(
        erased(model, "delete", [0, 5]), logits(model, np.delete(row.ids, gone)), atol=1e-5, rtol=1e-5
    )


@pytest.mark.parametrize("architecture", ["bert", "roberta", "bart", "deberta-v2", "t5"])
def test_mask_tokens_stand_where_the_pieces_were(architecture: str) -> None:
    model = zoo.shared(architecture)
    row = whole_row(model)
    ids = row.ids.copy()
    ids[pieces_of(row, 1)] = model.tokenizer.mask_token_id
    torch.testing.assert_close(erased(model, "mask-token", [1]), logits(model, ids), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("architecture", ["bert", "roberta", "mpnet", "bart", "t5"])
def test_padding_ids_do_not_move_the_later_words(architecture: str) -> None:
    model = zoo.shared(architecture)
    row = whole_row(model)
    ids = row.ids.copy()
    ids[pieces_of(row, 1)] = model.tokenizer.pad_token_id
    changes = {}
    if architecture in ("roberta", "mpnet"):
        changes["position_ids"] = np.arange(len(ids)) + 2
    torch.testing.assert_close(erased(model, "pad", [1]), logits(model, ids, **changes), atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(erased(model, "pad", []), logits(model, row.ids), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("architecture", ["roberta", "mpnet"])
def test_a_whole_row_is_the_same_beside_padded_ones(architecture: str) -> None:
    model = zoo.shared(architecture)
    space = WordSpace(model, [Example((TEXT,))], erasure="pad")
    keep = np.ones((2, len(space.features[0])))
    keep[1, 1] = 0
    found = space.outputs(np.zeros(2, dtype=int), keep)[0]
    torch.testing.assert_close(found, logits(model, whole_row(model).ids), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("architecture", [a for a in zoo.ARCHITECTURES if a != "bart"])
def test_attention_mask_is_the_networks_own(architecture: str) -> None:
    model = zoo.shared(architecture)
    row = whole_row(model)
    mask = np.ones(len(row), dtype=np.int64)
    mask[pieces_of(row, 0)] = 0
    mask[pieces_of(row, 4)] = 0
    found = erased(model, "attention-mask", [0, 4])
    torch.testing.assert_close(found, logits(model, row.ids, attention_mask=mask), atol=1e-5, rtol=1e-5)
    assert (found - logits(model, row.ids)).abs().max() > 1e-4


def test_bart_hides_words_from_its_decoder_too() -> None:
    model = zoo.shared("bart")
    row = whole_row(model)
    mask = torch.ones(1, len(row), dtype=torch.long)
    mask[0, pieces_of(row, 4)] = 0
    shifted = torch.cat([torch.ones(1, 1, dtype=torch.long), mask[:, :-1]], dim=1)
    with torch.no_grad():
        expected = model.module(
            input_ids=torch.from_numpy(row.ids)[None], attention_mask=mask, decoder_attention_mask=shifted
        ).logits[0]
    torch.testing.assert_close(erased(model, "attention-mask", [4]), expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("architecture", ["bert", "distilbert", "modernbert", "deberta-v2"])
def test_zero_embedding_is_that_of_inputs_embeds(architecture: str) -> None:
    model = zoo.shared(architecture)
    row = whole_row(model)
    ids = torch.from_numpy(row.ids)[None]
    with torch.no_grad():
        vectors = model.module.get_input_embeddings()(ids)  # type: ignore[operator]
        vectors[0, pieces_of(row, 2)] = 0
        expected = model.module(inputs_embeds=vectors, attention_mask=torch.ones_like(ids)).logits[0]
    torch.testing.assert_close(erased(model, "zero-embedding", [2]), expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("architecture", ["bert", "roberta", "bart"])
@pytest.mark.parametrize("erasure", sorted(ERASURES))
@given(data=st.data())
@settings(max_examples=15, deadline=None)
def test_special_tokens_are_never_erased(architecture: str, erasure: str, data: st.DataObject) -> None:
    model = zoo.shared(architecture)
    row = whole_row(model)
    keep = np.asarray(
        data.draw(st.lists(st.sampled_from([0.0, 1.0]), min_size=row.pieces.words, max_size=row.pieces.words))
    )
    made = erase_row(model, row, keep, erasure)
    special = np.asarray([field is None for field in row.fields])
    assert special.any()
    if made.keep is not None:
        assert (made.keep[special] == 1).all()
    kept_ids = made.ids[[field is None for field in made.fields]]
    assert kept_ids.tolist() == row.ids[special].tolist()
    if erasure != "delete":
        assert len(made) == len(row)
    else:
        assert len(made) == len(row) - (row.pieces.keep_pieces(keep) == 0).sum()
    # The row that was given is as it was.
    assert row.ids.tolist() == whole_row(model).ids.tolist()
    assert row.keep is None


@pytest.mark.parametrize("architecture", ALL)
@pytest.mark.parametrize("erasure", sorted(ERASURES))
def test_all_words_can_be_erased(architecture: str, erasure: str) -> None:
    model = zoo.shared(architecture)
    try:
        check_erasure(model, erasure)
    except CapabilityError as error:
        assert "it can by delete" in str(error)  # noqa: PT017
        return
    space = WordSpace(model, [Example((text,)) for text in zoo.TEXTS], erasure=erasure)
    width = max(len(words) for words in space.features)
    found = space.outputs(np.arange(3), np.zeros((3, width)))
    assert found.isfinite().all()
    if erasure == "delete":
        # Nothing is left to tell the texts apart.
        torch.testing.assert_close(found, found[:1].expand(3, -1), atol=1e-5, rtol=1e-5)
    if erasure in CONTINUOUS:
        _, values, gradient = space.value_and_grad(np.arange(3), np.zeros((3, width)), lambda s, owner: s[:, 0])
        torch.testing.assert_close(values, found[:, 0], atol=1e-5, rtol=1e-5)
        assert np.isfinite(gradient).all()
        # A decoder whose first word is gone once had gradients of 1e31.
        assert np.abs(gradient).max() < 1e12


def test_errors_name_what_would_do() -> None:
    model = zoo.shared("gpt2")
    with pytest.raises(OptionError, match="unknown erasure 'burn'; use one of delete, mask-token"):
        check_erasure(model, "burn")
    with pytest.raises(
        CapabilityError, match="cannot erase by 'pad'; it can by delete, attention-mask, zero-embedding"
    ):
        check_erasure(model, "pad")
    with pytest.raises(OptionError, match="has no gradient; use attention-mask or zero-embedding"):
        check_erasure(model, "delete", continuous=True)
    with pytest.raises(OptionError, match=r"has no gradient; use zero-embedding$"):
        check_erasure(zoo.shared("deberta-v2"), "delete", continuous=True)


def test_the_default_keeps_positions_where_they_matter() -> None:
    assert default_erasure(zoo.shared()) == WordSpace(zoo.shared(), []).erasure == "delete"
    assert default_erasure(zoo.shared_reader()) == WordSpace(zoo.shared_reader(), []).erasure == "mask-token"
    with pytest.raises(CapabilityError, match="cannot erase by 'delete'"):
        check_erasure(zoo.shared_reader(), "delete")


@given(st.text(alphabet="ab ,.!\n", max_size=20), st.data())
@settings(max_examples=100, deadline=None)
def test_text_without_words_has_the_other_words(text: str, data: st.DataObject) -> None:
    words = split_words(text)
    keep = np.asarray(data.draw(st.lists(st.booleans(), min_size=len(words), max_size=len(words))), dtype=bool)
    found = erase_text(Example((text,)), words, keep).texts[0]
    left = "".join(w.text for w, k in zip(words, keep, strict=True) if k)
    assert "".join(found.split()) == "".join(left.split())
    if keep.all():
        assert found == text
    masked = erase_text(Example((text,)), words, keep, "#").texts[0]
    assert masked.count("#") == (~keep).sum()


def test_only_the_field_of_a_word_changes() -> None:
    example = Example(("one two",), choices=("three", "four five"))
    words = tuple(w for i, t in enumerate(example.fields) for w in split_words(t, i))
    keep = np.asarray([1, 0, 1, 0, 1])
    found = erase_text(example, words, keep)
    assert (found.texts, found.choices) == (("one",), ("three", "five"))
