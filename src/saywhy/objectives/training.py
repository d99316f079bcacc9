"""`saywhy.train`: data and a model's name in, a trained `TextModel` out."""

from __future__ import annotations

import copy
import hashlib
import inspect
import json
import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from keyword import iskeyword
from pathlib import Path
from typing import Any, Literal, overload

from saywhy.data import Dataset, load_dataset
from saywhy.errors import DataError, LoadError, OptionError, SayWhyWarning
from saywhy.loop import Estimate, LoopSettings, OptimiserSettings, close_run, estimate, fit, read_run
from saywhy.models import TextModel, load
from saywhy.models.minilm import pretrained_with_head
from saywhy.models.networks import networks
from saywhy.objectives.base import Objective, objectives
from saywhy.ops.randomness import numpy_generator
from saywhy.types import Example, as_examples

__all__ = ["train"]


@overload
def train(
    objective: str = ..., data: Any = ..., model: Any = ..., *, dry_run: Literal[False] = ..., **options: Any
) -> TextModel: ...


@overload
def train(
    objective: str = ..., data: Any = ..., model: Any = ..., *, dry_run: bool, **options: Any
) -> TextModel | Estimate: ...


def train(
    objective: str = "plain",
    data: str | os.PathLike[str] | Dataset | Sequence[Example] = "planted-reviews",
    model: str | os.PathLike[str] | TextModel | None = None,
    *,
    out: str | os.PathLike[str] | None = None,
    epochs: int | None = None,
    learning_rate: float | None = None,
    batch_size: int | None = None,
    seed: int = 0,
    limit: int | None = None,
    patience: int | None = None,
    resume: bool = True,
    truncation: str = "head",
    weight_decay: float = 0.01,
    warmup: float = 0.1,
    schedule: str = "linear",
    decay: float = 0.5,
    accumulate: int = 1,
    clip: float | None = 1.0,
    max_steps: int | None = None,
    checkpoint_every: int | None = None,
    data_options: Mapping[str, Any] | None = None,
    model_options: Mapping[str, Any] | None = None,
    quiet: bool = False,
    progress: bool | None = None,
    log_with: str | Sequence[str] | None = None,
    dry_run: bool = False,
    **options: Any,
) -> TextModel | Estimate:
    """Train a model and return it with the weights that were best on the ``dev`` split.

    Without a ``dev`` split a tenth of ``train``, drawn by ``seed``, is held out. A run with ``out`` can be killed at
    any time: the same call goes on where it was and ends with the same bits; once finished, it loads what is there.

    Args:
        objective: a name out of `saywhy list objectives`.
        data: a dataset's name, a file, a `Dataset`, or a list of examples.
        model: a name out of `saywhy list models`; a folder or hub name (its head is kept if it has the data's labels,
            otherwise it gets a new one); or a `TextModel`, which is copied and left as it is. By default
            ``text-transformer``, or the one network that the objective trains; of such a network another name, folder
            or hub name is the encoder.
        out: folder for the model, ``run.json`` and ``log.jsonl``; None keeps nothing on disk.
        epochs: times through the data; what suits the model unless given, as are the next two. 0 gives the model as it
            starts, its head untrained.
        learning_rate: highest learning rate.
        batch_size: examples an optimiser step sees.
        seed: of the data's draws, the new weights, the order of batches and dropout.
        limit: train on at most so many examples, and validate on at most so many.
        patience: stop after so many epochs without a better score on ``dev``.
        resume: go on with the run in ``out``; False starts again.
        truncation: what is done with texts the model cannot read whole: ``head``, ``window`` or ``error``.
        weight_decay: of matrices.
        warmup: share of the steps in which the learning rate rises.
        schedule: ``linear``, ``constant`` or ``step``.
        decay: what ``step`` multiplies the learning rate by after every tenth of the steps.
        accumulate: cut every batch into so many parts, to need less memory.
        clip: largest norm of the gradient, or None.
        max_steps: stop after so many steps.
        checkpoint_every: steps between checkpoints, besides those at the end of an epoch and every two minutes.
        data_options: options of the dataset, such as ``{"size": "demo"}``.
        model_options: options of the network, such as ``{"layers": 4}``.
        quiet: no progress bar and no warning about cut texts.
        progress: show the progress bar; None shows it on a terminal.
        log_with: names of experiment trackers that Accelerate knows, such as ``"tensorboard"``.
        dry_run: time two steps and return an `Estimate` instead.
        options: of the objective.

    Raises:
        OptionError: an option that is not known or does not fit; a run in ``out`` with another configuration.

    Example:
        >>> model = train("plain", data="sst2", model="minilm", out="runs/sst2")               # doctest: +SKIP
        >>> model.predict("A gripping film.")[0].label                                         # doctest: +SKIP
        'positive'
    """
    kind = objectives[objective].value
    _check_options(objective, kind, options)
    options = {name + "_" * iskeyword(name): value for name, value in options.items()}
    options |= {name: load(options[name]) for name in kind.models if options.get(name) is not None}
    folder = None if out is None else Path(out)
    if folder is not None and not dry_run:
        _check_folder(folder)
    given = _read_data(data, limit, seed, data_options or {})
    wanted, network_options = _network(kind, model, dict(model_options or {}))
    started = _make_model(wanted, given, seed, network_options)
    suits = started.suits
    settings = LoopSettings(
        epochs=suits["epochs"] if epochs is None else epochs,
        max_steps=max_steps,
        batch_size=suits["batch_size"] if batch_size is None else batch_size,
        accumulate=accumulate,
        seed=seed,
        clip=clip,
        patience=patience,
        checkpoint_every=checkpoint_every,
    )
    rate = suits["learning_rate"] if learning_rate is None else learning_rate
    rule = OptimiserSettings(
        learning_rate=rate, weight_decay=weight_decay, warmup=warmup, schedule=schedule, decay=decay
    )
    trained: Objective = kind(started.model, rule, **options)
    trained.begin(seed)
    items, held_out = _encode(trained, given, truncation, quiet)
    lengths = [max(len(row) for row in item.rows) for item in items]
    if dry_run:
        return estimate(trained, items, collate=trained.collate, settings=settings, lengths=lengths)
    result = fit(
        trained,
        items,
        collate=trained.collate,
        settings=settings,
        lengths=lengths,
        validate=lambda: trained.score(held_out, settings.batch_size),
        out=folder,
        config={
            "name": objective,
            "options": {k: v.fingerprint if isinstance(v, TextModel) else v for k, v in options.items()},
            "data": {"name": given.name, "train": _digest(given.train), "dev": _digest(given.dev)},
            "model": {"name": started.name, "options": network_options},
            "truncation": truncation,
        },
        resume=resume,
        progress=False if quiet else progress,
        log_with=log_with,
    )
    started.model.module.eval()
    if result.reused and folder is not None:
        return load(folder)
    report = trained.report(held_out, settings.batch_size, seed)
    if folder is None:
        return started.model
    from accelerate import PartialState

    if PartialState().is_main_process:
        started.model.save(folder)
        close_run(folder, result, report)
    PartialState().wait_for_everyone()
    return started.model


