"""Small networks of many architectures, made from their configurations, with tokenizers made from a few lines."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch
import transformers as tf
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

import saywhy
from saywhy.models import TextModel
from saywhy.models.networks import networks
from saywhy.types import Example

LINES = [
    "A gripping, beautifully shot film that never lets go.",
    "Dull and lifeless; I slept through most of it.",
    "People walk through a store. Passengers sit in a car.",
    "What do you do when you are tired? You sleep, eat or run away.",
    "It isn't great, but the acting was fine and the score is lovely!",
]
LABELS = ["negative", "neutral", "positive"]
TEXTS = [
    "A gripping, beautifully shot film.",
    "Dull",
    "It isn't great; I slept through most of it, but the score is lovely!",
]
PAIR = ("People walk through a store.", "Passengers sit in a car.")
SIZES: dict[str, Any] = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48}


@lru_cache
def word_pieces() -> tf.PreTrainedTokenizerFast:
    """BERT's kind: WordPiece with [CLS] and [SEP]."""
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    # Made by hand: a trained WordPiece vocabulary differs from process to process. Longer words are in two pieces.
    words = sorted(set(re.findall(r"[a-z]+", " ".join(LINES).lower())))
    pieces = [part for word in words for part in ((word,) if len(word) < 5 else (word[:3], f"##{word[3:]}"))]
    letters = [chr(c) for c in range(33, 127) if not chr(c).isupper()]
    vocabulary = list(dict.fromkeys([*special, *pieces, *letters, *(f"##{c}" for c in letters if c.isalnum())]))
    raw = Tokenizer(models.WordPiece({piece: i for i, piece in enumerate(vocabulary)}, unk_token="[UNK]"))
    raw.normalizer = normalizers.BertNormalizer(lowercase=True)
    raw.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    raw.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    names = {f"{n}_token": f"[{n.upper()}]" for n in ("pad", "unk", "cls", "sep", "mask")}
    names_of_inputs = ["input_ids", "token_type_ids", "attention_mask"]
    return tf.PreTrainedTokenizerFast(tokenizer_object=raw, model_input_names=names_of_inputs, **names)


