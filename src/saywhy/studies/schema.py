"""What a study's file may say: a schema whose errors name the line."""

from __future__ import annotations

import contextlib
import copy
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from saywhy.data.yaml12 import Lines, read_yaml_lines
from saywhy.errors import OptionError, SayWhyError

__all__ = [
    "DataRef",
    "EvaluateStep",
    "Named",
    "Paper",
    "Source",
    "Study",
    "StudyError",
    "TaggerStep",
    "TrainStep",
    "read_study",
]

QUICK = "quick"


class StudyError(OptionError):
    """Something wrong in a study's file; names the file and the line."""


def _as_list(value: Any) -> Any:
    return list(value) if isinstance(value, list | tuple) else [value]


def _as_data(value: Any) -> Any:
    return {"name": value} if isinstance(value, str) else value


def _as_named(value: Any) -> Any:
    """``lime`` or ``{lime: {samples: 500}}``."""
    if isinstance(value, str):
        return {"name": value}
    if isinstance(value, Mapping) and len(value) == 1 and "name" not in value:
        ((name, options),) = value.items()
        return {"name": name, "options": options or {}}
    return value


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class DataRef(_Part):
    """A dataset: its name or file, how much of it, and its options.

    Attributes:
        name: of the dataset, or a file; relative to the study's file.
        split: to measure on.
        limit: at most so many examples a split.
        seed: of the draw and of planted corpora; ``run`` takes the run's own seed.
        options: of the dataset.
        label: what it is called in tables; its name by default.
    """

    name: str
    split: str | None = None
    limit: int | None = Field(default=None, ge=1)
    seed: int | str = 0
    options: dict[str, Any] = Field(default_factory=dict)
    label: str = ""

    @property
    def title(self) -> str:
        """What it is called in tables."""
        return self.label or self.name


class Named(_Part):
    """A method or a metric with its options, and what it is called in tables."""

    name: str
    options: dict[str, Any] = Field(default_factory=dict)
    label: str = ""

    @property
    def title(self) -> str:
        """What it is called in tables."""
        return self.label or self.name


Data = Annotated[DataRef, BeforeValidator(_as_data)]
DataList = Annotated[list[Data], BeforeValidator(_as_list), Field(min_length=1)]
NamedList = Annotated[list[Annotated[Named, BeforeValidator(_as_named)]], BeforeValidator(_as_list)]
Names = Annotated[list[str], BeforeValidator(_as_list), Field(min_length=1)]


class TrainStep(_Part):
    """Models to train: every combination of what is given as a list.

    Attributes:
        objective: names of objectives.
        data: datasets to train on.
        model: networks' names, folders, or other steps of ``train`` whose models are trained further.
        options: of `saywhy.train` and of the objective: ``epochs``, ``learning_rate``, ``model_options`` and others. A
            list is a sweep; a value that is a list itself is written as a list in a list.
        seeds: instead of the study's.
    """

    objective: Names = ["plain"]
    data: DataList
    model: Names = ["text-transformer"]
    options: dict[str, Any] = Field(default_factory=dict)
    seeds: list[int] | None = Field(default=None, min_length=1)


class TaggerStep(_Part):
    """A tagger of semantic roles to train, for metrics that are guided by one: ``guide: step:NAME``.

    Attributes:
        data: sentences with frames.
        options: of `saywhy.objectives.roles.train_roles`: ``epochs``, ``learning_rate``, ``batch_size``, ``encoder``.
    """

    data: Data = DataRef(name="ewt-srl")
    options: dict[str, Any] = Field(default_factory=dict)


class EvaluateStep(_Part):
    """Methods and metrics on models and datasets: every combination.

    Attributes:
        model: steps of ``train``, or anything `saywhy.load` takes.
        data: datasets to measure on.
        methods: names, or ``name: options``; a name twice needs a ``label``.
        metrics: names of metrics or families, or ``name: options``.
        space, erasure, truncation, batch_size: as in `saywhy.evaluate`.
        against: steps of ``train``, or anything `saywhy.load` takes, that ``model-jaccard`` compares each model with; a
            model is not compared with itself, so a step's own name stands for its other seeds.
        examples: so many examples with explanations go into the report.
        seeds: only the models of these seeds; for models that are not trained here, seeds instead of the study's.
    """

    model: Names
    data: DataList
    methods: NamedList = []
    metrics: NamedList = Field(min_length=1)
    against: Annotated[list[str], BeforeValidator(_as_list)] = []
    space: str = "words"
    erasure: str | None = None
    truncation: str = "head"
    batch_size: int = Field(default=32, ge=1)
    examples: int = Field(default=3, ge=0)
    seeds: list[int] | None = Field(default=None, min_length=1)


class Paper(_Part):
    """A table of a paper that a study reproduces.

    Attributes:
        table: which one, such as ``"REGEX, Table 1"``.
        values: its numbers, by model, then data, method and metric, as they are called in our table; levels that have
            only one entry may be left out.
        note: what differs between the paper's setting and ours.
    """

    table: str
    values: dict[str, Any] = Field(default_factory=dict)
    note: str = ""


