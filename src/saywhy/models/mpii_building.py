"""Building an MPII network: from scratch, over a pretrained encoder, or out of a whole sequence-to-sequence model."""

from __future__ import annotations

import inspect
import os
from collections.abc import Mapping, Sequence
from typing import Any

import torch
import transformers
from torch import nn

from saywhy.errors import LoadError, OptionError
from saywhy.models.minilm import pretrained_with_head
from saywhy.models.mpii import MpiiConfig, MpiiForMultipleChoice, MpiiForSequenceClassification, MpiiNetwork
from saywhy.models.sentences import SPECIAL_WORDS, WordVocabulary
from saywhy.models.text_model import quiet
from saywhy.models.text_transformer import check_shape, draw_linears, head_arguments
from saywhy.models.word_starts import start_from_encoder
from saywhy.ops.randomness import global_seed
from saywhy.types import Example

__all__ = ["WORD_VECTORS", "build_encoder", "build_mpii", "decoder_words", "take_weights"]

WORD_VECTORS = ("encoder", "drawn")


def build_mpii(
    examples: Sequence[Example],
    task: str,
    labels: Sequence[str],
    seed: int,
    *,
    encoder: str | os.PathLike[str] = "text-transformer",
    encoder_options: Mapping[str, Any] | None = None,
    seq2seq: str | os.PathLike[str] | None = None,
    integration: str = "full",
    feedback: str = "token",
    choice_states: str = "joint",
    layers: int = 2,
    width: int = 256,
    heads: int = 4,
    vocabulary_size: int = 5000,
    lower_case_words: bool = False,
    word_vectors: str | None = None,
    longest: int = 40,
    dropout: float = 0.1,
    max_length: int = 256,
) -> tuple[Any, Any]:
    """A network that decides and explains in one breath: encoder, decoder, and a label that moves with every word.

    Args:
        examples: the training examples; the decoder's words are those of their explanations.
        task: ``text``, ``pair`` or ``choices``.
        labels: names of the classes.
        seed: of the initial weights.
        encoder: ``text-transformer`` (from scratch), ``minilm``, or the folder or hub name of any encoder.
        encoder_options: of the network that is named as encoder, such as ``{"layers": 4}``.
        seq2seq: folder or hub name of a pretrained sequence-to-sequence model (BART's kind), whose encoder, decoder and
            vocabulary are taken instead; of the options below it leaves ``longest`` and ``max_length`` to choose.
        integration: ``full``; ``no-inference`` (the label does not feed the words), ``no-interpretation`` (the words do
            not feed the label), or ``none``.
        feedback: ``token`` (the paper's) or ``soft`` (the released code's).
        choice_states: with choices: ``joint`` (one logit for each place, the paper's), or ``pooled`` (a state for each
            choice, whatever its place).
        layers: blocks of the decoder.
        width: size of its states.
        heads: attention heads of a block.
        vocabulary_size: most words of the decoder.
        lower_case_words: whether it writes small letters only.
        word_vectors: what the decoder's words begin as: ``encoder``, which knows most of them, or ``drawn`` by chance;
            the encoder's if it was trained before, unless given.
        longest: most words of a sentence.
        dropout: share of activations left out in training.
        max_length: most pieces of an input.

    Returns:
        The network and its tokenizer.
    """
    if task not in ("text", "pair", "choices"):
        raise OptionError(f"mpii does text, pair and choices, not {task}")
    if word_vectors not in (None, *WORD_VECTORS):
        raise OptionError(f"unknown word_vectors {word_vectors!r}; use one of {', '.join(WORD_VECTORS)}")
    check_shape(
        dropout,
        layers=layers,
        width=width,
        heads=heads,
        vocabulary_size=vocabulary_size,
        longest=longest,
        max_length=max_length,
    )
    kind = MpiiForMultipleChoice if task == "choices" else MpiiForSequenceClassification
    _, extra = head_arguments(task, labels)
    facts = {
        "integration": integration,
        "feedback": feedback,
        "choice_states": choice_states,
        "num_choices": max((len(example.choices) for example in examples), default=0),
        "longest": longest,
        **extra,
    }
    if seq2seq is not None:
        own = {
            "encoder": encoder,
            "encoder_options": encoder_options,
            "layers": layers,
            "width": width,
            "heads": heads,
            "vocabulary_size": vocabulary_size,
            "lower_case_words": lower_case_words,
            "word_vectors": word_vectors,
            "dropout": dropout,
        }
        defaults = inspect.signature(build_mpii).parameters
        useless = [name for name, value in own.items() if value != defaults[name].default]
        if useless:
            raise OptionError(f"{', '.join(useless)} cannot be chosen with seq2seq, which brings a whole network")
        return _from_seq2seq(os.fspath(seq2seq), kind, facts, seed, max_length)
    options = dict(encoder_options or {})
    options.setdefault("max_length", max_length)
    body, tokenizer, pretrained = build_encoder(encoder, examples, task, labels, seed, options)
    if task == "choices":
        _more_types(body, facts["num_choices"] + 1, seed)
    words = decoder_words(examples, vocabulary_size, lower_case_words)
    decoder = transformers.MBartConfig(
        vocab_size=len(words),
        d_model=width,
        encoder_layers=0,
        decoder_layers=layers,
        decoder_attention_heads=heads,
        decoder_ffn_dim=2 * width,
        max_position_embeddings=longest + 2,
        dropout=dropout,
        attention_dropout=dropout,
        scale_embedding=False,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
    )
    config = MpiiConfig(
        encoder=body.config.to_dict(),
        decoder=decoder.to_dict(),
        words=list(words.table),
        pretrained=pretrained,
        **facts,
    )
    with global_seed(seed, "mpii"):
        network = kind(config)
        network.integration.begin()
        draw_linears(network.decoder)
        nn.init.normal_(network.decoder.embed_tokens.weight, std=width**-0.5)
    take_weights(network.encoder, body)
    if word_vectors == "encoder" or (word_vectors is None and pretrained):
        start_from_encoder(network, tokenizer, words.table, len(SPECIAL_WORDS))
    return network, tokenizer


