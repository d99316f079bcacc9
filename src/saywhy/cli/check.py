"""`saywhy check`: a gate for continuous integration."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from saywhy.cli.shared import (
    BatchSize,
    Json,
    Labels,
    Options,
    Seed,
    TaskName,
    Truncation,
    comma_list,
    parse_options,
    print_json,
    show,
)

__all__ = ["check"]


def check(
    model: Annotated[str, typer.Argument(help="A model folder, a hub name, or file.py:function.")],
    data: Annotated[str, typer.Option(help="A dataset's name (`saywhy list datasets`) or a file.")],
    require: Annotated[
        list[str],
        typer.Option(
            metavar="[METHOD:]METRIC>=BOUND", help="What must hold; may be repeated. A bound is a number or a method."
        ),
    ],
    methods: Annotated[str, typer.Option(help="Methods that requirements without one are about.")] = "auto",
    confident: Annotated[
        bool, typer.Option("--confident", help="The whole interval must keep a number, not only the value.")
    ] = False,
    split: Annotated[str | None, typer.Option(help="Split; test by default, else dev; all of a file.")] = None,
    limit: Annotated[int | None, typer.Option(help="At most so many examples, drawn by the seed.")] = 100,
    erasure: Annotated[str | None, typer.Option(help="How metrics remove words.")] = None,
    option: Options = None,
    junit: Annotated[Path | None, typer.Option(help="Also write JUnit's XML.")] = None,
    out: Annotated[Path | None, typer.Option(help="Also write JSON.")] = None,
    labels: Labels = None,
    task: TaskName = None,
    truncation: Truncation = "head",
    seed: Seed = 0,
    batch_size: BatchSize = 32,
    as_json: Json = False,
) -> None:
    """Check that a model and its explanations meet requirements: exit code 0 if all do, 1 if not.

    [bold]saywhy check runs/sst2 --data sst2 --require "accuracy>=0.85" --require "sufficiency>random"[/bold]

    [bold]saywhy check runs/sst2 --data sst2 --require "lime:comprehensiveness>=0.3" --junit check.xml[/bold]
    """
    from saywhy.audits import check as run
    from saywhy.models import load

    report = run(
        load(model, labels=comma_list(labels) or None, task=task),
        data,
        require,
        comma_list(methods),
        confident=confident,
        split=split,
        limit=limit,
        seed=seed,
        batch_size=batch_size,
        truncation=truncation,
        erasure=erasure,
        **parse_options(option, ("split", "limit", "seed", "batch_size", "truncation", "erasure", "keep")),
    )
    if junit is not None:
        junit.write_text(report.to_junit(), encoding="utf-8")
    if out is not None:
        out.write_text(report.to_json() + "\n", encoding="utf-8")
    if as_json:
        print_json(report.to_dict())
    else:
        show(report)
    if not report:
        raise typer.Exit(1)
