"""CAGE's network: it explains, then decides by what it reads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import saywhy
from saywhy.data import load_dataset
from saywhy.errors import CapabilityError, OptionError
from saywhy.models import TextModel, load
from saywhy.models.cage import build_cage
from saywhy.models.sentences import follow, pad_sentences, speak, vocabulary_of
from saywhy.types import Example

TINY: dict[str, Any] = {
    "layers": 1,
    "width": 32,
    "heads": 2,
    "longest": 10,
    "encoder_options": {"layers": 1, "width": 32, "heads": 2, "vocabulary_size": 400},
}
NLI = list(load_dataset("planted-nli", n={"train": 40, "dev": 1, "test": 1})["train"])
CHOICES = list(load_dataset("planted-choices", n={"train": 30, "dev": 1, "test": 1})["train"])
LABELS = ("entailment", "neutral", "contradiction")


def made(task: str, **options: Any) -> TextModel:
    examples, labels = (CHOICES, ()) if task == "choices" else (NLI, LABELS)
    network, tokenizer = build_cage(examples, task, labels, 0, **{**TINY, **options})
    return TextModel(network, tokenizer, task, labels)


def inputs(model: TextModel, examples: list[Example]) -> dict[str, torch.Tensor]:
    return model.task.collate(model.encode(examples)).inputs


def some(task: str) -> list[Example]:
    return (CHOICES if task == "choices" else NLI)[:5]


@pytest.mark.parametrize("task", ["pair", "choices"])
def test_company_changes_nothing(task: str) -> None:
    model = made(task)
    assert not model.reads_padding
    together = speak(model, model.encode(some(task)), 8)
    for number, example in enumerate(some(task)):
        alone = speak(model, model.encode([example]))[0]
        assert alone.sentence == together[number].sentence
        size = len(alone.steps[0])
        np.testing.assert_allclose(alone.scores[:size], together[number].scores[:size], atol=1e-5)


@torch.no_grad()
@pytest.mark.parametrize("task", ["pair", "choices"])
def test_what_is_written_word_by_word_is_what_the_scores_say(task: str) -> None:
    model = made(task)
    network: Any = model.module.eval()
    given = inputs(model, some(task))
    ids, total = network.write(given["input_ids"], given["attention_mask"])
    scores = network.word_scores(ids, given["input_ids"], given["attention_mask"])
    config = network.config
    scores[..., [config.pad_id, config.start_id]] = -torch.inf
    scores[:, 0, config.end_id] = -torch.inf
    real = ids != config.pad_id
    assert bool((scores.argmax(-1) == ids)[real].all())
    chances = scores.log_softmax(-1).gather(-1, ids.unsqueeze(-1)).squeeze(-1)
    torch.testing.assert_close((chances.masked_fill(~real, 0.0)).sum(1), total, atol=1e-4, rtol=1e-4)


@torch.no_grad()
def test_the_reader_sees_question_explanation_and_one_choice() -> None:
    model = made("choices")
    network: Any = model.module.eval()
    seen: list[dict[str, torch.Tensor]] = []
    network.encoder.register_forward_pre_hook(lambda _, args, kwargs: seen.append(kwargs), with_kwargs=True)
    example = Example(("which one is red ?",), choices=("the rose", "coal"))
    given = inputs(model, [example])
    said = model.tokenizer("because of it", add_special_tokens=False)["input_ids"]
    network.decide(torch.tensor([[*said, network.config.end_id]]), **given)
    table = network.get_input_embeddings().weight
    for number, choice in enumerate(example.choices):
        wanted = [
            *model.tokenizer(example.texts[0])["input_ids"],
            *said,
            network.config.end_id,
            *model.tokenizer(choice)["input_ids"][1:],
        ]
        mask = seen[-1]["attention_mask"][number] > 0
        torch.testing.assert_close(seen[-1]["inputs_embeds"][number][mask], table[wanted])
        last = len(model.tokenizer(choice)["input_ids"]) - 1
        types = seen[-1]["token_type_ids"][number][mask].tolist()
        assert types == [0] * (len(wanted) - last) + [1] * last


def test_the_label_follows_the_sentence() -> None:
    model = made("pair")
    encoded = model.encode(NLI[:4])
    one, other = (follow(model, encoded, [text] * 4) for text in ("the same", NLI[0].explanations[0]))
    assert max(float(np.abs(a.scores - b.scores).max()) for a, b in zip(one, other, strict=True)) > 1e-4


@pytest.mark.parametrize("task", ["pair", "choices"])
def test_saved_and_read_again(task: str, tmp_path: Path) -> None:
    model = made(task)
    model.save(tmp_path)
    again = load(tmp_path)
    for before, after in zip(saywhy.explain(model, some(task)), saywhy.explain(again, some(task)), strict=True):
        assert before.sentence == after.sentence  # type: ignore[union-attr]
        np.testing.assert_allclose(before.prediction.probabilities, after.prediction.probabilities, atol=1e-6)


def test_words_of_explanations_are_known() -> None:
    model = made("pair")
    known = vocabulary_of(model)
    for example in NLI[:10]:
        sentence = example.explanations[0]
        assert model.tokenizer.unk_token_id not in known.encode(sentence)
        ids = pad_sentences([known.encode(sentence)], 0)
        assert " ".join(word for word, _ in known.words(ids[0].tolist())) == sentence.lower()


def test_what_it_cannot_do_it_says() -> None:
    model = made("pair")
    with pytest.raises(CapabilityError, match="attention"):
        saywhy.explain(model, NLI[0], "attention")
    with pytest.raises(OptionError, match="beams are for mpii"):
        saywhy.explain(model, NLI[0], "sentence", beams=2)
    with pytest.raises(OptionError, match="multiple of heads"):
        made("pair", width=33)
    with pytest.raises(OptionError, match="not span-qa"):
        build_cage(NLI, "span-qa", (), 0)
    bare = [Example(e.texts, e.label) for e in NLI]
    with pytest.raises(OptionError, match="no explanations in words"):
        build_cage(bare, "pair", LABELS, 0)


@pytest.mark.parametrize("method", ["leave-one-out", "input-x-gradient", "lime"])
def test_other_methods_explain_it_too(method: str) -> None:
    options = {"samples": 20} if method == "lime" else {}
    why: Any = saywhy.explain(made("choices"), CHOICES[0], method, **options)
    assert np.isfinite(why.scores).all()
    assert np.abs(why.scores).max() > 0