def decoder_words(examples: Sequence[Example], size: int, lower_case: bool = False) -> WordVocabulary:
    """The words of the examples' explanations.

    Raises:
        OptionError: there are none to learn from.
    """
    sentences = [sentence for example in examples for sentence in example.explanations]
    if not sentences:
        raise OptionError(
            "the data has no explanations in words to learn from; data that has: esnli, cose, comve, planted-nli, "
            "planted-choices"
        )
    return WordVocabulary.of(sentences, size, lower_case)


def build_encoder(
    encoder: str | os.PathLike[str],
    examples: Sequence[Example],
    task: str,
    labels: Sequence[str],
    seed: int,
    options: Mapping[str, Any],
) -> tuple[Any, Any, bool]:
    """The body of a network by name, folder or hub name, its tokenizer, and whether it was trained before."""
    from saywhy.models.networks import networks

    name, given = os.fspath(encoder), dict(options)
    if name in ("gru", "lstm") or (name in networks and networks[name].family == "self-explaining"):
        raise OptionError(
            f"{name!r} cannot be the encoder here; use text-transformer, minilm or a transformer's folder"
        )
    if name in networks:
        entry = networks[name]
        known = {p.name for p in inspect.signature(entry.value).parameters.values() if p.kind is p.KEYWORD_ONLY}
        unknown = sorted(set(given) - known)
        if unknown:
            raise OptionError(f"encoder {name!r} has no option {', '.join(unknown)}; it has {', '.join(sorted(known))}")
        built, tokenizer = entry.value(examples, task, labels, seed, **given)
        return built.base_model, tokenizer, entry.family == "pretrained"
    built, tokenizer = pretrained_with_head(name, task, labels, seed)
    if built.config.is_encoder_decoder:
        raise OptionError(f"{name} is a sequence-to-sequence model and no encoder; mpii takes it whole, as seq2seq=...")
    if any(getattr(module, "is_causal", False) is True for module in built.base_model.modules()):
        raise OptionError(
            f"{name} reads from left to right: its first state, which decides, has read nothing; use an encoder"
        )
    longest = given.pop("max_length", None)
    if given:
        raise OptionError("encoder_options go with an encoder's name, not with a folder or a hub name")
    if longest is not None:
        tokenizer.model_max_length = min(longest, tokenizer.model_max_length)
    return built.base_model, tokenizer, True


def take_weights(network: nn.Module, body: nn.Module) -> None:
    """Give an encoder a body's weights; a pooler, which nobody asks here, may be missing on either side."""
    missing, left = network.load_state_dict(body.state_dict(), strict=False)
    strange = [name for name in (*missing, *left) if not name.startswith("pooler.")]
    if strange:
        raise LoadError(f"the weights of {type(body).__name__} do not fit {type(network).__name__}: {strange[0]}")


def _more_types(body: Any, wanted: int, seed: int) -> None:
    """Make room for the types of all choices; the new ones begin near the second text's."""
    table = getattr(getattr(body, "embeddings", None), "token_type_embeddings", None)
    if not isinstance(table, nn.Embedding) or table.num_embeddings >= wanted or table.num_embeddings < 2:
        return
    grown = nn.Embedding(wanted, table.embedding_dim)
    with torch.no_grad(), global_seed(seed, "types"):
        grown.weight[:] = table.weight[-1] + 0.02 * torch.randn(wanted, table.embedding_dim)
        grown.weight[: table.num_embeddings] = table.weight
    body.embeddings.token_type_embeddings = grown
    body.config.type_vocab_size = wanted


def _from_seq2seq(
    name: str, kind: type[MpiiNetwork], facts: Mapping[str, Any], seed: int, max_length: int
) -> tuple[MpiiNetwork, Any]:
    try:
        with quiet():
            whole = transformers.AutoModel.from_pretrained(name, use_safetensors=True)
            tokenizer = transformers.AutoTokenizer.from_pretrained(name)
    except (OSError, ValueError) as error:
        raise LoadError(
            f"cannot read a sequence-to-sequence model from {name}: {str(error).splitlines()[0]}"
        ) from error
    config = whole.config
    if (
        not config.is_encoder_decoder
        or not hasattr(config, "decoder_layers")  # T5 scales its states, and has another table for what it writes
        or not hasattr(whole.get_decoder(), "embed_tokens")
    ):
        raise LoadError(f"{name} holds {type(whole).__name__}, which is no sequence-to-sequence model of BART's kind")
    if facts["longest"] > config.max_position_embeddings:
        raise OptionError(f"longest must be at most {config.max_position_embeddings}, the positions of {name}")
    tokenizer.model_max_length = min(max_length, tokenizer.model_max_length, config.max_position_embeddings)
    made = MpiiConfig(
        encoder=config.to_dict(),
        decoder=config.to_dict(),
        pretrained=True,
        pretrained_decoder=True,
        pad_id=config.pad_token_id,
        start_id=config.decoder_start_token_id,
        end_id=config.eos_token_id,
        **facts,
    )
    with global_seed(seed, "mpii"):
        network = kind(made)
        network.integration.begin()
    network.encoder.load_state_dict(whole.get_encoder().state_dict())
    network.decoder.load_state_dict(whole.get_decoder().state_dict())
    return network, tokenizer
