"""`saywhy evaluate`: how faithful, plausible and true are a model's explanations?"""

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

__all__ = ["evaluate"]


def evaluate(
    model: Annotated[str, typer.Argument(help="A model folder, a hub name, or file.py:function.")],
    data: Annotated[str, typer.Option(help="A dataset's name (`saywhy list datasets`) or a file.")],
    methods: Annotated[str, typer.Option(help="Names of methods, separated by commas.")] = "random,leave-one-out",
    metrics: Annotated[str, typer.Option(help="Names of metrics or families, separated by commas.")] = "faithfulness",
    split: Annotated[str | None, typer.Option(help="Split; test by default, else dev.")] = None,
    limit: Annotated[int | None, typer.Option(help="At most so many examples, drawn by the seed.")] = 100,
    erasure: Annotated[str | None, typer.Option(help="How metrics remove words.")] = None,
    option: Options = None,
    data_option: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="An option of the dataset; may be repeated.")
    ] = None,
    html: Annotated[Path | None, typer.Option(help="Also write a report that opens offline.")] = None,
    labels: Labels = None,
    task: TaskName = None,
    truncation: Truncation = "head",
    seed: Seed = 0,
    batch_size: BatchSize = 32,
    as_json: Json = False,
) -> None:
    """Measure explanations, with intervals. Options (-O) go to the metrics, such as -O score=normalised.

    [bold]saywhy evaluate runs/sst2 --data sst2 --methods attention,leave-one-out --metrics faithfulness[/bold]

    [bold]saywhy evaluate runs/demo --data planted-reviews --methods random,gradient --metrics truth,auprc[/bold]
    """
    from saywhy.data import load_dataset
    from saywhy.metrics import evaluate as run
    from saywhy.models import load

    loaded = load(model, labels=comma_list(labels) or None, task=task)
    dataset = load_dataset(data, seed=seed, **parse_options(data_option, ("seed", "split", "limit")))
    names = comma_list(methods)
    table = run(
        loaded,
        dataset,
        names,
        comma_list(metrics),
        split=split,
        limit=limit,
        seed=seed,
        batch_size=batch_size,
        truncation=truncation,
        erasure=erasure,
        **parse_options(option, ("split", "limit", "seed", "batch_size", "truncation", "erasure")),
    )
    if html is not None:
        from saywhy.data.dataset import take
        from saywhy.explainers import explain
        from saywhy.reports import report

        examples = list(take(iter(dataset[split or dataset.evaluation_split]), 6, seed))
        shown = [
            why
            for name in names
            for why in explain(loaded, examples, name, seed=seed, batch_size=batch_size, truncation=truncation)
        ]
        card = {
            "task": loaded.task.name,
            "labels": loaded.labels,
            "data": dataset.name,
            "fingerprint": loaded.fingerprint,
        }
        report(
            f"{Path(model).name} on {dataset.name}",
            card=card,
            explanations=shown,
            examples=examples,
            results=table.results,
        ).write(html)
    if as_json:
        print_json(table.to_dict())
    else:
        show(table)
        if html is not None:
            show(f"wrote {html}")
