from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from saywhy.errors import CapabilityError, OptionError
from saywhy.models.sentences import PieceVocabulary, WordVocabulary, of_one_length, pad_sentences, vocabulary_of
from tests import zoo

SENTENCE = "A dog isn't an animal , and (so) on; it's 5 o'clock."


@pytest.mark.parametrize("sentence", [SENTENCE, "a", "...", "don't !"])
def test_what_is_known_comes_back_as_it_was(sentence: str) -> None:
    known = WordVocabulary.of([sentence], 100)
    ids = known.encode(sentence)
    assert ids[-1] == 2
    assert 3 not in ids
    assert " ".join(word for word, _ in known.words(ids)) == sentence


@given(st.text(alphabet="ab.,'- é", max_size=20))
def test_any_sentence_comes_back_up_to_its_spaces(sentence: str) -> None:
    known = WordVocabulary.of([sentence, "x"], 1000)
    words = known.words(known.encode(sentence))
    assert " ".join(word for word, _ in words) == " ".join(sentence.split())
    steps = [step for _, step in words]
    assert steps == sorted(set(steps))


def test_steps_are_those_that_end_a_word() -> None:
    known = WordVocabulary.of([SENTENCE], 100)
    assert known.words(known.encode("an animal; (so)")) == [("an", 0), ("animal;", 2), ("(so)", 5)]
    assert known.words(known.encode("an animal,")) == [("an", 0), ("animal", 1), (",", 2)]  # better apart than unknown


def test_frequent_words_come_first_and_unknown_ones_are_marked() -> None:
    known = WordVocabulary.of(["b a", "b c", "b a"], 6)
    assert known.table[4:] == ("b", "a")
    assert known.encode("c B") == [3, 4, 2]
    with pytest.raises(OptionError, match="needs more than 4 words"):
        WordVocabulary.of(["a"], 4)


def test_pieces_of_a_tokenizer() -> None:
    tokenizer = zoo.byte_pieces(True)
    known = PieceVocabulary(tokenizer, tokenizer.eos_token_id)
    sentence = "A beautifully shot film, xyz."
    ids = known.encode(sentence)
    words = known.words(ids)
    assert " ".join(word for word, _ in words) == sentence
    for i, (_, step) in enumerate(words):
        assert tokenizer.decode(ids[: step + 1], skip_special_tokens=True).split() == sentence.split()[: i + 1]


def test_pieces_around_an_apostrophe_are_one_word() -> None:
    decoded = {1: "you", 2: "don", 3: "'", 4: "t", 5: "say"}
    tokenizer = SimpleNamespace(decode=lambda ids, skip_special_tokens: " ".join(decoded[i] for i in ids))
    words = PieceVocabulary(tokenizer, 0).words([1, 2, 3, 4, 5])
    assert words == [("you", 0), ("don't", 3), ("say", 4)]


def test_padding_keeps_the_end() -> None:
    assert pad_sentences([[5, 6, 7, 2], [5, 2]], 0, 3).tolist() == [[5, 6, 2], [5, 2, 0]]


def test_a_model_that_says_nothing() -> None:
    with pytest.raises(CapabilityError, match="says nothing"):
        vocabulary_of(zoo.shared("bert"))


def test_tables_of_one_length() -> None:
    some, others = torch.tensor([[4, 2, 0], [4, 5, 2]]), torch.tensor([[4, 2]])
    one, other = of_one_length(some, others, 0)
    assert (one.tolist(), other.tolist()) == (some.tolist(), [[4, 2, 0]])
    one, other = of_one_length(others, some, 0)
    assert (one.tolist(), other.tolist()) == ([[4, 2, 0]], some.tolist())
