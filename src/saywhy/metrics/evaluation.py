"""`evaluate`: methods by metrics on a dataset, each model call made once, block by block."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from saywhy import __version__
from saywhy.errors import InputError, OptionError, UnknownNameError
from saywhy.metrics.base import Metric, metrics
from saywhy.metrics.parts import Origin, Parts, join_parts
from saywhy.metrics.source import Numbered, Source, open_source
from saywhy.metrics.table import EvaluationTable, Evidence
from saywhy.metrics.trial import SENTENCES, SPACES, Model, Trial, Workbench
from saywhy.ops.randomness import derive_seed
from saywhy.types import Example, Explanation, FreeText

if TYPE_CHECKING:
    from saywhy.data import Dataset

__all__ = ["evaluate", "expand_metrics", "own_space"]

# Options of `explain` itself, which may stand among a method's own.
_OF_EXPLAIN = frozenset({"target", "against", "seed", "batch_size", "truncation"})


def evaluate(
    model: Any,
    data: str | Dataset | Iterable[Any],
    methods: str | Sequence[str] | Mapping[str, Sequence[Explanation]] = (),
    metrics: str | Metric | Sequence[str | Metric] = "faithfulness",
    *,
    split: str | None = None,
    limit: int | None = None,
    seed: int = 0,
    batch_size: int = 32,
    space: str = "words",
    erasure: str | None = None,
    truncation: str = "error",
    keep: int = 0,
    against: Mapping[str, Any] | Sequence[Any] = (),
    method_options: Mapping[str, Mapping[str, Any]] | None = None,
    data_options: Mapping[str, Any] | None = None,
    **options: Any,
) -> EvaluationTable:
    """Explain examples by several methods and measure the explanations, and the model.

    Examples are read, explained and measured in blocks, and a block is forgotten before the next: what stays is a few
    numbers for each example. Inside a block predictions, erased inputs and equal masks are evaluated once for all
    methods and metrics. Everything that can be checked (names, options, what the methods need of the model, whether
    the data has what the metrics need) is checked before any work.

    Args:
        model: anything `saywhy.load` takes.
        data: a dataset's name or file, a `Dataset`, or a list or any other iterable of examples.
        methods: names of explanation methods, or explanations that are already there: ``{"mine": [...]}``, one for
            each example. May be empty if only the model is measured.
        metrics: names of metrics or of families (``faithfulness``, ``erasure``, ``readability``, ``agreement``,
            ``robustness``, ``consistency``, ``simulatability``, ``plausibility``, ``truth``, ``sentences``,
            ``performance``, ``rationalizers``), or `Metric` objects.
        split: of a dataset; by default ``test``, else ``dev``, else the first.
        limit: at most so many examples, drawn by ``seed`` and left in their order; these are held in memory.
        seed: of the draw, the methods and the bootstrap.
        batch_size: rows of a model call.
        space: what is scored and erased: ``words``, or ``alignments`` of two texts, which methods are told too. Where
            all explanations are sentences it is ``sentences`` by itself.
        erasure: how metrics remove words; ``delete``, or ``mask-token`` where positions must stay (span QA).
            Alignments are cut from the co-attention.
        truncation: what happens to texts that are too long.
        keep: so many of the first examples stay in the table with their explanations, to be shown.
        against: other models (by name, or a list of what `saywhy.load` takes) that ``model-jaccard`` compares with.
        method_options: options for methods, such as ``{"lime": {"samples": 500}}``.
        data_options: options for the dataset, where it is given by name.
        options: options for metrics, each given to every named metric that has it, such as ``score="normalised"``.

    Returns:
        One `MetricResult` for each method and metric.

    Example:
        >>> table = evaluate(model, "sst2", ["random", "leave-one-out"], limit=50)   # doctest: +SKIP
        >>> table["leave-one-out", "comprehensiveness"].value                        # doctest: +SKIP
    """
    names = [methods] if isinstance(methods, str) else list(dict.fromkeys(methods))
    ready = methods if isinstance(methods, Mapping) else None
    space = own_space(space, names, ready)
    chosen = expand_metrics(metrics, options, space)
    extra = method_options or {}
    _check(chosen, names, ready, extra)
    if keep < 0:
        raise OptionError(f"keep must be at least 0, not {keep}")
    loaded = _load(model)
    others = _others(against, chosen)
    if ready is None:
        extra = {name: _with_space(name, extra.get(name, {}), space) for name in names}
        for each in (loaded, *others.values()):
            _check_methods(names, each, extra)
    source = open_source(data, split, limit, seed, data_options)
    erasure = _erasure(loaded, erasure, space)
    run: dict[str, Any] = {"seed": seed, "batch_size": batch_size, "truncation": truncation}
    of_model = [m for m in chosen if m.of == "model"]
    of_methods = [m for m in chosen if m.of == "method"]
    cells = [("", m) for m in of_model] + [(name, m) for name in names for m in of_methods]
    parts: dict[tuple[str, Metric], list[Parts]] = {cell: [] for cell in cells}
    kept: list[Example] = []
    shown: list[Explanation] = []
    n = 0
    for block in source.blocks(loaded.splitter):
        examples = [example for _, example in block]
        bench = Workbench(loaded, examples, space=space, erasure=erasure, **run)
        if n == 0:
            _check_metrics(chosen, bench, source)
        made = {name: _picked(name, ready[name], block) for name in names} if ready is not None else {}
        for metric in of_model:
            parts["", metric].append(metric.measure(bench.trial()))
        room = max(keep - len(kept), 0)
        wanted = examples if of_methods else examples[:room]
        if ready is None and wanted:
            made = {name: _explain(loaded, wanted, name, {**run, **extra[name]}) for name in names}
        for name in names if of_methods else ():
            asked = None if ready is not None else {**run, **extra[name]}
            elsewhere = {
                title: _explain(other, examples, name, {**(asked or {}), "seed": _own_seed(seed, loaded, other)})
                for title, other in others.items()
            }
            trial = _trial(bench, name, made, asked, elsewhere)
            for metric in of_methods:
                metric.prepare(trial)
            for metric in of_methods:
                parts[name, metric].append(metric.measure(trial))
        kept += examples[:room]
        shown += [why for given in made.values() for why in given[:room]]
        n += len(examples)
    if n == 0:
        raise InputError("there is no example to measure on")
    fingerprint = loaded.fingerprint
    joined = {cell: cell[1].finish(join_parts(found), seed) for cell, found in parts.items()}
    results = [m.summarise(joined[name, m], Origin(name, erasure, seed, fingerprint)) for name, m in cells]
    return EvaluationTable(
        results=tuple(results),
        data=source.title,
        n=n,
        erasure=erasure,
        seed=seed,
        model=fingerprint,
        version=__version__,
        examples=tuple(kept),
        explanations=tuple(shown),
        evidence=tuple(_evidence(m, joined[name, m]) if name else None for name, m in cells),
    )


def expand_metrics(
    given: str | Metric | Sequence[str | Metric], options: Mapping[str, Any] | None = None, space: str | None = None
) -> list[Metric]:
    """Metrics from names, families and objects; named ones get those of the options that they have.

    Of a family those count that measure explanations over the ``space``, where one is given.

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
            if name != item and space is not None and cls.of == "method" and space not in cls.spaces:
                continue
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


