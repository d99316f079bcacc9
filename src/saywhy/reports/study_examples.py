"""Inputs of a study with their explanations: by model, as several models explain one, and alike ones as a pair."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain, combinations
from typing import Any, TypeVar

from saywhy.display import field_names
from saywhy.reports.page import Shown, shown_parts
from saywhy.studies import StudyResult
from saywhy.types import Example, Explanation, Span, explanation_from_dict

__all__ = ["alike", "examples", "pairs"]

ARTICLES = 12  # inputs with explanations on the page; each may have many methods
PAIRED = 8  # models whose explanations of one input stand beside each other
SAME = 4  # inputs of a dataset that several models explain; fewer where the models are many
ALIKE = 3  # pairs of alike inputs
TOLD = 4  # models that explain such a pair
COMPARED = 60  # inputs of a dataset among which alike ones are looked for
OVERLAP = 1 / 3  # words that two inputs must share to be alike
FIRST = "integrated-gradients"  # how IvRA's figure 4 explains the reference; another method where it is not measured

T = TypeVar("T")
Inputs = dict[tuple[Any, ...], Shown]


def examples(result: StudyResult) -> tuple[list[tuple[str, list[dict[str, Any]]]], int]:
    """Inputs with the explanations of all methods, by model and dataset (first seed); and how many were left out."""
    groups = _explained(result)
    each = max(1, ARTICLES // len(groups)) if groups else 0
    kept = [
        (f"{model} on {data}", [shown_parts(shown) for shown in list(inputs.values())[:each]])
        for (_, model, data), inputs in list(groups.items())[:ARTICLES]
    ]
    return kept, sum(map(len, groups.values())) - sum(len(shown) for _, shown in kept)


def pairs(result: StudyResult) -> list[tuple[str, list[dict[str, Any]]]]:
    """The same inputs as different models explain them, method by method; by dataset (first seed)."""
    steps: dict[tuple[str, str], dict[str, Inputs]] = {}
    for (step, model, data), inputs in _explained(result).items():
        steps.setdefault((step, data), {})[model] = inputs
    made = []
    for (_, data), models in steps.items():
        chosen = dict(list(models.items())[:PAIRED])
        if len(chosen) < 2:
            continue
        common = [same for same in next(iter(chosen.values())) if all(same in inputs for inputs in chosen.values())]
        shown = []
        for same in common[: min(SAME, 2 * PAIRED // len(chosen))]:
            whys = [_by_model(why, model) for model, inputs in chosen.items() for why in inputs[same].explanations]
            # By method, so that what is compared stands together; models keep their order.
            whys.sort(key=lambda why: why.method.split(" · ")[0])
            example = chosen[next(iter(chosen))][same].example
            # Each box says which label it is about; there is no one prediction for all.
            shown.append({**shown_parts(Shown(example, tuple(whys))), "said": None, "right": None})
        if shown:
            made.append((data, shown))
    return made


def alike(result: StudyResult) -> list[tuple[str, list[dict[str, Any]]]]:
    """Pairs of inputs that are alike, as the reference and models that were trained explain both; by dataset.

    Reference: IvRA, figure 4, where two questions about one paragraph are explained. Alike are inputs with the same
    second text, or else the same first one, or else many words in common.
    """
    found: dict[str, dict[tuple[Any, ...], dict[tuple[str, str], Explanation]]] = {}
    examples: dict[tuple[Any, ...], Example] = {}
    for (_, model, data), inputs in _explained(result).items():
        for same, shown in inputs.items():
            examples.setdefault(same, shown.example)
            told = found.setdefault(data, {}).setdefault(same, {})
            for why in shown.explanations:
                told.setdefault((model, why.method), why)
    made: list[tuple[str, list[dict[str, Any]]]] = []
    left = ALIKE
    for data, inputs_of in found.items():
        kept: list[dict[str, Any]] = []
        used: set[tuple[Any, ...]] = set()
        for reason, one, two in _likest(list(inputs_of)[:COMPARED]):
            if len(kept) == left:
                break
            columns = _columns(result, [key for key in inputs_of[one] if key in inputs_of[two]])
            if len(columns) < 2 or used & {one, two}:
                continue
            used |= {one, two}
            sides = [_side(examples[same], [(key, inputs_of[same][key]) for key in columns]) for same in (one, two)]
            fragments = list(chain.from_iterable(zip(*(side["fragments"] for side in sides), strict=True)))
            name = field_names(inputs_of[one][columns[0]].header)[reason] if reason < 2 else ""
            why_alike = f"the same {name or 'text'}" if reason < 2 else "many words in common"
            kept.append({"sides": sides, "fragments": fragments, "alike": why_alike})
        left -= len(kept)
        if kept:
            made.append((data, kept))
    return made


def _likest(inputs: Sequence[tuple[Any, ...]]) -> list[tuple[int, tuple[Any, ...], tuple[Any, ...]]]:
    """Pairs that are alike, those that are most so first: the text that is the same, or 2 where none is."""
    words = [set(" ".join((*texts, *choices)).lower().split()) for texts, choices in inputs]
    ranked = []
    for one, two in combinations(range(len(inputs)), 2):
        first, second = inputs[one][0], inputs[two][0]
        both = [place for place in (1, 0) if first[place : place + 1] == second[place : place + 1] != ()]
        same = [place for place in both if first[place].strip()]
        overlap = len(words[one] & words[two]) / max(1, len(words[one] | words[two]))
        if same or overlap >= OVERLAP:
            order = same[0] if same else 2
            # The second text before the first.
            ranked.append(((1, 0, 2).index(order), -overlap, one, two, order))
    return [(order, inputs[one], inputs[two]) for _, _, one, two, order in sorted(ranked)]


def _columns(result: StudyResult, keys: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """A model and a method each: the reference's, then what each trained model says of itself; none without both."""
    models: dict[str, list[str]] = {}
    for model, method in keys:
        if method != result.study.baseline:
            models.setdefault(model, []).append(method)
    named = result.study.reference or next(iter(models), "")
    references = list(named.values()) if isinstance(named, dict) else [named]
    base = next((model for model in references if model in models), None)
    if base is None:
        return []
    known = models[base]
    shown = FIRST if FIRST in known else known[0]
    made = [(base, shown)]
    for model in _spread([m for m in models if m not in references], TOLD - 1):
        own = [method for method in models[model] if method not in known]
        same = [method for method in models[model] if method == shown]
        made.append((model, (own or same or models[model])[0]))
    return made


