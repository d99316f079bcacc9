"""`saywhy.load`: a folder, a hub name, a pipeline, a pair of model and tokenizer, or a prediction function."""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import socket
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from safetensors import SafetensorError

from saywhy.data.words import SPLITTERS
from saywhy.errors import LoadError
from saywhy.models.attention_module import restore
from saywhy.models.black_box import BlackBox
from saywhy.models.selecting import load_selector
from saywhy.models.tasks import TASKS
from saywhy.models.text_model import SETTINGS, TextModel, quiet

__all__ = ["load"]

_VOCABULARIES = ("tokenizer.json", "vocab.*", "*.model", "tokenizer_config.json")
_HEADS = {
    "ForSequenceClassification": "text",
    "ForMultipleChoice": "choices",
    "ForQuestionAnswering": "span-qa",
}


def load(
    model: Any,
    tokenizer: Any = None,
    *,
    labels: Sequence[str] | None = None,
    task: str | None = None,
    splitter: str | None = None,
    mask_token: str | None = None,
    device: str | None = None,
) -> TextModel:
    """Make a `TextModel` of whatever is given; a `TextModel` is returned as it is.

    Args:
        model: a folder or hub name; a transformers pipeline; ``(model, tokenizer)``; a fitted scikit-learn
            classifier, or any function from a list of texts to a table of probabilities; or ``"file.py:name"``
            or ``"module:name"`` of one of these.
        tokenizer: the tokenizer, where the model is a transformers model given alone.
        labels: names of the classes; needed for a plain function, otherwise they replace the model's own.
        task: ``text``, ``pair``, ``choices`` or ``span-qa``; found out where it is not given.
        splitter: ``unicode`` or ``whitespace``; how texts are cut into words.
        mask_token: for prediction functions: what stands in for a word under the erasure ``mask-token``.
        device: where to put the network; stays where it is if None.

    Example:
        >>> def shouting(texts):
        ...     return [[0.9, 0.1] if t.isupper() else [0.1, 0.9] for t in texts]
        >>> load(shouting, labels=["loud", "quiet"]).predict("HELLO")[0].label
        'loud'
    """
    if labels is not None and not isinstance(labels, str):
        labels = [str(label) for label in labels]
    if task is not None and task not in TASKS:
        raise LoadError(f"unknown task {task!r}; known: {', '.join(TASKS)}")
    if isinstance(labels, str):
        raise LoadError(f"labels must be a list of names, not the string {labels!r}")
    if splitter is not None and splitter not in SPLITTERS:
        raise LoadError(f"unknown splitter {splitter!r}; known: {', '.join(SPLITTERS)}")
    if isinstance(model, TextModel):
        if all(option is None for option in (labels, task, splitter, mask_token, device)):
            return model
        if isinstance(model, BlackBox):
            return BlackBox(
                model.function,
                labels or model.labels,
                task or model.task.name,
                splitter=splitter or model.splitter,
                mask_token=mask_token or model.mask_token,
            )
        settings = {
            "task": model.task.name,
            "labels": model.labels,
            "splitter": model.splitter,
            "max_length": model.encoder.max_length,
        }
        made = _from_network(model.module, model.tokenizer, labels, task, splitter, device, settings)
        made.selector = model.selector
        return made
    if isinstance(model, str | os.PathLike):
        text = os.fspath(model)
        if not Path(text).exists() and ":" in text:
            found = _import(text)
            labels = labels if labels is not None else getattr(found, "labels", None)
            options = {"task": task, "splitter": splitter, "mask_token": mask_token, "device": device}
            return load(found, tokenizer, labels=labels, **options)
        return _from_folder(text, labels, task, splitter, device)
    if isinstance(model, tuple):
        if len(model) != 2:
            raise LoadError("a tuple must be (model, tokenizer)")
        return _from_network(model[0], model[1], labels, task, splitter, device)
    if hasattr(model, "model") and hasattr(model, "tokenizer") and hasattr(model, "task"):
        return _from_network(model.model, model.tokenizer, labels, task, splitter, device)
    if hasattr(model, "save_pretrained") and hasattr(model, "config"):
        if tokenizer is None:
            raise LoadError("a transformers model needs its tokenizer: load((model, tokenizer))")
        return _from_network(model, tokenizer, labels, task, splitter, device)
    return _from_function(model, labels, task, splitter, mask_token)


def _from_function(
    model: Any, labels: Sequence[str] | None, task: str | None, splitter: str | None, mask_token: str | None
) -> BlackBox:
    function = model.predict_proba if hasattr(model, "predict_proba") else model
    if not callable(function):
        raise LoadError(
            f"cannot load a {type(model).__name__}; give a folder, a hub name, a pipeline, (model, tokenizer) or a "
            "function from texts to probabilities"
        )
    owner: Any = model if hasattr(model, "classes_") else getattr(function, "__self__", None)
    if labels is None and hasattr(owner, "classes_"):
        labels = [str(name) for name in owner.classes_]
    if labels is None and task != "choices":
        raise LoadError("a prediction function needs labels=[...], one name per column of its table")
    return BlackBox(function, labels or (), task or "text", splitter=splitter or "unicode", mask_token=mask_token)


