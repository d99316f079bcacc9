"""A small transformer from scratch, with a tokenizer trained on the same texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import torch

from saywhy.errors import OptionError
from saywhy.ops.randomness import global_seed
from saywhy.types import Example

__all__ = [
    "SPECIAL_TOKENS",
    "build_text_transformer",
    "check_shape",
    "draw_linears",
    "head_arguments",
    "train_tokenizer",
    "wrap_tokenizer",
]

SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


def build_text_transformer(
    examples: Sequence[Example],
    task: str,
    labels: Sequence[str],
    seed: int,
    *,
    architecture: str = "bert",
    layers: int = 2,
    width: int = 128,
    heads: int = 4,
    vocabulary_size: int = 8000,
    lower_case: bool = True,
    max_length: int = 512,
    dropout: float = 0.1,
) -> tuple[Any, Any]:
    """A small BERT, GPT-2 or Llama from scratch, with its own tokenizer; learns planted corpora in a minute.

    Args:
        examples: the training examples; the tokenizer is trained on their texts and choices.
        task: ``text``, ``pair``, ``choices`` or ``span-qa``.
        labels: names of the classes.
        seed: of the initial weights.
        architecture: ``bert``; or ``gpt2`` or ``llama``, which read from left to right and decide at the last piece.
        layers: number of blocks.
        width: size of the hidden states; the feed-forward part is twice as wide.
        heads: attention heads a block.
        vocabulary_size: most pieces of the tokenizer.
        lower_case: read capitals as small letters and leave out accents.
        max_length: most pieces of an input.
        dropout: share of activations left out in training.

    Returns:
        The network and its tokenizer.
    """
    import transformers

    if architecture not in _CONFIGURATIONS:
        raise OptionError(f"unknown architecture {architecture!r}; use one of {', '.join(_CONFIGURATIONS)}")
    check_shape(
        dropout, layers=layers, width=width, heads=heads, vocabulary_size=vocabulary_size, max_length=max_length
    )
    name, extra = head_arguments(task, labels)
    kind = getattr(transformers, _CONFIGURATIONS[architecture].prefix + name, None)
    if kind is None:
        raise OptionError(f"there is no {architecture} for {task}; use architecture='bert'")
    texts = (text for example in examples for text in example.fields)
    tokenizer = train_tokenizer(
        texts,
        vocabulary_size=vocabulary_size,
        lower_case=lower_case,
        max_length=max_length,
        type_ids=architecture == "bert",
    )
    config = _CONFIGURATIONS[architecture].make(
        layers,
        width,
        heads,
        dropout,
        vocab_size=len(tokenizer),
        max_position_embeddings=max_length,
        pad_token_id=tokenizer.pad_token_id,
        **extra,
    )
    with global_seed(seed, "text-transformer"):
        network = kind(config)
        draw_linears(network)
    return network, tokenizer


def _bert(layers: int, width: int, heads: int, dropout: float, **facts: Any) -> Any:
    import transformers

    return transformers.BertConfig(
        hidden_size=width,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        intermediate_size=2 * width,
        hidden_dropout_prob=dropout,
        attention_probs_dropout_prob=dropout,
        **facts,
    )


def _gpt2(layers: int, width: int, heads: int, dropout: float, **facts: Any) -> Any:
    import transformers

    return transformers.GPT2Config(
        n_embd=width,
        n_layer=layers,
        n_head=heads,
        n_inner=2 * width,
        resid_pdrop=dropout,
        embd_pdrop=dropout,
        attn_pdrop=dropout,
        initializer_range=width**-0.5,  # its layers are no linear ones that `draw_linears` would find
        bos_token_id=None,
        eos_token_id=None,
        **facts,
    )


def _llama(layers: int, width: int, heads: int, dropout: float, **facts: Any) -> Any:
    import transformers

    return transformers.LlamaConfig(
        hidden_size=width,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        # As in its larger kin, two heads share their keys.
        num_key_value_heads=heads // 2 if heads % 2 == 0 else heads,
        intermediate_size=2 * width,
        attention_dropout=dropout,
        bos_token_id=None,
        eos_token_id=None,
        **facts,
    )


class _Architecture(NamedTuple):
    prefix: str
    make: Callable[..., Any]


_CONFIGURATIONS = {
    "bert": _Architecture("Bert", _bert),
    "gpt2": _Architecture("GPT2", _gpt2),
    "llama": _Architecture("Llama", _llama),
}


def draw_linears(network: torch.nn.Module) -> None:
    """Draw linear layers by their size; BERT's 0.02 is meant for 768 dimensions and starves small networks."""
    for module in network.modules():
        if isinstance(module, torch.nn.Linear):
            torch.nn.init.xavier_uniform_(module.weight)


