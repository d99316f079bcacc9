"""Write the tables of the README and the documentation from the registries and the command line.

    python scripts/tables.py            rewrite what stands between the markers
    python scripts/tables.py --check    change nothing; exit with 1 where something is stale

A table stands between ``<!-- table: NAME -->`` and ``<!-- end of table -->``; `TABLES` says what NAME may be.
"""

from __future__ import annotations

import argparse
import dataclasses
import inspect
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from saywhy.cli.listing import registry

__all__ = ["TABLES", "main", "pages", "rewrite"]

ROOT = Path(__file__).resolve().parent.parent
_NOT_SHOWN = ("help", "install_completion", "show_completion")
_BLOCK = re.compile(r"(<!-- table: ([a-z-]+) -->\n).*?(<!-- end of table -->)", re.DOTALL)


def pages(root: Path = ROOT) -> list[Path]:
    """The Markdown files that may hold tables."""
    return [root / "README.md", *sorted((root / "docs").rglob("*.md"))]


def rewrite(text: str) -> str:
    """A page with its tables made anew."""

    def make(found: re.Match[str]) -> str:
        start, name, end = found.groups()
        if name not in TABLES:
            raise SystemExit(f"there is no table {name!r}; there are {', '.join(TABLES)}")
        return f"{start}\n{TABLES[name]().strip()}\n\n{end}"

    return _BLOCK.sub(make, text)


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *([_cell(value) for value in row] for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _cell(value: str) -> str:
    return " ".join(value.replace("|", "\\|").replace("``", "`").split())


def _code(value: object) -> str:
    return f"`{value}`"


def methods() -> str:
    """Methods: name, what it does, what it needs of the model, where it comes from."""
    return table(
        ("method", "what it does", "needs", "paper"),
        ((_code(e.name), e.summary, ", ".join(e.needs), e.paper) for e in registry("methods")),
    )


def method_options() -> str:
    """Methods with their options and defaults."""
    return table(
        ("method", "family", "tasks", "options and defaults"),
        ((_code(e.name), e.family, ", ".join(e.tasks), _fields(e.value)) for e in registry("methods")),
    )


def _fields(cls: type[Any]) -> str:
    options = {f.name.rstrip("_").replace("_", "-"): f.default for f in dataclasses.fields(cls)}
    return _options(options)


def _options(options: Mapping[str, object]) -> str:
    shown = {k: list(v) if isinstance(v, tuple) else v for k, v in options.items()}
    return ", ".join(_code(f"{key}={value}") for key, value in shown.items()) or "none"


def metrics() -> str:
    """Metrics: name, what it measures, family, direction of the default variant."""
    return table(
        ("metric", "what it measures", "family", "better"),
        (
            (_code(e.name), e.summary, e.family, "higher" if e.facts["higher_is_better"] else "lower")
            for e in registry("metrics")
        ),
    )


def metric_options() -> str:
    """Metrics with the range of the default variant, options and defaults."""
    return table(
        ("metric", "of", "range", "options and defaults", "paper"),
        (
            (
                _code(e.name),
                e.facts["of"],
                " to ".join("∞" if v is None else f"{v:g}" for v in e.facts["range"]),
                _options(e.facts["options"]),
                e.paper,
            )
            for e in registry("metrics")
        ),
    )


def objectives() -> str:
    """Objectives: name and what is trained for."""
    return table(
        ("objective", "what it trains for", "tasks"),
        ((_code(e.name), e.summary, ", ".join(e.tasks)) for e in registry("objectives")),
    )


def models() -> str:
    """Networks that can be trained by name."""
    return table(
        ("model", "what it is", "tasks"),
        ((_code(e.name), e.summary, ", ".join(e.tasks)) for e in registry("models")),
    )


def model_options() -> str:
    """Networks with the training settings that suit them, options and defaults."""
    rows = []
    for entry in registry("models"):
        parameters = inspect.signature(entry.value).parameters.values()
        own = {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY and p.name != "cell"}
        rows.append((_code(entry.name), _options(entry.facts), _options(own)))
    return table(("model", "trained with, unless told otherwise", "options and defaults"), rows)


def datasets() -> str:
    """Datasets by family, names only."""
    families: dict[str, list[str]] = {}
    for entry in registry("datasets"):
        families.setdefault(entry.family, []).append(_code(entry.name))
    return table(("family", "datasets"), ((family, ", ".join(names)) for family, names in sorted(families.items())))


def datasets_in_full() -> str:
    """Datasets: name, what it is, task, where it comes from."""
    return table(
        ("dataset", "what it is", "task", "paper"),
        ((_code(e.name), e.summary, ", ".join(e.tasks), e.paper) for e in registry("datasets")),
    )


def erasures() -> str:
    """Ways to erase a word."""
    from saywhy.models.erasures import CONTINUOUS, ERASURES

    return table(
        ("erasure", "what happens to an erased word", "degrees between 0 and 1"),
        ((_code(name), what, "yes" if name in CONTINUOUS else "no") for name, what in ERASURES.items()),
    )


def commands() -> str:
    """Every command with its arguments and options, as `--help` says it."""
    import typer

    from saywhy.cli.app import app

    top: Any = typer.main.get_command(app)
    parts = [_command("saywhy", top)]
    for name, command in top.commands.items():
        inner = getattr(command, "commands", None)
        parts += [_command(f"saywhy {name}", command)] if inner is None else []
        parts += [_command(f"saywhy {name} {sub}", one) for sub, one in (inner or {}).items()]
    return "\n\n".join(parts)


def _command(name: str, command: Any) -> str:
    about, examples = [], []
    for paragraph in (command.help or "").split("\n\n"):
        found = re.fullmatch(r"\[bold\](.*)\[/bold\]", paragraph.strip(), re.DOTALL)
        if found:
            examples.append(f"$ {found.group(1)}")
        elif paragraph.strip():
            about.append(" ".join(paragraph.split()))
    parts = [f"## `{name}`", *about]
    if examples:
        parts.append("```console\n" + "\n".join(examples) + "\n```")
    rows = [_parameter(p) for p in command.params if not p.hidden and p.name not in _NOT_SHOWN]
    if rows:
        parts.append(table(("argument or option", "default", "meaning"), rows))
    return "\n\n".join(parts)


def _parameter(parameter: Any) -> tuple[str, str, str]:
    if parameter.param_type_name == "argument":
        name = parameter.name.upper()
        return _code(name if parameter.required else f"[{name}]"), "", parameter.help or ""
    names = ", ".join(_code(option) for option in (*parameter.opts, *parameter.secondary_opts))
    default = "required" if parameter.required else parameter.default
    if parameter.is_flag and not parameter.secondary_opts:
        default = None
    elif parameter.is_flag and default is not None:
        default = (parameter.opts if default else parameter.secondary_opts)[0]
    return names, "" if default is None else str(default), parameter.help or ""


TABLES: Mapping[str, Callable[[], str]] = {
    "methods": methods,
    "method-options": method_options,
    "metrics": metrics,
    "metric-options": metric_options,
    "objectives": objectives,
    "models": models,
    "model-options": model_options,
    "datasets": datasets,
    "datasets-in-full": datasets_in_full,
    "erasures": erasures,
    "commands": commands,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Rewrite the pages, or say which are stale; the number is the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--check", action="store_true", help="change nothing; exit with 1 where something is stale")
    check = parser.parse_args(arguments).check
    stale = []
    for page in pages():
        before = page.read_text(encoding="utf-8")
        after = rewrite(before)
        if after != before:
            stale.append(page.relative_to(ROOT))
            if not check:
                page.write_text(after, encoding="utf-8")
    for name in stale:
        print(f"{name} is stale: run python scripts/tables.py" if check else f"wrote {name}")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