def _spread(items: list[T], most: int) -> list[T]:
    """At most so many of them, evenly from the first to the last, so that none of several kinds is left out."""
    if len(items) <= most:
        return items
    return [items[round(place * (len(items) - 1) / (most - 1))] for place in range(most)]


def _side(example: Example, told: Sequence[tuple[tuple[str, str], Explanation]]) -> dict[str, Any]:
    return shown_parts(Shown(example, tuple(_by_model(why, model) for (model, _), why in told)))


def _by_model(why: Explanation, model: str) -> Explanation:
    return replace(why, header=replace(why.header, method=f"{why.method} · {model}"))


def _explained(result: StudyResult) -> dict[tuple[str, str, str], Inputs]:
    """By step, model and dataset, the inputs of the first seed and all that was said about each."""
    groups: dict[tuple[str, str, str], Inputs] = {}
    seeds: dict[tuple[str, str, str], int] = {}
    for cell in result.plan.cells:
        found = result.results.get(cell.name)
        if cell.kind != "evaluate" or found is None or not found.get("explanations"):
            continue
        key = (cell.facts["step"], cell.facts["model"], cell.facts["data"])
        if seeds.setdefault(key, cell.facts["seed"]) != cell.facts["seed"]:
            continue
        known = {(e.texts, e.choices): e for e in map(_example, found["examples"])}
        for entry in found["explanations"]:
            why = explanation_from_dict(entry["why"])
            # Tables know a method by the study's title for it.
            why = replace(why, header=replace(why.header, method=entry["method"]))
            same = (why.header.texts, why.header.choices)
            shown = groups.setdefault(key, {}).get(same)
            before = shown.explanations if shown is not None else ()
            example = known.get(same) or Example(texts=same[0], choices=same[1])
            groups[key][same] = Shown(example, (*before, why))
    return groups


def _example(data: Mapping[str, Any]) -> Example:
    rationales = tuple(tuple(Span(**span) for span in marked) for marked in data.get("rationales", ()))
    answers = tuple(Span(**span) for span in data.get("answers", ()))
    return Example(
        tuple(data["texts"]),
        data["label"],
        tuple(data["choices"]),
        rationales,
        answers=answers,
        truth=bool(data.get("truth", False)),
        id=data["id"],
    )
