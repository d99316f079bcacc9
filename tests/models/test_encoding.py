from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saywhy.errors import InputError, OptionError, TooLongError
from saywhy.models.encoding import Encoder, collate
from saywhy.types import Example
from tests import zoo

TOKENIZERS = [zoo.word_pieces(), zoo.byte_pieces(True), zoo.byte_pieces(False)]
LONG = " ".join(f"film{i} is lovely" for i in range(20))


def covered(rows: Any) -> set[int]:
    return {int(word) for row in rows for word in row.pieces.word}


@pytest.mark.parametrize("tokenizer", TOKENIZERS)
@given(text=st.text(max_size=40))
@settings(max_examples=60, deadline=None)
def test_every_word_has_pieces_and_special_tokens_have_none(tokenizer: Any, text: str) -> None:
    encoded = Encoder(tokenizer, None).encode(Example((text,)))
    (row,) = encoded.rows
    assert len(row) == len(row.offsets) == len(row.fields) == row.pieces.pieces >= 1
    owned = row.pieces.owned()
    special = np.asarray([field is None for field in row.fields])
    assert not owned[special].any()
    if encoded.words:
        assert owned[~special].all()
        if tokenizer is not TOKENIZERS[0]:  # BERT's normaliser drops some characters altogether
            assert covered(encoded.rows) == set(range(len(encoded.words)))


@pytest.mark.parametrize("tokenizer", TOKENIZERS)
@pytest.mark.parametrize("size", [9, 16, 30])
def test_windows_overlap_and_leave_nothing_out(tokenizer: Any, size: int) -> None:
    encoded = Encoder(tokenizer, size).encode(Example((LONG,)), "window")
    assert len(encoded.rows) > 1
    assert all(len(row) <= size for row in encoded.rows)
    assert covered(encoded.rows) == set(range(len(encoded.words)))
    whole = Encoder(tokenizer, None).encode(Example((LONG,))).rows[0]
    seen = {offset for row in encoded.rows for offset, field in zip(row.offsets, row.fields, strict=True) if field == 0}
    assert seen == {o for o, field in zip(whole.offsets, whole.fields, strict=True) if field == 0}
    first, second = (
        {o for o, f in zip(row.offsets, row.fields, strict=True) if f is not None} for row in encoded.rows[:2]
    )
    assert first & second
    assert encoded.notes == (f"read in {len(encoded.rows)} overlapping windows of up to {size} pieces",)


def test_windows_of_a_pair_cut_the_longer_text_only() -> None:
    for texts, cut in (((LONG, "Dull"), 0), (("Dull", LONG), 1)):
        encoded = Encoder(zoo.word_pieces(), 24).encode(Example(texts), "window")
        assert len(encoded.rows) > 1
        for row in encoded.rows:
            fixed = [w for w in row.pieces.word if encoded.words[w].field == 1 - cut]
            assert fixed
        assert covered(encoded.rows) == set(range(len(encoded.words)))
    with pytest.raises(TooLongError, match="both texts"):
        Encoder(zoo.word_pieces(), 24).encode(Example((LONG, LONG)), "window")


def test_head_keeps_the_beginning_and_says_so() -> None:
    encoder = Encoder(zoo.word_pieces(), 12)
    encoded = encoder.encode(Example((LONG,)), "head")
    (row,) = encoded.rows
    assert len(row) == 12
    whole = Encoder(zoo.word_pieces(), None).encode(Example((LONG,))).rows[0]
    assert row.ids[:-1].tolist() == whole.ids[:11].tolist()
    assert row.ids[-1] == whole.ids[-1]
    assert encoded.notes == (f"cut to the first 12 of {len(whole)} pieces",)
    # A text that fits is neither cut nor noted.
    assert encoder.encode(Example(("Dull film",)), "head").notes == ()


def test_errors_for_texts_that_cannot_be_encoded() -> None:
    encoder = Encoder(zoo.word_pieces(), 12)
    with pytest.raises(TooLongError, match=r"data.csv:7 has \d+ pieces, the model reads 12.*truncation='head'"):
        encoder.encode(Example((LONG,), source="data.csv", line=7))
    with pytest.raises(OptionError, match="unknown truncation 'tail'"):
        encoder.encode(Example(("a",)), "tail")
    with pytest.raises(InputError, match="3 texts"):
        encoder.encode(Example(("a", "b", "c")))
    with pytest.raises(InputError, match="choices go with one text"):
        encoder.encode(Example(("a", "b"), choices=("c", "d")))
    with pytest.raises(InputError, match="must be strings"):
        encoder.encode(Example((3,)))  # type: ignore[arg-type]


def test_a_pair_numbers_its_fields_and_types() -> None:
    encoded = Encoder(zoo.word_pieces(), None).encode(Example(zoo.PAIR))
    (row,) = encoded.rows
    assert row.types is not None
    fields = [field for field in row.fields if field is not None]
    assert fields == sorted(fields)
    assert set(fields) == {0, 1}
    assert all(t == f for t, f in zip(row.types, row.fields, strict=True) if f is not None)
    for number, word in zip(row.pieces.piece, row.pieces.word, strict=True):
        start, end = row.offsets[number]
        assert encoded.words[word].field == row.fields[number]
        assert zoo.PAIR[row.fields[number]][start:end] in encoded.words[word].text  # type: ignore[index]


def test_choices_give_a_row_each_and_share_the_question() -> None:
    example = Example(("What do you do?",), choices=("sleep", "run away", "eat"))
    encoded = Encoder(zoo.word_pieces(), None).encode(example)
    assert len(encoded.rows) == 3
    for number, row in enumerate(encoded.rows):
        assert {encoded.words[w].field for w in row.pieces.word} == {0, 1 + number}


def test_an_empty_text_still_gives_the_network_something_to_read() -> None:
    for tokenizer in TOKENIZERS:
        (row,) = Encoder(tokenizer, None).encode(Example(("",))).rows
        assert len(row) >= 1
        assert not row.pieces.owned().any()


def test_lone_surrogates_keep_their_offsets() -> None:
    encoded = Encoder(zoo.byte_pieces(True), None).encode(Example(("bad \ud800 film",)))
    assert encoded.words[-1].text == "film"
    assert len(encoded.words) - 1 in covered(encoded.rows)


def test_the_tokenizer_stays_as_it_was() -> None:
    tokenizer = zoo.word_pieces()
    before = tokenizer("A film", add_special_tokens=True)["input_ids"], tokenizer.model_max_length
    Encoder(tokenizer, 12).encode(Example((LONG,)), "window")
    assert (tokenizer("A film")["input_ids"], tokenizer.model_max_length) == before
    assert len(tokenizer(LONG)["input_ids"]) > 12


def test_collate_pads_on_the_right_with_a_mask() -> None:
    encoder = Encoder(zoo.word_pieces(), None)
    rows = [encoder.encode(Example((text,))).rows[0] for text in zoo.TEXTS]
    batch = collate(rows, [0, 0, 1], pad_id=0)
    assert batch.size == 2
    for i, row in enumerate(rows):
        n = len(row)
        assert batch.lengths[i] == n
        assert batch.inputs["input_ids"][i, :n].tolist() == row.ids.tolist()
        assert batch.inputs["input_ids"][i, n:].eq(0).all()
        assert batch.inputs["attention_mask"][i].tolist() == [1] * n + [0] * (batch.inputs["input_ids"].shape[1] - n)


def test_only_fast_tokenizers_will_do() -> None:
    with pytest.raises(OptionError, match="not a fast tokenizer"):
        Encoder(object(), None)