def check_shape(dropout: float, **sizes: int) -> None:
    """Raise an error for sizes below 1, a dropout that is no share, or heads that a width cannot be split among."""
    for name, size in sizes.items():
        if size < 1:
            raise OptionError(f"{name} must be at least 1, not {size}")
    if not 0 <= dropout < 1:
        raise OptionError(f"dropout must be at least 0 and below 1, not {dropout}")
    if sizes.get("width", 0) % sizes.get("heads", 1):
        raise OptionError(f"width must be a multiple of heads, not {sizes['width']} and {sizes['heads']}")


def head_arguments(task: str, labels: Sequence[str]) -> tuple[str, dict[str, Any]]:
    """The end of the class name of a task's transformers head, and what its configuration needs."""
    names = {
        "text": "ForSequenceClassification",
        "pair": "ForSequenceClassification",
        "choices": "ForMultipleChoice",
        "span-qa": "ForQuestionAnswering",
    }
    if task not in names:
        raise OptionError(f"unknown task {task!r}; known: {', '.join(names)}")
    if names[task] != "ForSequenceClassification":
        return names[task], {}
    if len(labels) < 2:
        raise OptionError(f"a classifier needs at least two labels; the data has {len(labels)}: {', '.join(labels)}")
    extra: dict[str, Any] = {
        "id2label": dict(enumerate(labels)),
        "label2id": {label: i for i, label in enumerate(labels)},
    }
    return names[task], extra


def train_tokenizer(
    texts: Iterable[str], *, vocabulary_size: int, lower_case: bool, max_length: int, type_ids: bool = True
) -> Any:
    """A WordPiece tokenizer for these texts, with BERT's template for one text and for a pair.

    The library's WordPiece trainer gives another vocabulary in every process, because it numbers the pieces in the
    order of a randomised hash table. Its BPE trainer does not: so words are cut by BPE, and the pieces used most, told
    apart by whether they begin a word, become the WordPiece vocabulary.
    """
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

    normalizer, splitter = normalizers.BertNormalizer(lowercase=lower_case), pre_tokenizers.BertPreTokenizer()
    words: Counter[str] = Counter()
    for text in texts:
        words.update(word for word, _ in splitter.pre_tokenize_str(normalizer.normalize_str(text)))
    cutter = Tokenizer(models.BPE())
    trainer = trainers.BpeTrainer(vocab_size=vocabulary_size, show_progress=False)
    cutter.train_from_iterator(words.elements(), trainer)
    pieces: Counter[str] = Counter()
    letters: set[str] = set()
    for word, encoding in zip(words, cutter.encode_batch(list(words)), strict=True):
        for place, piece in enumerate(encoding.tokens):
            pieces[f"##{piece}" if place else piece] += words[word]
        letters |= {word[0], *(f"##{letter}" for letter in word[1:])}
    # With every letter known, no word made of them is ever unknown.
    ranked = sorted(pieces.keys() - letters, key=lambda piece: (-pieces[piece], piece))
    known = [*SPECIAL_TOKENS, *sorted(letters), *ranked][: max(vocabulary_size, len(SPECIAL_TOKENS))]
    tokenizer = Tokenizer(models.WordPiece({piece: i for i, piece in enumerate(known)}, unk_token="[UNK]"))
    tokenizer.normalizer, tokenizer.pre_tokenizer, tokenizer.decoder = normalizer, splitter, decoders.WordPiece()
    return wrap_tokenizer(tokenizer, "[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1", max_length, type_ids=type_ids)


def wrap_tokenizer(tokenizer: Any, single: str, pair: str, max_length: int | None, *, type_ids: bool = True) -> Any:
    """A transformers tokenizer around one of `tokenizers`, with our special tokens and templates."""
    import transformers
    from tokenizers import processors

    used = [(token, tokenizer.token_to_id(token)) for token in SPECIAL_TOKENS if token in pair]
    tokenizer.post_processor = processors.TemplateProcessing(single=single, pair=pair, special_tokens=used)
    inputs = ["input_ids", "token_type_ids", "attention_mask"] if type_ids else ["input_ids", "attention_mask"]
    present = {
        f"{token.strip('[]').lower()}_token": token
        for token in SPECIAL_TOKENS
        if tokenizer.token_to_id(token) is not None
    }
    options = {} if max_length is None else {"model_max_length": max_length}
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, model_input_names=inputs, padding_side="right", **present, **options
    )
