"""`saywhy counterfactual`: the smallest change that turns a prediction."""

from __future__ import annotations

from typing import Annotated

import typer

from saywhy.cli.shared import BatchSize, Json, Labels, Seed, TaskName, Truncation, comma_list, print_json, show
from saywhy.errors import OptionError

__all__ = ["counterfactual"]


def counterfactual(
    model: Annotated[str, typer.Argument(help="A model folder, a hub name, or file.py:function.")],
    text: Annotated[str | None, typer.Argument(help="A text.")] = None,
    pair: Annotated[str | None, typer.Argument(help="The second text of a pair.")] = None,
    data: Annotated[str | None, typer.Option(help="Instead of a text: a dataset's name or file.")] = None,
    split: Annotated[str | None, typer.Option(help="Split; test by default, else dev; all of a file.")] = None,
    limit: Annotated[int, typer.Option(help="At most so many examples of the data, drawn by the seed.")] = 50,
    target: Annotated[str | None, typer.Option(help="The label to reach; any other if not given.")] = None,
    replace: Annotated[
        str | None,
        typer.Option(help="Words that may stand in for others, separated by commas; else words are removed."),
    ] = None,
    most: Annotated[int | None, typer.Option(help="Changes at most.")] = None,
    beam: Annotated[int, typer.Option(help="Sets of changes followed where not all can be tried.")] = 8,
    budget: Annotated[int, typer.Option(help="Changed texts at most for each input.")] = 2000,
    labels: Labels = None,
    task: TaskName = None,
    truncation: Truncation = "error",
    seed: Seed = 0,
    batch_size: BatchSize = 32,
    as_json: Json = False,
) -> None:
    """Find the fewest words to remove, or to replace, that change the model's mind.

    [bold]saywhy counterfactual runs/sst2 "A gripping, beautifully shot film."[/bold]

    [bold]saywhy counterfactual runs/sst2 --data sst2 --limit 100[/bold]
    """
    from saywhy.audits import counterfactual as find
    from saywhy.models import load
    from saywhy.types import Example

    if (text is None) == (data is None):
        raise OptionError("give a text to change, or --data with many of them")
    if data is not None:
        from saywhy.audits.texts import own_texts
        from saywhy.metrics.source import open_source

        texts, part = own_texts(data, split)
        examples = [example for _, example in open_source(texts, part, limit, seed)]
    else:
        examples = [Example((text or "",) if pair is None else (text or "", pair))]
    found = find(
        load(model, labels=comma_list(labels) or None, task=task),
        examples,
        target=target,
        replace=comma_list(replace),
        most=most,
        beam=beam,
        budget=budget,
        batch_size=batch_size,
        truncation=truncation,
    )
    if as_json:
        print_json([each.to_dict() for each in found] if data is not None else found[0].to_dict())
        return
    show(*found)
    if data is not None:
        sizes = [len(each.changes) for each in found if each.flipped]
        mean = f", with {sum(sizes) / len(sizes):.2f} words changed in the mean" if sizes else ""
        show(f"{len(sizes)} of {len(found)} turned{mean}")
