"""From the bodies of requests to work for models: everything that can be checked is checked here, before any work."""

from __future__ import annotations

import json
import math
from typing import Any

from saywhy.data.words import example_words
from saywhy.errors import SayWhyError
from saywhy.explainers.run import check_capabilities, make_explainer
from saywhy.metrics import evaluate
from saywhy.metrics.evaluation import expand_metrics
from saywhy.metrics.table import CHANCE
from saywhy.models import TextModel
from saywhy.models.erasures import check_erasure
from saywhy.server.cache import content_key
from saywhy.server.catalogue import MOST, expected_rows, is_long
from saywhy.server.engine import Engine, Work
from saywhy.server.lanes import Call
from saywhy.server.problems import Problem, as_problem
from saywhy.server.schemas import CounterfactualBody, EvaluateBody, ExplainBody, InputBody, PredictBody
from saywhy.server.served import Asked, Question, Served, dumps, explain_together, predict_together
from saywhy.types import Example

__all__ = ["counterfactual_work", "evaluate_work", "explain_work", "predict_work", "read_input"]

ONE_INPUT = ("faithfulness", "erasure", "readability", "agreement")
"""Families of metrics that say something about a single input."""


def read_input(engine: Engine, served: Served, body: InputBody) -> Example:
    """The input of a request as an example, within the limits."""
    limits = engine.settings
    if len(body.choices) > limits.max_choices:
        raise Problem("limit", f"{len(body.choices)} choices; at most {limits.max_choices} are taken", "input.choices")
    example = Example(tuple(body.texts), choices=tuple(body.choices))
    try:
        served.check(example)
    except SayWhyError as error:
        raise as_problem(error, "input") from error
    # Every word has a character: short texts need not be counted.
    if sum(map(len, example.fields)) > limits.max_words:
        words = len(example_words(example, served.model.splitter))
        if words > limits.max_words:
            raise Problem("limit", f"the input has {words} words; at most {limits.max_words} are taken", "input.texts")
    if not example_words(example, served.model.splitter):
        raise Problem("input", "the input has no words; give a text with at least one", "input.texts")
    return example


def predict_work(engine: Engine, body: PredictBody) -> Work:
    """A prediction, with some words removed."""
    served = engine.find(body.model)
    example = read_input(engine, served, body.input)
    if body.remove is not None and body.keep is not None:
        raise Problem("input", "say which words to remove or which to keep, not both", "keep")
    size = len(example_words(example, served.model.splitter))
    for field, numbers in (("remove", body.remove), ("keep", body.keep)):
        beyond = [number for number in numbers or () if number >= size]
        if beyond:
            raise Problem("input", f"there is no word {beyond[0]}: the input has {size}, counted from 0", field)
    removed = set(body.remove or ()) if body.keep is None else set(range(size)) - set(body.keep)
    if body.erasure is not None:
        try:
            check_erasure(served.model, body.erasure)
        except SayWhyError as error:
            raise as_problem(error, "erasure") from error
    asked = Asked(example, tuple(sorted(removed)), body.erasure)
    return Work(served, predict_together, asked, group=("predict", body.erasure), urgent=True)


def explain_work(engine: Engine, served: Served, body: ExplainBody) -> Work:
    """An explanation."""
    example = read_input(engine, served, body.input)
    words = example_words(example, served.model.splitter)
    for field, label in (("target", body.target), ("against", body.against)):
        if label is not None:
            try:
                served.model.label_index(label, example)
            except SayWhyError as error:
                raise as_problem(error, field) from error
    options = tuple(sorted(body.options.items()))
    explainer = _explainer(engine, served, body.method, options)
    verdict = body.verdict if isinstance(body.verdict, bool) else body.verdict.model_dump()
    first = sum(word.field == 0 for word in words)
    rows = expected_rows(body.method, explainer, len(words), first * (len(words) - first), bool(verdict))
    if rows is not None and isinstance(verdict, dict):
        rows *= 1 + verdict["seeds"]  # each is a whole run
    _check_rows(engine, rows)
    question = Question(example, body.method, options, body.target, body.against, body.seed, verdict, body.truncation)
    facts = {
        "texts": example.texts,
        "choices": example.choices,
        "method": body.method,
        "options": dict(options),
        "target": body.target,
        "against": body.against,
        "seed": body.seed,
        "verdict": verdict,
        "truncation": body.truncation,
    }
    return Work(
        served,
        explain_together,
        question,
        group=("explain", body.method, options, body.seed, json.dumps(verdict), body.truncation),
        key=content_key("explain", served.identity, facts),
        expected=rows,
        long=is_long(body.method, rows, len(words)),
    )


