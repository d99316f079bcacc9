"""`evaluate`: methods by metrics on a dataset, each model call made once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from saywhy import __version__
from saywhy.errors import OptionError, UnknownNameError
from saywhy.metrics.base import Metric, metrics
from saywhy.metrics.table import EvaluationTable
from saywhy.metrics.trial import Model, Workbench
from saywhy.types import Example, Explanation, MetricResult, as_examples

if TYPE_CHECKING:
    from saywhy.data import Dataset

__all__ = ["evaluate", "expand_metrics"]

# Options of `explain` itself, which may stand among a method's own.
_OF_EXPLAIN = frozenset({"target", "against", "seed", "batch_size", "truncation"})


def evaluate(
    model: Any,
    data: str | Dataset | Sequence[Any],
    methods: str | Sequence[str] | Mapping[str, Sequence[Explanation]] = (),
    metrics: str | Metric | Sequence[str | Metric] = "faithfulness",
    *,
    split: str | None = None,
    limit: int | None = None,
    seed: int = 0,
    batch_size: int = 32,
    erasure: str | None = None,
    truncation: str = "error",
    method_options: Mapping[str, Mapping[str, Any]] | None = None,
    data_options: Mapping[str, Any] | None = None,
    **options: Any,
) -> EvaluationTable:
    """Explain examples by several methods and measure the explanations, and the model.

    Predictions, erased inputs and equal masks are evaluated once for all methods and metrics. Everything that can be
    checked (names, options, what the methods need of the model) is checked before any work.

    Args:
        model: anything `saywhy.load` takes.
        data: a dataset's name or file, a `Dataset`, or a list of examples.
        methods: names of explanation methods, or explanations that are already there: ``{"mine": [...]}``, one for
            each example. May be empty if only the model is measured.
        metrics: names of metrics or of families (``faithfulness``, ``plausibility``, ``truth``, ``performance``), or
            `Metric` objects.
        split: of a dataset; by default ``test``, else ``dev``, else the first.
        limit: at most so many examples, drawn by ``seed`` and left in their order.
        seed: of the draw, the methods and the bootstrap.
        batch_size: rows of a model call.
        erasure: how metrics remove words; ``delete``, or ``mask-token`` where positions must stay (span QA).
        truncation: what happens to texts that are too long.
        method_options: options for methods, such as ``{"lime": {"samples": 500}}``.
        data_options: options for the dataset, where it is given by name.
        options: options for metrics, each given to every named metric that has it, such as ``score="normalised"``.

    Returns:
        One `MetricResult` for each method and metric.

    Example:
        >>> table = evaluate(model, "sst2", ["random", "leave-one-out"], limit=50)   # doctest: +SKIP
        >>> table["leave-one-out", "comprehensiveness"].value                        # doctest: +SKIP
    """
    chosen = expand_metrics(metrics, options)
    names = [methods] if isinstance(methods, str) else list(dict.fromkeys(methods))
    ready = methods if isinstance(methods, Mapping) else None
    extra = method_options or {}
    _check(chosen, names, ready, extra)
    loaded = _load(model)
    if ready is None:
        _check_methods(names, loaded, extra)
    examples, positions, title = _examples(data, split, limit, seed, data_options or {})
    erasure = _erasure(loaded, erasure)
    bench = Workbench(loaded, examples, erasure=erasure, batch_size=batch_size, truncation=truncation, seed=seed)
    for metric in chosen:
        metric.check(bench)
    results: list[MetricResult] = [m.score(bench.trial()) for m in chosen if m.of == "model"]
    measures = [m for m in chosen if m.of == "method"]
    for name in names if measures else ():
        if ready is not None:
            explanations = _picked(name, ready[name], positions)
        else:
            given = {"seed": seed, "batch_size": batch_size, "truncation": truncation, **extra.get(name, {})}
            explanations = _explain(loaded, examples, name, given)
        trial = bench.trial(name, explanations)
        for metric in measures:
            metric.prepare(trial)
        results += [metric.score(trial) for metric in measures]
    return EvaluationTable(
        results=tuple(results),
        data=title,
        n=len(examples),
        erasure=erasure,
        seed=seed,
        model=bench.fingerprint,
        version=__version__,
    )


def expand_metrics(
    given: str | Metric | Sequence[str | Metric], options: Mapping[str, Any] | None = None
) -> list[Metric]:
    """Metrics from names, families and objects; named ones get those of the options that they have.

    Raises:
        UnknownNameError: neither a metric nor a family.
        OptionError: an option no named metric has, or a metric that was asked for twice.

    Example:
        >>> [m.name for m in expand_metrics("faithfulness", {"score": "normalised"})]
        ['comprehensiveness', 'sufficiency']
    """
    wanted = dict(options or {})
    families: dict[str, list[str]] = {}
    for entry in metrics:
        families.setdefault(entry.family, []).append(entry.name)
    found: list[Metric] = []
    used: set[str] = set()
    for item in [given] if isinstance(given, str | Metric) else given:
        if isinstance(item, Metric):
            found.append(item)
            continue
        if item not in metrics and item not in families:
            raise UnknownNameError("metric or family", item, [*metrics.names(), *families])
        # A metric may bear the name of its family ("truth"); with one of them being asked for, so is the other.
        for name in families.get(item, [item]):
            cls = metrics[name].value
            own = {k: v for k, v in wanted.items() if k in cls.option_names()}
            used |= own.keys()
            found.append(cls(**own))
    unused = sorted(wanted.keys() - used)
    if unused:
        known = sorted({o for m in found for o in m.option_names()})
        raise OptionError(f"no metric asked for has the option {', '.join(unused)}; they have {', '.join(known)}")
    if not found:
        raise OptionError(f"no metric was asked for; there are {', '.join(metrics.names())}")
    return list(dict.fromkeys(found))


def _check(
    chosen: Iterable[Metric],
    names: Sequence[str],
    ready: Mapping[str, Sequence[Explanation]] | None,
    extra: Mapping[str, Mapping[str, Any]],
) -> None:
    of_methods = [m.name for m in chosen if m.of == "method"]
    if of_methods and not names:
        raise OptionError(f"{', '.join(of_methods)} measure explanations: name at least one method")
    if "" in names:
        raise OptionError("a method's name must not be empty")
    for name in extra:
        if name not in names or ready is not None:
            raise OptionError(f"method_options for {name!r}, which is not one of the methods to run")


def _load(model: Any) -> Model:
    from saywhy.models import load

    return cast(Model, load(model))


def _erasure(model: Any, erasure: str | None) -> str:
    from saywhy.models.erasures import default_erasure

    return erasure if erasure is not None else default_erasure(model)


def _check_methods(names: Sequence[str], model: Any, extra: Mapping[str, Mapping[str, Any]]) -> None:
    """Fail before any work for a name or option that is not there, and for a model that offers too little."""
    from saywhy.explainers.run import check_capabilities, make_explainer

    for name in names:
        own = {k: v for k, v in extra.get(name, {}).items() if k not in _OF_EXPLAIN}
        check_capabilities(model, make_explainer(name, own))


def _explain(model: Model, examples: list[Example], method: str, options: Mapping[str, Any]) -> list[Explanation]:
    from saywhy.explainers import explain

    return explain(cast(Any, model), examples, method, **options)


def _examples(
    data: Any, split: str | None, limit: int | None, seed: int, options: Mapping[str, Any]
) -> tuple[list[Example], list[int], str]:
    """The examples to measure on, their places in what was given, and a name for it."""
    from saywhy.data import Dataset, load_dataset
    from saywhy.data.dataset import take

    if limit is not None and limit < 1:
        raise OptionError(f"limit must be at least 1, not {limit}")
    title = ""
    if isinstance(data, str):
        data = load_dataset(data, **options)
    elif options:
        raise OptionError(f"data_options {', '.join(options)} go with a dataset's name, and examples were given")
    if isinstance(data, Dataset):
        title = data.name
        data = data[split or data.evaluation_split]
    elif split is not None:
        raise OptionError(f"split {split!r} goes with a dataset, and a list of examples was given")
    examples, _ = as_examples(list(data))
    positions = list(range(len(examples)))
    if limit is not None:
        # The draw of `load_dataset(limit=...)`, made over places so that ready explanations can follow it.
        places: Any = iter(positions)
        positions = cast("list[int]", list(take(places, limit, seed)))
    return [examples[i] for i in positions], positions, title


def _picked(name: str, explanations: Sequence[Explanation], positions: Sequence[int]) -> list[Explanation]:
    if positions and len(explanations) <= positions[-1]:
        raise OptionError(f"{name}: {len(explanations)} explanations, but the data has more examples")
    return [explanations[i] for i in positions]
