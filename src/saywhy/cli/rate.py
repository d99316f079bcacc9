"""`saywhy rate`: let people rate explanations, blind, and read their answers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from saywhy.cli.shared import Json, Seed, print_json, show

__all__ = ["app"]

app = typer.Typer(
    help="Let people rate explanations, blind, and read their answers.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)


@app.command("export")
def export(
    explanations: Annotated[
        list[Path],
        typer.Argument(help="Parquet of `explain --data`, JSON of `explain --json`, or a study's folder."),
    ],
    out: Annotated[Path, typer.Option(help="The sheet: .html (opens offline) or .csv.")],
    key: Annotated[
        Path | None, typer.Option(help="The key, which raters must not get; beside the sheet by default.")
    ] = None,
    scale: Annotated[str, typer.Option(help="1-5, another range of numbers, or yes-no.")] = "1-5",
    question: Annotated[str | None, typer.Option(help="What raters are asked about each explanation.")] = None,
    per_item: Annotated[int | None, typer.Option(help="At most so many explanations of an input.")] = None,
    limit: Annotated[int | None, typer.Option(help="At most so many inputs, drawn by the seed.")] = 20,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Write a rating sheet: explanations in random order without the methods' names, and a key that has them.

    [bold]saywhy rate export why.parquet --out sheet.html[/bold]

    [bold]saywhy rate export why.parquet --out sheet.csv --scale yes-no --limit 10[/bold]
    """
    from saywhy.studies.rating import QUESTION, draw_explanations, export_sheet, make_sheet

    drawn = draw_explanations(explanations, limit=limit, seed=seed)
    sheet = make_sheet(drawn, question=question or QUESTION, scale=scale, per_item=per_item, seed=seed)
    written, kept = export_sheet(sheet, out, key)
    methods = sorted({item.method for item in sheet.items})
    if as_json:
        counts = {"inputs": len(sheet.inputs), "items": len(sheet.items), "methods": methods}
        print_json({"sheet": sheet.name, "file": str(written), "key": str(kept), **counts})
        return
    show(f"wrote {written}: {len(sheet.items)} explanations of {len(sheet.inputs)} inputs by {len(methods)} methods")
    show(f"wrote {kept}: the key, not for raters")


@app.command("read")
def read(
    sheets: Annotated[list[Path], typer.Argument(help="CSV files with the answers, of one or several raters.")],
    key: Annotated[Path | None, typer.Option(help="The sheet's key; looked for beside the first file.")] = None,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Read answers: mean and interval of each method, which is preferred to which, and how far raters agree.

    Give the files of all raters at once.
    """
    from saywhy.studies.ratings import read_ratings

    ratings = read_ratings(sheets, key, seed=seed)
    if as_json:
        print_json(ratings.to_dict())
    else:
        show(ratings)