def own_space(space: str, methods: Sequence[str], ready: Mapping[str, Sequence[Explanation]] | None = None) -> str:
    """The space as given, or ``sentences`` where all the methods, or the explanations that are there, speak so."""
    if space not in SPACES:
        raise OptionError(f"unknown space {space!r}; use one of {', '.join(SPACES)}")
    if ready is not None:
        spoken = bool(ready) and all(isinstance(why, FreeText) for given in ready.values() for why in given)
    else:
        from saywhy.explainers.base import methods as known

        spoken = bool(methods) and all(known[name].spaces == (SENTENCES,) for name in methods)
    return SENTENCES if spoken and space == "words" else space


def _check(
    chosen: Sequence[Metric],
    names: Sequence[str],
    ready: Mapping[str, Sequence[Explanation]] | None,
    extra: Mapping[str, Mapping[str, Any]],
) -> None:
    of_methods = [m.name for m in chosen if m.of == "method"]
    if of_methods and not names:
        raise OptionError(f"{', '.join(of_methods)} measure explanations: name at least one method")
    if "" in names:
        raise OptionError("a method's name must not be empty")
    for metric in chosen:
        if metric.compares and len(names) < 2:
            raise OptionError(f"{metric.name} compares methods: name at least two")
        until = getattr(metric, "until", None)
        if isinstance(until, str) and until not in names:
            raise OptionError(f"{metric.name}: until={until!r} is not one of the methods: {', '.join(names)}")
        if metric.repeats and ready is not None:
            raise OptionError(f"{metric.name} explains changed texts: name methods instead of giving explanations")
        if metric.across and ready is not None:
            raise OptionError(f"{metric.name} explains other models: name methods instead of giving explanations")
    for name in extra:
        if name not in names or ready is not None:
            raise OptionError(f"method_options for {name!r}, which is not one of the methods to run")