def save_encoder(folder: Path) -> Path:
    """A tiny BERT without a head, in a folder, with the tokenizer of `word_pieces`."""
    torch.manual_seed(0)
    tokenizer = word_pieces()
    config = tf.BertConfig(**SIZES, vocab_size=len(tokenizer), max_position_embeddings=64)
    tf.BertModel(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@lru_cache
def byte_pieces(special_tokens: bool) -> tf.PreTrainedTokenizerFast:
    """RoBERTa's and BART's kind (byte-level BPE with <s> and </s>), or GPT-2's and Llama's (without)."""
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    raw = Tokenizer(models.BPE())
    raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    raw.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    raw.train_from_iterator(
        LINES, trainers.BpeTrainer(vocab_size=320, special_tokens=special, initial_alphabet=alphabet)
    )
    names: dict[str, Any] = {"model_input_names": ["input_ids", "attention_mask"]}
    if special_tokens:
        raw.post_processor = processors.TemplateProcessing(
            single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
        )
        names |= {
            "bos_token": "<s>",
            "pad_token": "<pad>",
            "eos_token": "</s>",
            "mask_token": "<mask>",
            "cls_token": "<s>",
        }
    else:
        names |= {"eos_token": "</s>"}
    return tf.PreTrainedTokenizerFast(tokenizer_object=raw, **names)


def _network(architecture: str, head: str, vocabulary: int, **options: Any) -> Any:
    torch.manual_seed(0)
    common = {"vocab_size": vocabulary, "num_labels": len(LABELS)} | options
    if architecture == "bert":
        config: Any = tf.BertConfig(**SIZES, max_position_embeddings=64, **common)
    elif architecture == "roberta":
        config = tf.RobertaConfig(**SIZES, max_position_embeddings=66, pad_token_id=1, **common)
    elif architecture == "electra":
        config = tf.ElectraConfig(**SIZES, embedding_size=16, max_position_embeddings=64, **common)
    elif architecture == "albert":
        config = tf.AlbertConfig(**SIZES, embedding_size=16, max_position_embeddings=64, **common)
    elif architecture == "distilbert":
        config = tf.DistilBertConfig(dim=32, n_layers=2, n_heads=4, hidden_dim=48, max_position_embeddings=64, **common)
    elif architecture == "modernbert":
        config = tf.ModernBertConfig(
            **SIZES, max_position_embeddings=64, local_attention=8, pad_token_id=0, cls_token_id=2, sep_token_id=3,
            bos_token_id=2, eos_token_id=3, **common,
        )  # fmt: skip
    elif architecture == "gpt2":
        config = tf.GPT2Config(n_embd=32, n_layer=2, n_head=4, n_positions=64, bos_token_id=2, eos_token_id=2, **common)
    elif architecture == "llama":
        config = tf.LlamaConfig(**SIZES, num_key_value_heads=2, max_position_embeddings=64, **common)
    elif architecture == "bart":
        config = tf.BartConfig(
            d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4,
            encoder_ffn_dim=48, decoder_ffn_dim=48, max_position_embeddings=64, scale_embedding=True,
            bos_token_id=0, pad_token_id=1, eos_token_id=2, decoder_start_token_id=2, forced_eos_token_id=2, **common,
        )  # fmt: skip
    elif architecture == "deberta-v2":
        config = tf.DebertaV2Config(**SIZES, max_position_embeddings=64, **common)
    elif architecture == "mpnet":
        config = tf.MPNetConfig(**SIZES, max_position_embeddings=66, pad_token_id=1, **common)
    elif architecture == "t5":
        config = tf.T5Config(
            d_model=32, d_kv=8, d_ff=48, num_layers=2, num_heads=4, pad_token_id=1, eos_token_id=2,
            decoder_start_token_id=1, **common,
        )  # fmt: skip
    else:
        raise ValueError(architecture)
    network = getattr(tf, head).from_config(config)
    # Fresh weights are so small that every logit is nearly zero; larger ones make differences show.
    for parameter in network.parameters():
        if parameter.dim() > 1:
            torch.nn.init.normal_(parameter, std=0.25)
    return network.eval()


BYTE_LEVEL = {"roberta": True, "bart": True, "t5": True, "mpnet": True, "gpt2": False, "llama": False}
ARCHITECTURES = ["bert", "roberta", "electra", "albert", "distilbert", "modernbert", "gpt2", "llama", "bart"]


def network_and_tokenizer(
    architecture: str, head: str = "AutoModelForSequenceClassification", **options: Any
) -> tuple[Any, Any]:
    tokenizer = byte_pieces(BYTE_LEVEL[architecture]) if architecture in BYTE_LEVEL else word_pieces()
    return _network(architecture, head, len(tokenizer), **options), tokenizer


def classifier(architecture: str = "bert", **options: Any) -> TextModel:
    return saywhy.load(network_and_tokenizer(architecture, **options), labels=LABELS)


CO_ATTENTION = ("decomposable-attention", "esim")


def pair_classifier(architecture: str = "bert") -> TextModel:
    if architecture in CO_ATTENTION:
        examples = [Example((line, line)) for line in LINES]
        network, tokenizer = networks[architecture].value(
            examples, "pair", LABELS, 0, embedding_size=16, hidden_size=12
        )
        return saywhy.load((network.eval(), tokenizer), labels=LABELS, task="pair")
    return saywhy.load(network_and_tokenizer(architecture), labels=LABELS, task="pair")


def chooser(architecture: str = "bert") -> TextModel:
    return saywhy.load(network_and_tokenizer(architecture, "AutoModelForMultipleChoice"))


def reader(architecture: str = "bert") -> TextModel:
    return saywhy.load(network_and_tokenizer(architecture, "AutoModelForQuestionAnswering", num_labels=2))


@lru_cache
def shared(architecture: str = "bert") -> TextModel:
    """A classifier that several tests look at and none changes."""
    return classifier(architecture)


@lru_cache
def shared_reader(architecture: str = "bert") -> TextModel:
    return reader(architecture)


@lru_cache
def shared_chooser(architecture: str = "bert") -> TextModel:
    return chooser(architecture)


QUESTIONS = [
    {"question": "What do you do when you are tired?", "choices": ["sleep", "eat", "run away"]},
    {"question": "Dull film?", "choices": ["You sleep through most of it", "run"]},
]
CONTEXTS = [
    ("What lets go?", "A gripping, beautifully shot film that never lets go."),
    ("Who sits in a car?", "Passengers sit in a car."),
]
