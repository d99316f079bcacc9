"""`saywhy train`: train a model by an objective."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from saywhy.cli.shared import Json, Options, Seed, parse_options, print_json, show
from saywhy.errors import OptionError

__all__ = ["train"]

# Test examples that a new model is tried on: enough for an interval of two points; all might take hours.
TRIED = 2000


def train(
    objective: Annotated[str, typer.Argument(help="What to train for; see `saywhy list objectives`. Or roles.")],
    data: Annotated[str, typer.Option(help="A dataset's name (`saywhy list datasets`) or a file.")],
    model: Annotated[
        str | None,
        typer.Option(help="A network's name (`saywhy list models`) or a folder; by default what suits the objective."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the model; runs/OBJECTIVE-DATA-MODEL by default.")
    ] = None,
    epochs: Annotated[int | None, typer.Option(help="Times through the data.")] = None,
    learning_rate: Annotated[float | None, typer.Option(help="Highest learning rate.")] = None,
    batch_size: Annotated[int | None, typer.Option(help="Examples a step.")] = None,
    limit: Annotated[int | None, typer.Option(help="Train on at most so many examples.")] = None,
    patience: Annotated[int | None, typer.Option(help="Stop after so many epochs without progress.")] = None,
    log_with: Annotated[str | None, typer.Option(help="A tracker that Accelerate knows, such as tensorboard.")] = None,
    restart: Annotated[bool, typer.Option("--restart", help="Start again instead of going on.")] = False,
    option: Options = None,
    data_option: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="An option of the dataset; may be repeated.")
    ] = None,
    model_option: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="An option of the network; may be repeated.")
    ] = None,
    test: Annotated[bool, typer.Option(help="Measure accuracy on the test split afterwards.")] = True,
    seed: Seed = 0,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Time two steps and print an estimate.")] = False,
    as_json: Json = False,
) -> None:
    """Train a model. A run that was stopped goes on where it was, bit for bit.

    [bold]saywhy train plain --data sst2 --model minilm --out runs/sst2[/bold]

    [bold]saywhy train plain --data my.csv --data-option labels='[no, yes]' --model gru --dry-run[/bold]

    [bold]saywhy train roles --data ewt-srl --out runs/roles[/bold] (a tagger of semantic roles, for guide=runs/roles)
    """
    if objective == "roles":
        if dry_run or model_option or patience is not None or log_with is not None:
            raise OptionError("roles has no --dry-run, --model-option, --patience and --log-with")
        given = {"epochs": epochs, "learning_rate": learning_rate, "batch_size": batch_size}
        settings = {name: value for name, value in given.items() if value is not None} | parse_options(option)
        settings |= {"encoder": model, "limit": limit, "seed": seed, "resume": not restart}
        _train_roles(data, out or Path("runs/roles"), settings, parse_options(data_option), test, as_json)
        return
    from saywhy.objectives import objectives
    from saywhy.objectives import train as run

    shown = Path(model or objectives[objective].value.network or "text-transformer").name
    folder = out or Path("runs") / f"{objective}-{Path(data).stem}-{shown}"
    data_options = parse_options(data_option, ("seed", "limit"))
    options: dict[str, Any] = {
        "out": folder,
        "epochs": epochs,
        "learning_rate": learning_rate,
        "batch_size": batch_size,
        "limit": limit,
        "patience": patience,
        "log_with": log_with,
        "resume": not restart,
        "seed": seed,
        "data_options": data_options,
        "model_options": parse_options(model_option),
    }
    options |= parse_options(option, tuple(options))
    if dry_run:
        estimate = run(objective, data, model, dry_run=True, **options)
        if as_json:
            print_json({"seconds": estimate.seconds, "steps": estimate.steps, "out": str(folder)})  # type: ignore[union-attr]
        else:
            show(f"{estimate}; would be written to {folder}")
        return
    trained = run(objective, data, model, **options)
    facts: dict[str, Any] = {"out": str(folder), "fingerprint": trained.fingerprint, "labels": list(trained.labels)}
    measured: dict[str, Any] = {}
    if test and trained.task.name != "span-qa":
        from saywhy.data import load_dataset

        dataset = load_dataset(data, seed=seed, **data_options)
        if "test" in dataset.splits:
            from saywhy.metrics import evaluate

            whole = len(dataset["test"])
            if whole > TRIED:
                dataset = load_dataset(data, limit=TRIED, seed=seed, **data_options)
            result = evaluate(trained, dataset, (), "accuracy", split="test", truncation="head").results[0]
            facts["test"] = result.to_dict()
            facts["test"].pop("values")
            measured[f"{Path(data).name}, test"] = [result]
            if not as_json:
                part = f" of {whole}; saywhy evaluate takes them all" if whole > TRIED else ""
                show(f"test {result} (n={result.n}{part})")
    from saywhy.reports.model_card import write_card

    if (card := write_card(folder, results=measured)) is not None:
        facts["card"] = str(card)
    if as_json:
        print_json(facts)
    else:
        show(f'wrote {folder}; try: saywhy explain {folder} "..."')


def _train_roles(
    data: str, folder: Path, settings: dict[str, Any], data_options: dict[str, Any], test: bool, as_json: bool
) -> None:
    """A tagger of semantic roles is no classifier, so it has no objective of its own."""
    from saywhy.data import load_dataset
    from saywhy.objectives.roles import role_f1, tagged_sentences, train_roles

    tagger = train_roles(data, out=folder, **settings, **data_options)
    facts: dict[str, Any] = {"out": str(folder), "tags": list(tagger.tags)}
    found = load_dataset(data, limit=settings["limit"], seed=settings["seed"], **data_options)
    if test and "test" in found.splits:
        facts["test"] = role_f1(tagger, tagged_sentences(list(found["test"])))
    if as_json:
        print_json(facts)
        return
    for name, value in facts.get("test", {}).items():
        show(f"test {name} {value:.3f}")
    show(f"wrote {folder}; try: saywhy evaluate MODEL --data hans --metrics accuracy -O guide={folder}")
