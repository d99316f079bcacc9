"""`saywhy overview | diff | sanity`: a corpus through a model's reasons, two models, and methods put to the test."""

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

__all__ = ["diff", "overview", "sanity"]

Data = Annotated[str, typer.Option(help="A dataset's name (`saywhy list datasets`) or a file.")]
Method = Annotated[str, typer.Option(help="The method that names the words.")]
Split = Annotated[str | None, typer.Option(help="Split; test by default, else dev; all of a file.")]
Limit = Annotated[int | None, typer.Option(help="At most so many texts, drawn by the seed; all if not given.")]
Html = Annotated[Path | None, typer.Option(help="Also write a page that opens offline.")]
_OWN = ("split", "limit", "seed", "batch_size", "truncation", "method")


def overview(
    model: Annotated[str, typer.Argument(help="A model folder, a hub name, or file.py:function.")],
    data: Data,
    method: Method = "auto",
    split: Split = None,
    limit: Limit = None,
    least: Annotated[float, typer.Option(help="Loss of probability from which on a word decides.")] = 0.1,
    option: Options = None,
    html: Html = None,
    labels: Labels = None,
    task: TaskName = None,
    truncation: Truncation = "head",
    seed: Seed = 0,
    batch_size: BatchSize = 32,
    as_json: Json = False,
) -> None:
    """Show which words and phrases decide most often, which errors they make, and which may be shortcuts.

    [bold]saywhy overview runs/sst2 --data sst2 --html overview.html[/bold]
    """
    from saywhy.audits import overview as look
    from saywhy.models import load

    found = look(
        load(model, labels=comma_list(labels) or None, task=task),
        data,
        method=method,
        split=split,
        limit=limit,
        least=least,
        seed=seed,
        batch_size=batch_size,
        truncation=truncation,
        **parse_options(option, (*_OWN, "least")),
    )
    if html is not None:
        from saywhy.reports import write_page
        from saywhy.reports.audit import overview_page

        write_page(html, overview_page(found))
    if as_json:
        print_json(found.to_dict())
    else:
        show(found, *([f"wrote {html}"] if html is not None else []))


def diff(
    old: Annotated[str, typer.Argument(help="The old model: a folder, a hub name, or file.py:function.")],
    new: Annotated[str, typer.Argument(help="The new one.")],
    data: Data,
    method: Method = "auto",
    split: Split = None,
    limit: Limit = None,
    keep: Annotated[int, typer.Option(help="Texts to show: those that moved most.")] = 6,
    option: Options = None,
    html: Html = None,
    labels: Labels = None,
    task: TaskName = None,
    truncation: Truncation = "head",
    seed: Seed = 0,
    batch_size: BatchSize = 32,
    as_json: Json = False,
) -> None:
    """Compare two versions of a model: predictions that changed, words that changed their role, texts side by side.

    [bold]saywhy diff runs/sst2 runs/demo --data sst2 --html diff.html[/bold]
    """
    from saywhy.audits import diff as compare
    from saywhy.models import load

    names = comma_list(labels) or None
    found = compare(
        load(old, labels=names, task=task),
        load(new, labels=names, task=task),
        data,
        method=method,
        split=split,
        limit=limit,
        keep=keep,
        seed=seed,
        batch_size=batch_size,
        truncation=truncation,
        **parse_options(option, (*_OWN, "keep")),
    )
    if html is not None:
        from saywhy.reports import write_page
        from saywhy.reports.audit import difference_page

        write_page(html, difference_page(found))
    if as_json:
        print_json(found.to_dict())
    else:
        show(found, *([f"wrote {html}"] if html is not None else []))


def sanity(
    model: Annotated[str, typer.Argument(help="A model folder, a hub name, or file.py:function.")],
    data: Data,
    methods: Annotated[str, typer.Option(help="Names of methods, separated by commas.")],
    tests: Annotated[
        str, typer.Option(help="Tests, separated by commas.")
    ] = "parameters,labels,shortcut,invariance,seeds",
    train: Annotated[
        str | None, typer.Option(help="Data to train copies on (labels, shortcut); its train split is used.")
    ] = None,
    strength: Annotated[float, typer.Option(help="How often the planted word stands with its label.")] = 0.9,
    train_limit: Annotated[int, typer.Option(help="Examples to train copies on.")] = 1000,
    epochs: Annotated[int, typer.Option(help="Of the copies' training.")] = 2,
    learning_rate: Annotated[float | None, typer.Option(help="Of the copies' training.")] = None,
    split: Split = None,
    limit: Annotated[int, typer.Option(help="At most so many texts, drawn by the seed.")] = 20,
    labels: Labels = None,
    task: TaskName = None,
    truncation: Truncation = "head",
    seed: Seed = 0,
    batch_size: BatchSize = 32,
    as_json: Json = False,
) -> None:
    """Put explanation methods to the test: do they look at the model, find what it uses, and hold still?

    [bold]saywhy sanity runs/sst2 --data sst2 --methods random,attention,integrated-gradients --train sst2[/bold]
    """
    from saywhy.audits import sanity as examine
    from saywhy.models import load

    found = examine(
        load(model, labels=comma_list(labels) or None, task=task),
        data,
        comma_list(methods),
        tests=comma_list(tests),
        train=train,
        strength=strength,
        train_limit=train_limit,
        epochs=epochs,
        learning_rate=learning_rate,
        split=split,
        limit=limit,
        seed=seed,
        batch_size=batch_size,
        truncation=truncation,
    )
    if as_json:
        print_json(found.to_dict())
    else:
        show(found)
