"""What methods there are, what they take, and whether a model can be explained by them."""

from __future__ import annotations

import re
from dataclasses import fields
from inspect import cleandoc
from typing import Any, get_args, get_type_hints

from saywhy.errors import SayWhyError
from saywhy.explainers.auto import OWN
from saywhy.explainers.base import AGGREGATIONS, OUTPUTS, Explainer, methods
from saywhy.explainers.run import check_capabilities, make_explainer
from saywhy.models import TextModel
from saywhy.models.erasures import ERASURES, check_erasure
from saywhy.registry import Entry

__all__ = ["LONG", "MOST", "default_methods", "describe_methods", "expected_rows", "is_long"]

LONG = frozenset({"arec", "back-select", "interaction", "kernel-shap", "lime", "shapley"})
"""Methods whose model calls are counted in hundreds, whatever the text."""
MOST = {"beams": 64}
"""Options whose memory grows so fast that they have a limit of their own."""
QUICK_WORK = 20_000
"""Rows times words that may be read while somebody waits."""
FIRST = (
    *OWN,
    "integrated-gradients",
    "leave-one-out",
    "input-x-gradient",
    "attention",
    "occlusion",
    "kernel-shap",
    "random",
)

_OPTION = re.compile(r"^[ ]{4}(\w+): ((?:.*\n?(?:[ ]{8}.*\n?)*))", re.MULTILINE)
_CHOICE = re.compile(r"``([a-z0-9-]+)``")


def describe_methods(model: TextModel) -> list[dict[str, Any]]:
    """All methods with their options, and whether this model can be explained by them."""
    return [_describe(entry, model) for entry in methods]


def default_methods(model: TextModel, most: int = 3) -> list[str]:
    """A few quick methods that suit a model, the one to begin with first."""
    return [name for name in FIRST if name in methods and _why_not(name, model) is None][:most]


def expected_rows(method: str, explainer: Explainer, words: int, pairs: int, verdict: bool) -> int | None:
    """About how many rows a model is given for an input, at most; None where nobody knows.

    Args:
        method: its name.
        explainer: the same with its options.
        words: of the input.
        pairs: of words of two texts.
        verdict: whether the explanation is checked, too.
    """

    def option(name: str, default: int = 0) -> int:
        return int(getattr(explainer, name, None) or default)

    size = pairs if getattr(explainer, "space", "words") == "alignments" else words
    rows: int | None
    if method in ("leave-one-out", "occlusion"):
        rows = size + 1
    elif method in ("lime", "kernel-shap"):
        rows = option("samples")
    elif method == "shapley":
        rows = 2**size if size <= option("exact") else option("samples")
    elif method == "back-select":
        # As many go at a time as the option says, and the rest is tried again.
        rows = size * (size + 1) // (2 * max(1, int(getattr(explainer, "step", 0.0) * size)))
    elif method == "arec":
        rows = option("steps") * option("samples")
    elif method == "interaction":
        rows = 2**words if words <= option("exact") else (option("contexts") + 1) * (1 + words // 2) ** 2 // 4
    elif method == "integrated-gradients":
        rows = option("points") or option("max_points")
    elif method == "auto":
        rows = min(option("budget", 512), 64 if size < 64 else size)
    else:
        rows = 1
    return rows + (24 if verdict else 0)


def is_long(method: str, rows: int | None, words: int) -> bool:
    """Whether an explanation takes so long that it should be a job."""
    return method in LONG or (rows or 1) * words > QUICK_WORK


def _describe(entry: Entry[type[Explainer]], model: TextModel) -> dict[str, Any]:
    why_not = _why_not(entry.name, model)
    return {
        "name": entry.name,
        "summary": entry.summary,
        "family": entry.family,
        "gives": _gives(entry),
        "long": entry.name in LONG,
        "usable": why_not is None,
        "why_not": why_not,
        "options": _options(entry, model),
    }


def _why_not(name: str, model: TextModel) -> str | None:
    try:
        check_capabilities(model, make_explainer(name))
    except SayWhyError as error:
        return str(error)
    return None


def _gives(entry: Entry[type[Explainer]]) -> str:
    if entry.name == "rationale":
        return "rationale"
    return {"sentences": "sentence", "alignments": "alignments"}.get(entry.spaces[0], "words")


def _options(entry: Entry[type[Explainer]], model: TextModel) -> list[dict[str, Any]]:
    _, _, section = cleandoc(entry.value.__doc__ or "").partition("Options:\n")
    # The section ends with the first line that is not indented.
    section = re.split(r"^\S", section, maxsplit=1, flags=re.MULTILINE)[0]
    help_of = {name: re.sub(r"\s+", " ", text).strip() for name, text in _OPTION.findall(section)}
    hints = get_type_hints(entry.value)
    made = []
    for field in fields(entry.value):
        name = field.name.rstrip("_")
        kinds = [k for k in (get_args(hints[field.name]) or (hints[field.name],)) if k is not type(None)]
        about = help_of.get(name, "")
        made.append(
            {
                "name": name.replace("_", "-"),
                "type": getattr(kinds[0], "__name__", str(kinds[0])),
                "default": field.default,
                "choices": _choices(entry, model, name, about) if kinds == [str] else None,
                "help": about,
            }
        )
    return made


def _choices(entry: Entry[type[Explainer]], model: TextModel, name: str, about: str) -> list[str] | None:
    if name == "space":
        return [s for s in entry.spaces if s != "alignments" or "alignments" in model.capabilities]
    if name == "erasure":
        return [erasure for erasure in ERASURES if _can_erase(model, erasure)]
    known = {"output": OUTPUTS, "aggregation": AGGREGATIONS}.get(name)
    return list(known or dict.fromkeys(_CHOICE.findall(about))) or None


def _can_erase(model: TextModel, erasure: str) -> bool:
    try:
        check_erasure(model, erasure)
    except SayWhyError:
        return False
    return True