class Study(_Part):
    """A whole study.

    Attributes:
        study: its name: lower case and hyphens.
        title: heading of the report.
        summary: a sentence or two.
        paper: the table it reproduces.
        seeds: of everything random, one run each.
        threads: of each worker; part of a run's identity, as bits differ between one and two.
        train: models to train, by a name of yours.
        taggers: of semantic roles, by a name of yours; one each, with the first seed.
        evaluate: what to measure, by a name of yours.
        baseline: the method others are compared with.
        reference: the model others are compared with, as it is called in the table; or one for each model that has one.
        counterparts: for a method that the reference does not have, such as what models say of themselves, the method
            of the reference that it is compared with instead.
        gains: for each of these metrics, the model in proportion to whose value all models' are shown.
        costs: metrics that are drawn over what it cost to train each model, as times of ``reference``.
        scales: changes for other scales than ``quick``; what is given replaces what stands above, key by key; a dataset
            with its name as a whole. A step that is ``null`` is left out.
    """

    study: str = Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")
    title: str = ""
    summary: str = ""
    paper: Paper | None = None
    seeds: list[int] = Field(default=[0], min_length=1)
    threads: int = Field(default=1, ge=1)
    train: dict[str, TrainStep] = Field(default_factory=dict)
    taggers: dict[str, TaggerStep] = Field(default_factory=dict)
    evaluate: dict[str, EvaluateStep] = Field(min_length=1)
    baseline: str = "random"
    reference: str | dict[str, str] | None = None
    counterparts: dict[str, str] = Field(default_factory=dict)
    gains: dict[str, str] = Field(default_factory=dict)
    costs: list[str] = []
    scales: dict[str, dict[str, Any]] = Field(default_factory=dict)

    def reference_of(self, model: str) -> str:
        """The model that one is compared with; empty where there is none."""
        if isinstance(self.reference, dict):
            return self.reference.get(model, "")
        return "" if self.reference == model else self.reference or ""


class Source:
    """Where a study was read from, so that mistakes can be pointed at."""

    def __init__(self, file: str, lines: Lines) -> None:
        self.file = file
        self.lines = lines

    def error(self, message: str, path: tuple[str | int, ...] = ()) -> StudyError:
        """An error about the part of the file at ``path``, or the nearest part around it that has a line."""
        while path and path not in self.lines:
            path = path[:-1]
        line = f", line {self.lines[path]}" if path in self.lines else ""
        return StudyError(f"{self.file}{line}: {message}")

    @contextlib.contextmanager
    def errors(self, path: tuple[str | int, ...]) -> Iterator[None]:
        """A mistake found inside is one of the file, at this place."""
        try:
            yield
        except (SayWhyError, TypeError) as error:
            raise self.error(str(error), path) from None


def read_study(
    given: str | os.PathLike[str] | Mapping[str, Any], scale: str = QUICK
) -> tuple[Study, Source, dict[str, Any]]:
    """A study from its file (or from a mapping of the same form), at a scale.

    Returns:
        The study, where it came from, and the document it was read from with the scale's changes made.

    Raises:
        StudyError: it cannot be read, or has something the schema does not know; says on which line.
    """
    lines: Lines = {}
    if isinstance(given, Mapping):
        document, file = copy.deepcopy(dict(given)), "the study"
    else:
        path = Path(given)
        file = str(path)
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise StudyError(f"{file} cannot be read: {error}") from None
        try:
            document, lines = read_yaml_lines(text)
        except yaml.YAMLError as error:
            mark = getattr(error, "problem_mark", None)
            where = f", line {mark.line + 1}" if mark is not None else ""
            raise StudyError(f"{file}{where}: {getattr(error, 'problem', None) or error}") from None
    source = Source(file, lines)
    if not isinstance(document, dict):
        raise source.error("a study is a mapping with the keys study, train and evaluate")
    document = _scaled(document, scale, source)
    try:
        return Study.model_validate(document), source, document
    except ValidationError as error:
        raise source.error(*_first(error)) from None


def _scaled(document: dict[str, Any], scale: str, source: Source) -> dict[str, Any]:
    scales = document.get("scales") or {}
    if scale == QUICK and QUICK not in scales:
        return document
    if not isinstance(scales, Mapping) or scale not in scales:
        known = ", ".join([QUICK, *(str(s) for s in scales if s != QUICK)])
        raise source.error(f"there is no scale {scale!r}; there are {known}", ("scales",))
    merged = _merged(document, scales[scale] or {})
    for part in ("train", "evaluate"):
        if isinstance(merged.get(part), Mapping):
            merged[part] = {name: step for name, step in merged[part].items() if step is not None}
    return merged


def _merged(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in changes.items():
        old = merged.get(key)
        if isinstance(old, Mapping) and isinstance(value, Mapping):
            # A dataset that is named is given anew: the limit of the one above is not meant for it.
            merged[key] = dict(value) if key == "data" and "name" in value else _merged(old, value)
        else:
            merged[key] = value
    return merged


def _first(error: ValidationError) -> tuple[str, tuple[str | int, ...]]:
    """The first thing pydantic found, in our words."""
    # A misspelt key is also a missing one; the misspelling says more.
    problem = min(error.errors(), key=lambda e: e["type"] != "extra_forbidden")
    path = tuple(problem["loc"])
    name = path[-1] if path else "the study"
    if problem["type"] == "extra_forbidden":
        import difflib

        known = _known_keys(path[:-1])
        close = difflib.get_close_matches(str(name), known, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else f"; known: {', '.join(known)}"
        return f"unknown key {str(name)!r}{hint if known else ''}", path
    if problem["type"] == "missing":
        return f"the key {str(name)!r} is missing", path[:-1]
    return f"{name}: {problem['msg'][0].lower()}{problem['msg'][1:]}, not {problem['input']!r}", path


def _known_keys(path: tuple[str | int, ...]) -> list[str]:
    parts: dict[str, type[BaseModel]] = {
        "train": TrainStep,
        "taggers": TaggerStep,
        "evaluate": EvaluateStep,
        "paper": Paper,
    }
    if not path:
        return sorted(Study.model_fields)
    if "data" in path:
        return sorted(DataRef.model_fields)
    if "methods" in path or "metrics" in path:
        return sorted(Named.model_fields)
    kind = parts.get(str(path[0]))
    return sorted(kind.model_fields) if kind is not None else []
