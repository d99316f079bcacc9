from __future__ import annotations

import subprocess
import sys
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import saywhy
from saywhy.errors import CapabilityError, OptionError
from saywhy.models import TextModel, load
from saywhy.models.rationales import rationalizer_of, read_rationales
from saywhy.models.rationalizer import build_rationalizer, piece_mask
from saywhy.types import Example, as_example
from tests import zoo

SMALL: dict[str, dict[str, Any]] = {
    "gru": {"hidden_size": 8, "embedding_size": 12},
    "lstm": {"hidden_size": 8, "embedding_size": 12},
    "text-transformer": {"layers": 1, "width": 16, "heads": 2, "vocabulary_size": 300},
}
EXAMPLES = [Example((line,)) for line in zoo.LINES]
ENCODERS = ["gru", "lstm", "text-transformer", "roberta", "distilbert", "gpt2", "bart"]


def small(encoder: str = "gru", task: str = "text", folder: Path | None = None) -> TextModel:
    if encoder in SMALL:
        made = build_rationalizer(EXAMPLES, task, ("no", "yes"), 0, encoder=encoder, encoder_options=SMALL[encoder])
    else:
        assert folder is not None
        network, tokenizer = zoo.network_and_tokenizer(encoder)
        network.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        made = build_rationalizer(EXAMPLES, task, ("no", "yes"), 0, encoder=folder)
    return TextModel(*made, task, ("no", "yes"))


@lru_cache
def shared(encoder: str = "gru", task: str = "text") -> TextModel:
    return small(encoder, task)


def halves(model: TextModel, text: Any, mask: np.ndarray) -> np.ndarray:
    """Scores of an input of which only the words in the mask are read."""
    return read_rationales(model, model.encode([as_example(text)]), masks=[mask])[0].scores


@pytest.mark.parametrize("encoder", ENCODERS)
def test_every_encoder(encoder: str, tmp_path: Path) -> None:
    model = small(encoder, folder=tmp_path / "encoder")
    assert "rationale" in model.capabilities
    assert not model.reads_padding
    together = model.predict(zoo.TEXTS)
    for text, found in zip(zoo.TEXTS, together, strict=True):
        np.testing.assert_allclose(model.predict(text)[0].probabilities, found.probabilities, atol=1e-5)
    # Only the words in the mask are read: other words in the place of the rest change nothing.
    words = [word.text for word in model.words(zoo.TEXTS[0])]
    mask = np.asarray([i in (1, 4) for i in range(len(words))])
    if encoder in ("gru", "lstm"):  # whose pieces are words, so that the places stay
        changed = " ".join(w if kept else "the" for w, kept in zip(words, mask, strict=True))
        np.testing.assert_allclose(halves(model, zoo.TEXTS[0], mask), halves(model, changed, mask), atol=1e-6)
    assert not np.allclose(halves(model, zoo.TEXTS[0], mask), halves(model, zoo.TEXTS[0], ~mask), atol=1e-5)


@pytest.mark.parametrize("encoder", ["gru", "text-transformer"])
def test_a_selected_word_is_read_whole_and_the_others_not_at_all(encoder: str) -> None:
    model = shared(encoder)
    network, encoded = rationalizer_of(model), model.encode([as_example(t) for t in zoo.TEXTS])
    batch = model.task.collate(encoded)
    choice = network.choose(batch.inputs)
    assert choice.logits.shape[:2] == choice.real.shape
    assert choice.real.sum(1).tolist() == [len(item.words) for item in encoded]
    mask = torch.zeros(choice.real.shape)
    mask[0, 1] = 1
    kept = piece_mask(batch.inputs["word_ids"], mask)
    row = encoded[0].rows[0]
    pieces = {int(p) for p, w in zip(row.pieces.piece, row.pieces.word, strict=True) if w == 1}
    specials = {i for i, field in enumerate(row.fields) if field is None}
    padding = set(range(len(row), kept.shape[1]))
    assert set(torch.nonzero(kept[0]).flatten().tolist()) == pieces | specials | padding


def test_padding_changes_neither_the_choice_nor_the_prediction() -> None:
    model = shared()
    network = rationalizer_of(model)
    inputs = dict(model.task.collate(model.encode([as_example(zoo.TEXTS[0])])).inputs)
    longer = {name: torch.nn.functional.pad(value, (0, 5)) for name, value in inputs.items()}
    with model.evaluation(), torch.no_grad():
        one, other = network.choose(inputs), network.choose(longer)
        size = one.real.shape[1]
        torch.testing.assert_close(one.logits, other.logits[:, :size])
        mask = torch.ones_like(one.real, dtype=torch.float32)
        torch.testing.assert_close(network.predict(inputs, mask), network.predict(longer, mask))
        torch.testing.assert_close(network(**longer).logits, network(**inputs).logits)