@dataclass(frozen=True)
class _Data:
    name: str
    task: str
    labels: tuple[str, ...]
    train: Sequence[Example]
    dev: Sequence[Example]


@dataclass(frozen=True)
class _Started:
    model: TextModel
    name: str
    suits: Mapping[str, Any]


def _check_options(name: str, kind: type[Any], options: Mapping[str, Any]) -> None:
    known = kind.option_names()
    unknown = sorted({option for option in options if option.rstrip("_") not in known})
    if unknown:
        has = f"it has {', '.join(known)}" if known else "it has none of its own"
        raise OptionError(f"objective {name!r} has no option {', '.join(unknown)}; {has}")


def _check_folder(folder: Path) -> None:
    if folder.is_file():
        raise OptionError(f"{folder} is a file; give a folder to train into")
    if folder.is_dir() and read_run(folder) is None and any(folder.iterdir()):
        raise OptionError(f"{folder} holds something that is not a training run; give a new or an empty folder")


def _read_data(data: Any, limit: int | None, seed: int, options: Mapping[str, Any]) -> _Data:
    if isinstance(data, str | os.PathLike):
        data = load_dataset(data, limit=limit, seed=seed, **options)
        limit = None
    elif options:
        raise OptionError("data_options go with a dataset's name or a file, not with examples that are already read")
    elif not isinstance(data, Dataset):
        data = Dataset.from_examples("examples", {"train": as_examples(list(data))[0]})
    name, rng = data.name, numpy_generator(seed, "dev")
    train = [example for example in data["train"] if example.label is not None or example.answers]
    if limit is not None and len(train) > limit:
        train = [train[i] for i in sorted(numpy_generator(seed, "limit").permutation(len(train))[:limit])]
    if "dev" in data.splits:
        dev = [example for example in data["dev"] if example.label is not None or example.answers]
        if limit is not None and len(dev) > limit:
            dev = [dev[i] for i in sorted(rng.permutation(len(dev))[:limit])]
    else:
        held_out = set(rng.permutation(len(train))[: max(1, len(train) // 10)].tolist())
        dev = [train[i] for i in sorted(held_out)]
        train = [example for i, example in enumerate(train) if i not in held_out]
    if not train or not dev:
        raise DataError(f"{name}: {len(train)} examples to train on and {len(dev)} to validate on; both need some")
    return _Data(name, data.task, tuple(data.labels), train, dev)


def _network(kind: type[Any], model: Any, options: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The model to start from and its options, where an objective trains one network only."""
    own = kind.network
    if own is None or isinstance(model, TextModel):
        return "text-transformer" if model is None else model, options
    if model is None or model == own:
        return own, options
    name = os.fspath(model)
    if _model_type(Path(name)) == f"saywhy-{own}":
        return name, options
    return own, {"encoder": name, **options}


def _model_type(folder: Path) -> str:
    try:
        return str(json.loads((folder / "config.json").read_text(encoding="utf-8")).get("model_type", ""))
    except (OSError, ValueError):
        return ""


def _make_model(model: Any, data: _Data, seed: int, options: dict[str, Any]) -> _Started:
    suits: Mapping[str, Any] = networks["minilm"].facts
    if isinstance(model, str) and model in networks:
        entry = networks[model]
        if data.task not in entry.tasks:
            raise OptionError(f"model {model!r} does {', '.join(entry.tasks)}; {data.name} is {data.task}")
        known = {p.name for p in inspect.signature(entry.value).parameters.values() if p.kind is p.KEYWORD_ONLY}
        unknown = sorted(set(options) - known)
        if unknown:
            raise OptionError(f"model {model!r} has no option {', '.join(unknown)}; it has {', '.join(sorted(known))}")
        network, tokenizer = entry.value(data.train, data.task, data.labels, seed, **options)
        suits = entry.facts
        if options.get("encoder") not in (None, "gru", "lstm"):
            # A transformer inside wants its own pace.
            suits = networks[options["encoder"] if options["encoder"] in networks else "minilm"].facts
        return _Started(TextModel(network, tokenizer, data.task, data.labels), model, suits)
    if options:
        raise OptionError("model_options go with a model's name, not with a model that is already there")
    if isinstance(model, TextModel):
        if not _fits(model, data):
            raise OptionError(
                f"the model does {model.task.name} with labels {', '.join(model.labels)}; {data.name} is {data.task} "
                f"with labels {', '.join(data.labels)}"
            )
        found = copy.deepcopy(model.module) if model.network is not None else None
        if found is None:
            return _Started(model, "black box", suits)  # the objective says why not
        longest = model.encoder.max_length
        same = TextModel(found, model.tokenizer, data.task, data.labels, splitter=model.splitter, max_length=longest)
        return _Started(same, model.fingerprint, suits)
    name = os.fspath(model)
    try:
        loaded = load(name)
        if _fits(loaded, data):
            return _Started(load(loaded, task=data.task, labels=data.labels or None), name, suits)
    except LoadError:
        if not (Path(name) / "config.json").exists() and Path(name).exists():
            raise
    network, tokenizer = pretrained_with_head(name, data.task, data.labels, seed)
    return _Started(TextModel(network, tokenizer, data.task, data.labels), name, suits)


def _fits(model: TextModel, data: _Data) -> bool:
    same_kind = model.task.name == data.task or {model.task.name, data.task} == {"text", "pair"}
    return same_kind and [x.casefold() for x in model.labels] == [x.casefold() for x in data.labels]


def _encode(objective: Objective, data: _Data, truncation: str, quiet: bool) -> tuple[Any, Any]:
    with warnings.catch_warnings():
        # One warning for all of them, below, says more than one for each.
        warnings.simplefilter("ignore", SayWhyWarning)
        items, held_out = objective.items(data.train, truncation), objective.items(data.dev, truncation)
    cut = [item.notes[0] for item in items if item.notes]
    if cut and not quiet:
        warnings.warn(
            f"{len(cut)} of {len(items)} training texts are longer than the model reads (the first was {cut[0]})",
            SayWhyWarning,
            stacklevel=3,
        )
    lost = sum(not objective.model.task.teaches(item) for item in items) if cut else 0
    if lost == len(items):
        raise DataError(f"{data.name}: the answers of all {lost} training texts lie beyond what the model reads")
    if lost and not quiet:
        warnings.warn(
            f"{lost} of {len(items)} training texts are cut before their answer, and teach none: give the model a "
            "larger max_length if it can read more",
            SayWhyWarning,
            stacklevel=3,
        )
    return items, held_out


def _digest(examples: Sequence[Example]) -> str:
    digest = hashlib.blake2b(digest_size=8)
    for e in examples:
        digest.update(repr((e.texts, e.choices, e.label, e.answers, e.rationales, e.explanations)).encode())
    return digest.hexdigest()
