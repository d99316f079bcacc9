"""`saywhy explain`: why does a model say what it says about a text, or about every row of a file?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

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
from saywhy.errors import OptionError

__all__ = ["explain"]

_OWN = ("target", "against", "seed", "batch_size", "truncation", "verdict")
_OF_DATA = {
    "out": None,
    "split": None,
    "limit": None,
    "data_option": None,
    "engine": "local",
    "workers": 1,
    "threads": 1,
    "address": None,
    "shard_size": 256,
    "on_error": "stop",
    "force": False,
    "dry_run": False,
}
"""Options that go with --data only, and what they are when not given."""


def explain(
    model: Annotated[
        str, typer.Argument(help="A model folder, a hub name, or file.py:function with --labels for a black box.")
    ],
    text: Annotated[
        str | None, typer.Argument(help="The text; or the premise, or the question. Left out with --data.")
    ] = None,
    second: Annotated[str | None, typer.Argument(help="The second text: hypothesis or context.")] = None,
    method: Annotated[
        list[str] | None,
        typer.Option(
            "--method", "-m", help="Name of a method (see `saywhy list methods`); may be repeated; auto by default."
        ),
    ] = None,
    choice: Annotated[list[str] | None, typer.Option(help="A possible answer; repeat it for each.")] = None,
    target: Annotated[str | None, typer.Option(help="Label to explain; the predicted one by default.")] = None,
    against: Annotated[str | None, typer.Option(help="Explain why the target rather than this label.")] = None,
    option: Options = None,
    verdict: Annotated[
        bool | None,
        typer.Option(help="Check the explanation against random words; by default yes, but not with --data."),
    ] = None,
    verdict_seeds: Annotated[
        int, typer.Option(help="Run the method with so many other seeds too, and say how many of its words stay.")
    ] = 0,
    html: Annotated[Path | None, typer.Option(help="Also write a page that opens offline.")] = None,
    data: Annotated[
        str | None, typer.Option(help="Explain every row of a file (CSV, JSON Lines, Parquet) or a dataset by name.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="With --data: the Parquet file to write.")] = None,
    split: Annotated[str | None, typer.Option(help="With --data: which rows; a lone file's are all explained.")] = None,
    limit: Annotated[int | None, typer.Option(help="With --data: at most so many rows, drawn by the seed.")] = None,
    data_option: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="An option of the dataset; may be repeated.")
    ] = None,
    engine: Annotated[str, typer.Option(help="With --data: local or ray.")] = "local",
    workers: Annotated[int, typer.Option(help="With --data: how many processes, each with the model.")] = 1,
    threads: Annotated[int, typer.Option(help="With --data: threads of each worker.")] = 1,
    address: Annotated[str | None, typer.Option(help="Address of a Ray cluster that is running.")] = None,
    shard_size: Annotated[
        int, typer.Option(help="With --data: rows that are written together; bounds memory and what a crash can lose.")
    ] = 256,
    on_error: Annotated[
        str, typer.Option(help="With --data, for a row that cannot be explained: stop, or skip it with a message.")
    ] = "stop",
    force: Annotated[bool, typer.Option("--force", help="With --data: begin anew, whatever is there.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="With --data: count the rows, time a few, print an estimate.")
    ] = False,
    labels: Labels = None,
    task: TaskName = None,
    truncation: Truncation = "error",
    seed: Seed = 0,
    batch_size: BatchSize = 32,
    as_json: Json = False,
) -> None:
    """Explain a prediction: coloured words here, or a page, or JSON; and check the explanation against random words.

    With --data, explain every row of a file, streamed and resumable: run the same command again after a crash.

    [bold]saywhy explain runs/sst2 "A gripping film."[/bold]

    [bold]saywhy explain runs/sst2 "A gripping film." -m leave-one-out -m attention --html why.html[/bold]

    [bold]saywhy explain runs/nli "People walk." "People sit." -m gradient --target contradiction[/bold]

    [bold]saywhy explain model.py:predict_proba "A gripping film." --labels neg,pos -m leave-one-out[/bold]

    [bold]saywhy explain runs/sst2 --data my.csv --out why.parquet -m input-x-gradient[/bold]
    """
    given = {name: value for name, value in locals().items() if name in _OF_DATA}
    if verdict_seeds and verdict is False:
        raise OptionError("--verdict-seeds belongs to the verdict; leave --no-verdict out")
    options = parse_options(option, _OWN)
    told: dict[str, Any] = {
        "target": target,
        "against": against,
        "seed": seed,
        "batch_size": batch_size,
        "truncation": truncation,
    }
    if data is not None:
        for name, value in {"a text": text, "--choice": choice, "--html": html}.items():
            if value is not None:
                raise OptionError(f"{name} does not go with --data, whose rows are explained")
        told |= {"labels": comma_list(labels) or None, "task": task}
        told["verdict"] = {"seeds": verdict_seeds} if verdict or verdict_seeds else False
        _explain_data(model, data, method or ["auto"], given, {**told, **options}, as_json)
        return
    if text is None:
        raise OptionError('give a text to explain, as in saywhy explain MODEL "A text", or --data FILE --out FILE')
    for name, default in _OF_DATA.items():
        if given[name] != default:
            raise OptionError(f"--{name.replace('_', '-')} goes with --data")

    from saywhy.explainers import explain as run
    from saywhy.explainers.verdict import VerdictOptions
    from saywhy.models import load
    from saywhy.types import Example

    loaded = load(model, labels=comma_list(labels) or None, task=task or ("choices" if choice else None))
    example = Example((text,) if second is None else (text, second), choices=tuple(choice or ()))
    check = VerdictOptions(seeds=verdict_seeds) if verdict is not False else False
    made = [run(loaded, example, name, verdict=check, **told, **options) for name in method or ["auto"]]
    if html is not None:
        from saywhy.reports import explanations_page, write_page

        write_page(html, explanations_page(made))
    if as_json:
        print_json([why.to_dict() for why in made] if len(made) > 1 else made[0].to_dict())
    else:
        show(*made)
        if html is not None:
            show(f"wrote {html}")


def _explain_data(
    model: str, data: str, methods: list[str], given: dict[str, Any], told: dict[str, Any], as_json: bool
) -> None:
    from saywhy.studies.bulk import estimate_many, explain_many

    given["data_options"] = parse_options(given.pop("data_option"), ("seed", "split", "limit"))
    out, dry_run = given.pop("out"), given.pop("dry_run")
    if dry_run:
        from saywhy.reports.page import duration

        for name in ("engine", "address", "force"):
            del given[name]
        guess = estimate_many(model, data, methods, **given, **told)
        if as_json:
            print_json(guess)
        else:
            show(f"{guess['rows']:,} rows, about {duration(guess['seconds'])} with {given['workers']} workers")
        return
    if out is None:
        raise OptionError("--data needs --out, the Parquet file to write")
    result = explain_many(model, data, out, methods, progress=None if as_json else _tell, **given, **told)
    if as_json:
        print_json(result.to_dict())
        return
    if result.reused:
        show(f"{result.reused:,} rows were done before")
    if result.failed:
        show(f"{result.failed:,} could not be explained; the column error_message says why")
    show(f"wrote {result.path.name}: {result.explanations:,} explanations of {result.rows:,} rows")


def _tell(rows: int, reused: int) -> None:
    show(f"{rows:,} rows done")