def test_nothing_is_drawn_in_evaluation_nor_in_training() -> None:
    model = small()
    first = saywhy.explain(model, zoo.TEXTS, method="rationale")
    model.module.train()
    assert saywhy.explain(model, zoo.TEXTS, method="rationale") == first
    assert model.module.training


@pytest.mark.parametrize("encoder", ["gru", "text-transformer"])
def test_a_query_is_always_read_and_never_selected(encoder: str) -> None:
    model = shared(encoder, "pair")
    example = Example(("What lets go?", zoo.TEXTS[0]), meta={"fixed": (0,)})
    (reading,) = read_rationales(model, model.encode([example]))
    query = np.asarray([word.field == 0 for word in model.words(example)])
    assert not reading.free[query].any()
    assert reading.free[~query].all()
    assert not reading.selected[query].any()
    nothing = np.zeros(len(query), dtype=bool)
    other = Example(("Who sits in a car?", zoo.TEXTS[0]), meta={"fixed": (0,)})
    more = np.zeros(len(model.words(other)), dtype=bool)
    scores = [
        read_rationales(model, model.encode([e]), masks=[m])[0].scores for e, m in ((example, nothing), (other, more))
    ]
    assert not np.allclose(*scores, atol=1e-6)  # the query is read
    free = Example(example.texts)
    assert read_rationales(model, model.encode([free]))[0].free.all()


def test_it_is_saved_and_loaded_in_a_new_process(tmp_path: Path) -> None:
    model = small()
    model.save(tmp_path)
    code = (
        "import sys, saywhy; m = saywhy.load(sys.argv[1]); "
        "print(m.fingerprint, saywhy.explain(m, sys.argv[2], method='rationale', verdict=False).selected)"
    )
    run = subprocess.run([sys.executable, "-c", code, str(tmp_path), zoo.TEXTS[2]], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    why: Any = saywhy.explain(model, zoo.TEXTS[2], method="rationale", verdict=False)
    assert run.stdout.strip() == f"{model.fingerprint} {why.selected}"


def test_frozen_vectors_are_kept_once(tmp_path: Path) -> None:
    vectors = tmp_path / "vectors.txt"
    vectors.write_text("film 1 0 0\ngripping 0 1 0\ndull 0 0 1\n")
    model = TextModel(*build_rationalizer(EXAMPLES, "text", ("no", "yes"), 0, glove=vectors), "text", ("no", "yes"))
    network = rationalizer_of(model)
    assert network.selector.encoder.embeddings.weight is network.predictor.embeddings.weight
    assert not network.predictor.embeddings.weight.requires_grad
    model.save(tmp_path / "model")
    again = rationalizer_of(load(tmp_path / "model"))
    assert again.selector.encoder.embeddings.weight is again.predictor.embeddings.weight
    assert load(tmp_path / "model").fingerprint == model.fingerprint


def test_windows_and_texts_that_are_cut() -> None:
    model = shared("text-transformer")
    limited = TextModel(model.module, model.tokenizer, "text", model.labels, max_length=12)
    text = " ".join(zoo.TEXTS)
    with pytest.warns(saywhy.errors.SayWhyWarning, match="windows"):
        whole: Any = saywhy.explain(limited, text, method="rationale", truncation="window")
    with pytest.warns(saywhy.errors.SayWhyWarning, match="cut"):
        cut: Any = saywhy.explain(limited, text, method="rationale", truncation="head")
    assert len(whole.words) == len(cut.words) == len(model.words(text))
    assert min(whole.scores) > 0
    assert set(cut.scores[-3:]) == {0.0}


def test_mistakes(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="not choices"):
        build_rationalizer(EXAMPLES, "choices", (), 0)
    with pytest.raises(OptionError, match="glove goes with"):
        build_rationalizer(EXAMPLES, "text", ("no", "yes"), 0, encoder="text-transformer", glove="glove")
    with pytest.raises(OptionError, match="has no option depth"):
        build_rationalizer(EXAMPLES, "text", ("no", "yes"), 0, encoder_options={"depth": 3})
    with pytest.raises(OptionError, match="cannot be the encoder"):
        build_rationalizer(EXAMPLES, "text", ("no", "yes"), 0, encoder="rationalizer")
    with pytest.raises(CapabilityError, match="no rationalizer"):
        rationalizer_of(zoo.shared())
    with pytest.raises(CapabilityError, match="needs rationale of the model"):
        saywhy.explain(zoo.shared(), "A film", method="rationale")
