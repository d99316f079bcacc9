"""`saywhy data`: look at datasets before anything is trained on them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from saywhy.cli.listing import list_names
from saywhy.cli.shared import Json, Options, Seed, parse_options, print_json, show

__all__ = ["app"]

app = typer.Typer(help="Look at datasets: `saywhy data list`, `saywhy data show NAME|FILE`.", no_args_is_help=True)


@app.command("list")
def list_datasets(as_json: Json = False) -> None:
    """List the datasets known by name."""
    list_names("datasets", as_json)


@app.command("show")
def show_dataset(
    name: Annotated[str, typer.Argument(help="A dataset's name or a file.")],
    split: Annotated[str | None, typer.Option(help="Which split to show examples of.")] = None,
    examples: Annotated[int, typer.Option(help="How many examples to show.")] = 3,
    html: Annotated[Path | None, typer.Option(help="Also write a page that opens offline.")] = None,
    option: Options = None,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Print a dataset's size, labels, lengths and a few examples with their gold highlighted.

    [bold]saywhy data show planted-reviews[/bold]

    [bold]saywhy data show reviews.csv -O columns='{text: body, label: stars}'[/bold]
    """
    from saywhy.data import load_dataset
    from saywhy.data.dataset import take

    dataset = load_dataset(name, seed=seed, **parse_options(option))
    facts = dataset.describe()
    chosen = split or next(iter(dataset.splits))
    some = list(take(dataset.stream(chosen), examples, seed)) if examples > 0 else []
    if html is not None:
        from saywhy.reports import examples_page, write_page

        write_page(
            html, examples_page(some, dataset.name, {k: v for k, v in facts.items() if isinstance(v, str | list)})
        )
    if as_json:
        print_json(facts)
        return
    from rich.table import Table

    from saywhy.display import example_rich

    table = Table(title=f"{dataset.name} ({dataset.task})", title_justify="left", box=None, header_style="bold")
    for column in ("split", "examples", "labels", "words: min / mean / max", "gold"):
        table.add_column(column, overflow="fold")
    splits: Any = facts["splits"]
    for part, about in splits.items():
        words = about["words"]
        table.add_row(
            part,
            str(about["examples"]),
            ", ".join(f"{k} {v}" for k, v in list(about["labels"].items())[:8]),
            f"{words['min']} / {words['mean']:.0f} / {words['max']}" if words else "",
            ", ".join(f"{k} {v}" for k, v in about["gold"].items()),
        )
    show(*(line for line in (dataset.summary, dataset.missing) if line), table)
    for example in some:
        show("", example_rich(example))
    if html is not None:
        show(f"wrote {html}")
