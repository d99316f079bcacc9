from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch
import transformers

import saywhy
from saywhy.errors import OptionError
from saywhy.models.text_transformer import SPECIAL_TOKENS, build_text_transformer, train_tokenizer
from saywhy.types import Example

TEXTS = ["The food was wonderful, the café wasn't.", "A dreadful evening; nobody smiled.", "Wonderful food!"] * 3
EXAMPLES = [Example((t,), label="good" if "onderful" in t else "bad") for t in TEXTS]


def build(task: str = "text", seed: int = 0, **options: object) -> tuple[object, object]:
    return build_text_transformer(
        EXAMPLES, task, ("bad", "good"), seed, **{"width": 16, "heads": 2, "vocabulary_size": 120, **options}
    )


def test_offsets_point_into_the_text_as_it_was_given() -> None:
    _, tokenizer = build()
    text = "The CAFÉ  wasn't wonderfully dreadful."
    encoding = tokenizer(text).encodings[0]
    assert encoding.tokens[0] == "[CLS]"
    assert encoding.tokens[-1] == "[SEP]"
    for piece, (start, end) in list(zip(encoding.tokens, encoding.offsets, strict=True))[1:-1]:
        assert piece.removeprefix("##") == text[start:end].lower().replace("é", "e")
    assert any(piece.startswith("##") for piece in encoding.tokens)


def test_pairs_have_types_and_two_separators() -> None:
    _, tokenizer = build()
    encoding = tokenizer("food", "evening")
    assert encoding.tokens().count("[SEP]") == 2
    assert encoding["token_type_ids"][0] == 0
    assert encoding["token_type_ids"][-1] == 1


def test_case_is_kept_if_asked() -> None:
    assert "Wonderful" not in build()[1].get_vocab()
    tokenizer = train_tokenizer(TEXTS, vocabulary_size=300, lower_case=False, max_length=64)
    assert "Wonderful" in tokenizer.get_vocab()
    assert tokenizer.model_max_length == 64


def test_vocabulary_is_bounded_and_knows_every_letter() -> None:
    _, tokenizer = build(vocabulary_size=60)
    assert len(tokenizer) <= 60
    assert len(build(vocabulary_size=20)[1]) == 20
    assert [tokenizer.convert_tokens_to_ids(t) for t in SPECIAL_TOKENS] == list(range(5))
    assert tokenizer.unk_token_id not in tokenizer("foodful evenings").input_ids[1:-1]
    assert tokenizer.unk_token_id in tokenizer("漢").input_ids


def test_weights_are_a_function_of_the_seed() -> None:
    first, second, other = (build(seed=seed)[0].state_dict() for seed in (0, 0, 1))
    assert all(torch.equal(first[key], second[key]) for key in first)
    assert not torch.equal(
        first["bert.encoder.layer.0.attention.self.query.weight"],
        other["bert.encoder.layer.0.attention.self.query.weight"],
    )


@pytest.mark.slow
def test_tokenizer_is_the_same_in_every_process() -> None:
    # The library's own WordPiece trainer fails this.
    code = (
        "from tests.models.test_text_transformer import TEXTS, train_tokenizer;"
        "t = train_tokenizer(TEXTS, vocabulary_size=100, lower_case=True, max_length=64);"
        "print(t.backend_tokenizer.to_str())"
    )
    root = Path(__file__).parents[2]
    outputs = {subprocess.run([sys.executable, "-c", code], capture_output=True, cwd=root).stdout for _ in range(3)}
    assert len(outputs) == 1
    assert b"##" in outputs.pop()


@pytest.mark.parametrize(
    ("task", "kind"),
    [
        ("text", transformers.BertForSequenceClassification),
        ("pair", transformers.BertForSequenceClassification),
        ("choices", transformers.BertForMultipleChoice),
        ("span-qa", transformers.BertForQuestionAnswering),
    ],
)
def test_heads(task: str, kind: type, tmp_path: Path) -> None:
    network, tokenizer = build(task)
    assert type(network) is kind
    network.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    again = transformers.AutoTokenizer.from_pretrained(tmp_path)
    assert again("Wonderful food").input_ids == tokenizer("Wonderful food").input_ids
    if task == "text":
        assert network.config.id2label == {0: "bad", 1: "good"}


def test_wrong_options() -> None:
    with pytest.raises(OptionError, match="multiple of heads"):
        build(width=10, heads=4)
    with pytest.raises(OptionError, match="unknown task"):
        build("story")
    with pytest.raises(OptionError, match="at least two labels"):
        build_text_transformer(EXAMPLES, "text", ("only",), 0)


@pytest.mark.parametrize("architecture", ["bert", "gpt2", "llama"])
def test_architectures_learn_and_are_explained(architecture: str, tmp_path: Path) -> None:
    model = saywhy.train(
        "plain",
        data=EXAMPLES * 4,
        model="text-transformer",
        epochs=14,
        learning_rate=3e-3,
        batch_size=6,
        quiet=True,
        model_options={"architecture": architecture, "width": 32, "heads": 2, "vocabulary_size": 120},
    )
    model.save(tmp_path)
    again = saywhy.load(tmp_path)
    assert type(again.network).__name__.lower().startswith(architecture)
    assert {"attention", "embeddings"} <= again.capabilities
    good = [p.probabilities[1] for p in again.predict(TEXTS[:3])]
    assert min(good[0], good[2]) > good[1] + 0.05
    for method in ("attention", "input-x-gradient", "deeplift"):
        assert saywhy.explain(again, TEXTS[0], method).words


def test_decoders_have_no_head_for_choices() -> None:
    with pytest.raises(OptionError, match="there is no gpt2 for choices"):
        build("choices", architecture="gpt2")
    with pytest.raises(OptionError, match="unknown architecture 'mamba'"):
        build(architecture="mamba")
