"""`saywhy bench`: how fast, beside others?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from saywhy.cli.shared import Json, Options, Seed, comma_list, parse_options, print_json, show
from saywhy.errors import OptionError

if TYPE_CHECKING:
    from saywhy.benchmarks.costs import CostTable

__all__ = ["app"]

app = typer.Typer(help="Measure speed beside other packages and the bare model calls.", no_args_is_help=True)


@app.callback()
def bench() -> None:
    """Measure speed beside other packages and the bare model calls."""


@app.command("peers")
def peers(
    model: Annotated[str | None, typer.Argument(help="A folder or hub name of a classifier of one text.")] = None,
    data: Annotated[str, typer.Option(help="The dataset that the texts are made of.")] = "sst2",
    tokens: Annotated[str, typer.Option(help="Lengths of the texts, separated by commas.")] = "32,128",
    texts: Annotated[int, typer.Option(help="Texts of each length.")] = 20,
    sampled_texts: Annotated[int, typer.Option(help="Of these, how many LIME and Kernel SHAP see.")] = 4,
    names: Annotated[str, typer.Option("--peers", help="Which packages, separated by commas.")] = (
        "captum,lime,shap,ferret"
    ),
    work: Annotated[
        str | None, typer.Option(help="What to compare, separated by commas; by default everything.")
    ] = None,
    reference: Annotated[int, typer.Option(help="Samples of the explanations that errors are measured against.")] = (
        10_000
    ),
    samples: Annotated[str, typer.Option(help="Samples on the curves of LIME and Kernel SHAP.")] = "125,250,500,1000",
    install: Annotated[bool, typer.Option("--install", help="Only install the packages.")] = False,
    out: Annotated[Path | None, typer.Option(help="Also write the table: a .md file, or JSON with all facts.")] = None,
    seed: Seed = 0,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print an estimate of the time and stop.")] = False,
    as_json: Json = False,
) -> None:
    """Compare CPU time with Captum, lime, shap and ferret, side by side in one run, one thread each.

    Every package is installed on first use, pinned, into an environment of its own in the user's cache.

    [bold]saywhy bench peers runs/sst2 --data sst2 --tokens 32 --texts 20[/bold]

    [bold]saywhy bench peers runs/sst2 --peers captum --work integrated-gradients --dry-run[/bold]
    """
    from saywhy.benchmarks import Plan, compare, environment, estimate
    from saywhy.benchmarks.comparison import WORK

    if install:
        for name in comma_list(names):
            show(f"{name}: {environment(name, _say)}")
        return
    if model is None:
        raise OptionError("name a model to compare on, such as a folder that `saywhy train` wrote")
    plan = Plan(
        model=model,
        data=data,
        tokens=_numbers("tokens", tokens),
        texts=texts,
        sampled_texts=sampled_texts,
        peers=tuple(comma_list(names)),
        work=tuple(comma_list(work)) or tuple(WORK),
        samples=_numbers("samples", samples),
        reference=reference,
        seed=seed,
    )
    if dry_run:
        guess = estimate(plan)
        if as_json:
            print_json(guess)
        else:
            rows = ", ".join(f"{count:.0f} rows of {length} tokens" for length, count in guess["rows"].items())
            show(f"about {guess['seconds'] / 60:.0f} minutes of CPU time: {rows}")
        return
    table = compare(plan, _say)
    if out is not None:
        from saywhy.benchmarks.table import write_table

        write_table(out, table)
    if as_json:
        print_json(table.to_dict())
        return
    show(table)
    if out is not None:
        show(f"wrote {out}")


@app.command("training")
def training(
    objective: Annotated[str, typer.Argument(help="An objective's name (`saywhy list objectives`).")] = "rnp",
    data: Annotated[str, typer.Option(help="A dataset's name (`saywhy list datasets`) or a file.")] = "planted-reviews",
    limit: Annotated[int | None, typer.Option(help="Train on at most so many examples.")] = 2000,
    epochs: Annotated[int, typer.Option(help="Times through the data.")] = 2,
    batch_size: Annotated[int, typer.Option(help="Examples a step.")] = 64,
    learning_rate: Annotated[float, typer.Option(help="Highest learning rate.")] = 0.002,
    pad: Annotated[int, typer.Option(help="The length that the plain loop pads every batch to.")] = 256,
    option: Options = None,
    data_option: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="An option of the dataset; may be repeated.")
    ] = None,
    model_option: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="An option of the network; may be repeated.")
    ] = None,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Train by saywhy's loop and by a plain one in turn, from the same start: tokens a second, and both losses.

    [bold]saywhy bench training rnp --data planted-reviews --epochs 4[/bold]
    """
    from saywhy.benchmarks.training import TrainingPlan, compare_training

    plan = TrainingPlan(
        data=data,
        objective=objective,
        limit=limit,
        epochs=epochs,
        batch_size=batch_size,
        learning_rate=learning_rate,
        pad=pad,
        seed=seed,
        options=parse_options(option),
        data_options=parse_options(data_option),
        model_options=parse_options(model_option),
    )
    found = compare_training(plan, _say)
    if as_json:
        print_json(found.to_dict())
    else:
        show(str(found))


