"""`saywhy rationalize`: a corpus cleaned of what a rationalizer does not read."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from saywhy.cli.shared import Json, Options, Seed, parse_options, print_json, show

__all__ = ["rationalize"]


def rationalize(
    model: Annotated[str, typer.Argument(help="The folder of a rationalizer.")],
    data: Annotated[str, typer.Option(help="A dataset's name (`saywhy list datasets`) or a file.")],
    out: Annotated[Path, typer.Option(help="File to write: .parquet.")],
    split: Annotated[str | None, typer.Option(help="Which split; all of them if not given.")] = None,
    limit: Annotated[int | None, typer.Option(help="At most so many examples a split.")] = None,
    batch_size: Annotated[int, typer.Option(help="Texts at a time.")] = 32,
    option: Options = None,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Write the texts with only the words that a rationalizer selects, and their labels: the (Z, Y) corpus.

    [bold]saywhy rationalize runs/rationalizer --data planted-reviews --out clean.parquet[/bold]
    """
    from saywhy.data import load_dataset
    from saywhy.models import load
    from saywhy.studies.cleaning import write_clean_corpus

    dataset = load_dataset(data, limit=limit, seed=seed, **parse_options(option))
    facts = write_clean_corpus(load(model), dataset, out, split=split, batch_size=batch_size)
    if as_json:
        print_json({**facts, "out": str(out)})
    else:
        show(f"wrote {out}: {facts['examples']} texts, {facts['kept']:.1%} of their words")
