"""`saywhy list`: what there is, by name."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from saywhy.cli.shared import Json, print_json, show
from saywhy.errors import UnknownNameError

__all__ = ["list_names"]

KINDS = ("datasets", "methods", "metrics", "models", "objectives")


def list_names(
    kind: Annotated[str, typer.Argument(help="methods, objectives, metrics, datasets or models.")],
    as_json: Json = False,
) -> None:
    """List names and what is known about them. The same names are used in Python, here and in results."""
    entries = [entry.to_dict() for entry in registry(kind)]
    if as_json:
        print_json(entries)
        return
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(no_wrap=True, style="bold")
    table.add_column(overflow="fold")
    # What is the same for everything of a kind says nothing.
    telling = [c for c in ("family", "needs", "tasks", "paper") if len({str(e.get(c)) for e in entries}) > 1]
    for entry in entries:
        facts = [", ".join(v) if isinstance(v := entry.get(c), list) else str(v or "") for c in telling]
        named = [f"{c}: {fact}" for c, fact in zip(telling, facts, strict=True) if fact]
        table.add_row(entry["name"], Text.assemble(entry["summary"], "\n", (" · ".join(named), "dim")))
    show(table)


def registry(kind: str) -> Any:
    """The registry of that kind of thing."""
    if kind == "methods":
        from saywhy.explainers import methods

        return methods
    if kind == "metrics":
        from saywhy.metrics import metrics

        return metrics
    if kind == "datasets":
        from saywhy.data import datasets

        return datasets
    if kind == "models":
        from saywhy.models.networks import networks

        return networks
    if kind == "objectives":
        from saywhy.objectives import objectives

        return objectives
    raise UnknownNameError("kind", kind, KINDS)