def _load(model: Any) -> Model:
    from saywhy.models import load

    return cast(Model, load(model))


def _own_seed(seed: int, model: Model, other: Model) -> int:
    """A seed for another model's explanations: with the same one, words drawn at random would agree perfectly."""
    return seed if other.fingerprint == model.fingerprint else derive_seed(seed, "against", other.fingerprint)


def _others(against: Mapping[str, Any] | Sequence[Any], chosen: Sequence[Metric]) -> dict[str, Model]:
    """The models to compare with, by name."""
    names = [metric.name for metric in chosen if metric.across]
    if names and not against:
        raise OptionError(f"{', '.join(names)} compares models: give others as against=[...] (--against)")
    if against and not names:
        raise OptionError("models are given to compare with, and no metric compares models; model-jaccard does")
    if isinstance(against, str):
        against = [against]
    if not isinstance(against, Mapping):
        titles = [str(given) for given in against]
        if len(set(titles)) < len(titles):
            raise OptionError(f"a model to compare with comes twice: {', '.join(titles)}")
        against = dict(zip(titles, against, strict=True))
    return {title: _load(given) for title, given in against.items()}


def _erasure(model: Any, erasure: str | None, space: str) -> str:
    if space == "alignments":
        from saywhy.models.alignment_space import CO_ATTENTION

        if erasure not in (None, CO_ATTENTION):
            raise OptionError(f"alignments are erased from {CO_ATTENTION}; erasure={erasure!r} is for words")
        return CO_ATTENTION
    from saywhy.models.erasures import default_erasure

    return erasure if erasure is not None else default_erasure(model)


def _with_space(name: str, options: Mapping[str, Any], space: str) -> dict[str, Any]:
    """A method's options, with the space it is asked to explain in."""
    from saywhy.explainers.run import check_space

    check_space(name, space)
    if options.get("space", space) != space:
        raise OptionError(f"{name} is given space={options['space']!r}, and the metrics measure {space}")
    return {**options, "space": space}


def _check_methods(names: Sequence[str], model: Any, extra: Mapping[str, Mapping[str, Any]]) -> None:
    """Fail before any work for a name or option that is not there, and for a model that offers too little."""
    from saywhy.explainers.run import check_capabilities, make_explainer

    for name in names:
        own = {k: v for k, v in extra[name].items() if k not in _OF_EXPLAIN}
        check_capabilities(model, make_explainer(name, own))


def _check_metrics(chosen: Iterable[Metric], bench: Workbench, source: Source) -> None:
    """Fail before any work for a model that cannot be measured, or data with nothing to compare with."""
    waiting = list(chosen)
    for metric in waiting:
        metric.check_model(bench)
    if not source.again:
        return  # what an iterator has is known when it has been read
    n = 0
    for _, example in source:
        n += 1
        waiting = [metric for metric in waiting if not metric.usable(example, bench.space)]
        if not waiting:
            return
    raise waiting[0].unusable(n)


def _explain(model: Model, examples: Sequence[Example], method: str, options: Mapping[str, Any]) -> list[Explanation]:
    from saywhy.explainers import explain

    return explain(cast(Any, model), list(examples), method, **options)


def _trial(
    bench: Workbench,
    name: str,
    made: Mapping[str, Sequence[Explanation]],
    options: Mapping[str, Any] | None,
    others: Mapping[str, Sequence[Explanation]],
) -> Trial:
    """A method's trial on a block; with options it can explain other inputs too."""

    def again(examples: Sequence[Example], targets: Sequence[int | None]) -> list[Explanation]:
        return _explain(bench.model, examples, name, {**(options or {}), "target": list(targets)})

    rivals = {other: given for other, given in made.items() if other != name}
    return bench.trial(name, made[name], rivals=rivals, explain=None if options is None else again, others=others)


def _picked(name: str, explanations: Sequence[Explanation], block: Sequence[Numbered]) -> list[Explanation]:
    if len(explanations) <= block[-1][0]:
        raise OptionError(f"{name}: {len(explanations)} explanations, but the data has more examples")
    return [explanations[place] for place, _ in block]


def _evidence(metric: Metric, parts: Parts) -> Evidence:
    made = metric.contributions(parts)
    return Evidence(parts.index, made.rows, made.statistic)