def _from_network(
    network: Any,
    tokenizer: Any,
    labels: Sequence[str] | None,
    task: str | None,
    splitter: str | None,
    device: str | None,
    settings: dict[str, Any] | None = None,
) -> TextModel:
    settings = settings or {}
    architecture = type(network).__name__
    kind = next((task for suffix, task in _HEADS.items() if architecture.endswith(suffix)), None)
    if kind is None:
        raise LoadError(
            f"{architecture} has no head that decides something; saywhy explains models "
            f"{', '.join(_HEADS)} (train one with `saywhy train`)"
        )
    if kind == "text":
        if network.config.num_labels == 1 or network.config.problem_type == "regression":
            raise LoadError(f"{architecture} predicts a number; saywhy explains classifiers")
        if network.config.problem_type == "multi_label_classification":
            raise LoadError(
                f"{architecture} says yes or no to each label by itself; saywhy explains classifiers that choose one "
                "(give a function that returns the probabilities of yes and no for one of its labels)"
            )
        labels = (
            labels or settings.get("labels") or [network.config.id2label[i] for i in range(network.config.num_labels)]
        )
        if len(labels) != network.config.num_labels:
            raise LoadError(f"{len(labels)} labels given, but the network has {network.config.num_labels} outputs")
    name = task or settings.get("task") or kind
    if (name in ("text", "pair")) != (kind == "text") or (kind != "text" and name != kind):
        raise LoadError(f"{architecture} is a model for task {kind!r}, not {name!r}")
    if device is not None:
        network = network.to(device)
    model = TextModel(
        network,
        tokenizer,
        name,
        labels or (),
        splitter=splitter or settings.get("splitter", "unicode"),
        max_length=settings.get("max_length"),
    )
    if model.reads_padding:
        raise LoadError(f"{model.reads_padding}; such a network cannot be explained in batches")
    return model


def _from_folder(
    name: str, labels: Sequence[str] | None, task: str | None, splitter: str | None, device: str | None
) -> TextModel:
    import transformers

    import saywhy.models.networks  # noqa: F401  # our own networks register themselves with transformers there

    folder = Path(name)
    if folder.exists() and not (folder / "config.json").exists():
        raise LoadError(f"{name or 'an empty name'} is not a model folder: it has no config.json")
    if folder.exists() and not any(path for pattern in _VOCABULARIES for path in folder.glob(pattern)):
        # transformers would make do with a tokenizer that knows no words at all.
        raise LoadError(f"{name} has no tokenizer; save it there too: tokenizer.save_pretrained({name!r})")
    settings: dict[str, Any] = {}
    if (folder / SETTINGS).exists():
        try:
            settings = json.loads((folder / SETTINGS).read_text(encoding="utf-8"))
        except ValueError as error:
            raise LoadError(f"cannot read {folder / SETTINGS}: {_first_line(error)}") from error
    with quiet():
        # Where the hub is out of reach, transformers would try again and again before it looks into its cache.
        local = folder.exists() or not _hub_reachable()
        try:
            config = transformers.AutoConfig.from_pretrained(name, local_files_only=local)
            tokenizer = transformers.AutoTokenizer.from_pretrained(name, local_files_only=local)
        except (OSError, ValueError) as error:
            if not folder.exists():
                raise LoadError(
                    f"there is no folder {name!r}, and no model of that name can be had from the hub or its cache; "
                    "give a folder made by `saywhy train`, a hub name, or file.py:function"
                ) from error
            raise LoadError(f"cannot read the model folder {name}: {_first_line(error)}") from error
        architecture = (config.architectures or [""])[0]
        kind = next((task for suffix, task in _HEADS.items() if architecture.endswith(suffix)), None)
        if kind is None:
            raise LoadError(
                f"{name} holds {architecture or 'a network without a head'}, which decides nothing by itself; "
                f"saywhy explains models {', '.join(_HEADS)} (train one with `saywhy train`)"
            )
        try:
            network, report = getattr(transformers, TASKS[kind].auto_class).from_pretrained(
                name, use_safetensors=True, output_loading_info=True, local_files_only=local
            )
        except (OSError, RuntimeError, ValueError, SafetensorError) as error:
            raise LoadError(f"cannot load the weights of {name}: {_first_line(error)} (safetensors only)") from error
        missing = sorted(report["missing_keys"])
        if missing:
            # transformers would draw them at random.
            raise LoadError(f"the weights of {name} are not complete: {len(missing)} are missing, such as {missing[0]}")
        restore(network, name)
    model = _from_network(network, tokenizer, labels, task, splitter, device, settings)
    if "selector" in settings:
        model.selector = load_selector(folder, settings["selector"])
    return model


def _import(spec: str) -> Any:
    place, _, name = spec.rpartition(":")
    try:
        if place.endswith(".py"):
            path = Path(place)
            if not path.exists():
                raise LoadError(f"there is no file {place}")
            found = importlib.util.spec_from_file_location(path.stem, path)
            assert found is not None
            assert found.loader is not None
            module = importlib.util.module_from_spec(found)
            sys.modules.setdefault(path.stem, module)
            found.loader.exec_module(module)
        else:
            module = importlib.import_module(place)
    except (ImportError, SyntaxError) as error:
        raise LoadError(f"cannot import {place!r}: {_first_line(error)}") from error
    target: Any = module
    for part in name.split("."):
        if not hasattr(target, part):
            raise LoadError(f"{place} has no {name!r}")
        target = getattr(target, part)
    return target


def _hub_reachable() -> bool:
    from urllib.parse import urlparse

    from huggingface_hub import constants

    if constants.HF_HUB_OFFLINE:
        return False
    place = urlparse(constants.ENDPOINT)
    try:
        port = place.port or (443 if place.scheme == "https" else 80)
        socket.create_connection((place.hostname or "", port), timeout=3).close()
    except OSError:
        return False
    return True


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n")[0]
