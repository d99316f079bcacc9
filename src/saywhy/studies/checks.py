"""What is wrong with a step that trains, found before any work, with the line."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from pathlib import Path

from saywhy.models.networks import networks
from saywhy.objectives import objectives, train
from saywhy.objectives.roles import tagged_sentences, train_roles
from saywhy.studies.schema import Source, Study, TaggerStep, TrainStep
from saywhy.types import Example

__all__ = ["check_tagger", "check_training"]

_OF_THE_PLAN = frozenset({"data", "out", "seed", "limit", "resume", "progress", "data_options"})


def check_training(study: Study, step: TrainStep, at: tuple[str | int, ...], source: Source) -> None:
    """Whether there are the objectives, networks and options that a step names; ``at`` is its place in the file."""
    for place, objective in enumerate(step.objective):
        path = (*at, "objective", place)
        with source.errors(path):
            kind = objectives[objective].value
        known = {*inspect.signature(train).parameters, *kind.option_names()}
        known -= {"objective", "data", "model", "out", "seed", "resume", "dry_run", "options"}
        for option in step.options:
            if option.replace("-", "_") not in known:
                there = f"there are {', '.join(sorted(known))}"
                raise source.error(
                    f"neither training nor {objective} has an option {option!r}; {there}", (*at, "options", option)
                )
        if not isinstance(step.options.get("model_options") or {}, dict | list):
            raise source.error("model_options must be a mapping", (*at, "options", "model_options"))
    for place, model in enumerate(step.model):
        for network in {objectives[objective].value.network or model for objective in step.objective}:
            _check_network(step, network, at, source)
        if model not in networks and model not in study.train and not Path(model).exists():
            raise source.error(
                f"{model!r} is no network ({', '.join(networks.names())}), no step of train and no folder",
                (*at, "model", place),
            )


def _check_network(step: TrainStep, model: str, at: tuple[str | int, ...], source: Source) -> None:
    if model not in networks:
        return
    signature = inspect.signature(networks[model].value).parameters.values()
    known = sorted(p.name for p in signature if p.kind is p.KEYWORD_ONLY)
    given = step.options.get("model_options") or {}
    for options in given if isinstance(given, list) else [given]:
        for option in options:
            if option not in known:
                raise source.error(
                    f"model {model!r} has no option {option!r}; it has {', '.join(known)}",
                    (*at, "options", "model_options", option),
                )


def check_tagger(
    study: Study, step: TaggerStep, examples: Sequence[Example], at: tuple[str | int, ...], source: Source
) -> None:
    """Whether a tagger has a name of its own, options that there are, and examples with frames."""
    if at[-1] in study.train:
        raise source.error(f"a step of train and a tagger are both called {at[-1]!r}", at)
    known = sorted(set(inspect.signature(train_roles).parameters) - _OF_THE_PLAN)
    for option in step.options:
        if option not in known:
            raise source.error(
                f"a tagger has no option {option!r}; it has {', '.join(known)}", (*at, "options", option)
            )
    if not tagged_sentences(examples):
        raise source.error(f"{step.data.title} has no frames to learn from; ewt-srl has", (*at, "data"))
