"""Options and output that several commands share."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from saywhy.errors import OptionError

__all__ = [
    "BatchSize",
    "Json",
    "Labels",
    "Options",
    "Seed",
    "TaskName",
    "Truncation",
    "comma_list",
    "parse_options",
    "print_json",
    "show",
]

Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
Seed = Annotated[int, typer.Option(help="Seed of everything random.")]
BatchSize = Annotated[int, typer.Option(help="The most rows the model sees at a time; bounds memory.")]
Truncation = Annotated[str, typer.Option(help="For texts that are too long: error, head or window.")]
Labels = Annotated[str | None, typer.Option(help="Names of the labels, separated by commas (for functions).")]
TaskName = Annotated[str | None, typer.Option("--task", help="text, pair, choices or span-qa; usually found out.")]
Options = Annotated[
    list[str] | None, typer.Option("--option", "-O", metavar="KEY=VALUE", help="An option; may be repeated.")
]


def comma_list(text: str | None) -> list[str]:
    """``"a, b"`` as a list of names."""
    return [part.strip() for part in (text or "").split(",") if part.strip()]


def parse_options(given: Sequence[str] | None, reserved: Sequence[str] = ()) -> dict[str, Any]:
    """``["samples=500", "labels=[no, yes]"]`` as keyword arguments.

    Values are read as YAML 1.2 has them: 1e-3 is a number, and of the words only true and false are truth values, so
    that no and yes can be labels. ``reserved`` names have an option of their own.
    """
    import yaml

    from saywhy.data.yaml12 import read_yaml

    options: dict[str, Any] = {}
    for item in given or ():
        key, equals, value = item.partition("=")
        if not equals or not key.strip():
            raise OptionError(f"cannot read the option {item!r}; write it as key=value")
        if key.strip().replace("-", "_") in reserved:
            raise OptionError(f"{key.strip()!r} has an option of its own: --{key.strip().replace('_', '-')}")
        try:
            options[key.strip().replace("-", "_")] = read_yaml(value)
        except yaml.YAMLError as error:
            raise OptionError(f"cannot read the value of option {key!r}: {value!r}") from error
    return options


def print_json(value: Any) -> None:
    """JSON on stdout, one line per top-level value."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False, indent=2) + "\n")


def show(*renderables: Any) -> None:
    """Print with colours where the terminal has them."""
    from rich.console import Console

    console = Console(highlight=False)
    for renderable in renderables:
        console.print(renderable)