def _explainer(engine: Engine, served: Served, method: str, options: tuple[tuple[str, Any], ...]) -> Any:
    """An explainer with these options that works for the model; what was found once is not looked for again."""
    key = (method, options)
    if key in served.checked:
        return served.checked[key]
    for name, value in options:
        most = MOST.get(name, engine.settings.max_number)
        if isinstance(value, int) and abs(value) > most:
            raise Problem("limit", f"{name} is {value}; at most {most} is taken", "options")
    try:
        explainer = make_explainer(method, dict(options))
        check_capabilities(served.model, explainer)
    except SayWhyError as error:
        raise as_problem(error, "options" if options else "method") from error
    if len(served.checked) < 1000:
        served.checked[key] = explainer
    return explainer


def _check_rows(engine: Engine, rows: int | None) -> None:
    if rows is not None and rows > engine.settings.max_rows:
        most = engine.settings.max_rows
        raise Problem("limit", f"this would ask the model more than {most} times; lower the options", "options")


def evaluate_work(engine: Engine, body: EvaluateBody) -> Work:
    """Metrics of several methods on one input."""
    served = engine.find(body.model)
    example = read_input(engine, served, body.input)
    words = example_words(example, served.model.splitter)
    _check_metrics(body)
    rows, long = 0, False
    for method in body.methods:
        explainer = _explainer(engine, served, method, ())
        if body.space not in type(explainer).spaces:
            raise Problem("input", f"method {method!r} does not explain {body.space}", "methods")
        need = expected_rows(method, explainer, len(words), len(words) ** 2 // 4, verdict=False)
        long = long or is_long(method, need, len(words))
        rows += (need or 1) + 20 * len(body.metrics)
    _check_rows(engine, rows)
    facts = {**body.model_dump(exclude={"model", "wait"}), "texts": example.texts}
    return Work(
        served,
        _evaluate,
        (example, body),
        key=content_key("evaluate", served.identity, facts),
        expected=rows,
        long=long or rows * len(words) > 20_000,
    )


def _check_metrics(body: EvaluateBody) -> None:
    try:
        chosen = expand_metrics(body.metrics, space=body.space)
    except SayWhyError as error:
        raise as_problem(error, "metrics") from error
    for metric in chosen:
        alone = metric.of == "method" and not (metric.compares or metric.across or metric.repeats)
        if metric.family not in ONE_INPUT or not alone:
            raise Problem(
                "input",
                f"{metric.name} says nothing about a single input; use metrics of {', '.join(ONE_INPUT)}, and "
                "`saywhy evaluate` for the others",
                "metrics",
            )


def _evaluate(model: TextModel, calls: list[Call]) -> list[Any]:
    example, body = calls[0].payload
    names = list(dict.fromkeys([*body.methods, CHANCE]))
    table = evaluate(
        model, [example], names, body.metrics, seed=body.seed, space=body.space, truncation="head", samples=1
    )

    def values(method: str) -> dict[str, float | None]:
        found = {result.name: float(result.value) for result in table if result.method == method}
        return {name: value if math.isfinite(value) else None for name, value in found.items()}

    facts = {r.name: {"higher_is_better": r.higher_is_better} for r in table}
    notes = dict.fromkeys(note for result in table for note in result.notes)
    rows = [{"method": name, "metrics": values(name), "random": values(CHANCE)} for name in body.methods]
    return [dumps({"rows": rows, "metrics": facts, "erasure": table.erasure, "notes": list(notes)})]


def counterfactual_work(engine: Engine, body: CounterfactualBody) -> Work:
    """The smallest change that turns a prediction."""
    served = engine.find(body.model)
    example = read_input(engine, served, body.input)
    if served.task == "span-qa":
        raise Problem("input", "a span-qa model answers with a part of the text; there is no label to turn", "model")
    facts = {**body.model_dump(exclude={"model", "wait"}), "texts": example.texts}
    key = content_key("counterfactual", served.identity, facts)
    return Work(served, _counterfactual, (example, body), key=key, expected=body.budget, long=True)


def _counterfactual(model: TextModel, calls: list[Call]) -> list[Any]:
    from saywhy.audits import counterfactual

    example, body = calls[0].payload
    found = counterfactual(
        model, example, target=body.target, replace=body.replace, budget=body.budget, truncation="head"
    )
    return [dumps(found.to_dict())]