@app.command("methods")
def methods(
    model: Annotated[str, typer.Argument(help="A folder or hub name.")],
    method: Annotated[
        list[str], typer.Option("--method", "-m", help="NAME or NAME:option=value:option=value; may be repeated.")
    ],
    data: Annotated[str, typer.Option(help="A dataset's name (`saywhy list datasets`) or a file.")] = "sst2",
    split: Annotated[str, typer.Option(help="Part of the dataset.")] = "test",
    texts: Annotated[int, typer.Option(help="How many inputs.")] = 200,
    rounds: Annotated[int, typer.Option(help="How often each is measured; the fastest counts.")] = 3,
    batch_size: Annotated[int, typer.Option(help="Inputs of the model at a time.")] = 32,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """What it costs to explain by each method, beside predicting the same inputs: CPU time on one thread, in turn.

    [bold]saywhy bench methods runs/ivra -m ivra -m attention -m integrated-gradients:points=20[/bold]
    """
    from saywhy import load, load_dataset
    from saywhy.benchmarks.costs import method_costs
    from saywhy.studies.work import torch_threads

    examples = list(load_dataset(data, split=split, limit=texts, seed=seed))
    with torch_threads(1):
        found = method_costs(
            load(model), examples, [_named(m) for m in method], rounds=rounds, batch_size=batch_size, say=_say
        )
    _print_costs(found, as_json)


@app.command("objectives")
def objectives(
    objective: Annotated[
        list[str], typer.Argument(help="NAME or NAME:option=value:option=value; the first is compared with.")
    ],
    data: Annotated[str, typer.Option(help="A dataset's name (`saywhy list datasets`) or a file.")] = "sst2",
    network: Annotated[str, typer.Option("--model", help="A network's name (`saywhy list models`).")] = "minilm",
    limit: Annotated[int, typer.Option(help="Train on so many examples.")] = 512,
    epochs: Annotated[int, typer.Option(help="Times through the data.")] = 1,
    batch_size: Annotated[int, typer.Option(help="Examples a step.")] = 16,
    model_option: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="An option of the network; may be repeated.")
    ] = None,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """What a training step costs by each objective, beside the first one: CPU time on one thread, the same batches.

    [bold]saywhy bench objectives plain ivra:criteria=comp ivra:criteria=cons regex --data sst2[/bold]
    """
    from saywhy.benchmarks.costs import objective_costs
    from saywhy.benchmarks.training import TrainingPlan
    from saywhy.studies.work import torch_threads

    (first, options), *others = [_named(text) for text in objective]
    plan = TrainingPlan(
        data=data,
        objective=first,
        network=network,
        limit=limit,
        epochs=epochs,
        batch_size=batch_size,
        seed=seed,
        options=options,
        model_options=parse_options(model_option),
    )
    with torch_threads(1):
        found = objective_costs(plan, others, say=_say)
    _print_costs(found, as_json)


def _named(text: str) -> tuple[str, dict[str, Any]]:
    name, *options = text.split(":")
    return name, parse_options(options)


def _print_costs(found: CostTable, as_json: bool) -> None:
    if as_json:
        print_json(found.to_dict())
    else:
        show(found)


def _say(line: str) -> None:
    typer.secho(line, err=True, dim=True)


def _numbers(name: str, text: str) -> tuple[int, ...]:
    found = comma_list(text)
    if not found or not all(part.isdecimal() for part in found):
        raise OptionError(f"--{name} {text!r}: write whole numbers, separated by commas")
    return tuple(int(part) for part in found)
