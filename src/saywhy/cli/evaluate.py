"""`saywhy evaluate`: how faithful, plausible and true are a model's explanations?"""

from __future__ import annotations

from collections.abc import Sequence
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
from saywhy.errors import OptionError

__all__ = ["evaluate"]

SHOWN = 6  # examples in the report
_OWN = (
    "data",
    "methods",
    "metrics",
    "split",
    "limit",
    "seed",
    "batch_size",
    "truncation",
    "space",
    "erasure",
    "keep",
    "against",
)


def evaluate(
    model: Annotated[str, typer.Argument(help="A model folder, a hub name, or file.py:function.")],
    data: Annotated[str, typer.Option(help="A dataset's name (`saywhy list datasets`) or a file.")],
    methods: Annotated[str, typer.Option(help="Names of methods, separated by commas.")] = "random,leave-one-out",
    metrics: Annotated[str, typer.Option(help="Names of metrics or families, separated by commas.")] = "faithfulness",
    split: Annotated[str | None, typer.Option(help="Split; test by default, else dev.")] = None,
    limit: Annotated[int | None, typer.Option(help="At most so many examples, drawn by the seed.")] = 100,
    space: Annotated[str, typer.Option(help="What is scored and erased: words, or alignments of two texts.")] = "words",
    erasure: Annotated[str | None, typer.Option(help="How metrics remove words.")] = None,
    compare: Annotated[
        str | None,
        typer.Option(metavar="A,B", help="Two methods to compare by all metrics; all are compared with random anyway."),
    ] = None,
    against: Annotated[
        str | None, typer.Option(help="Other models, separated by commas, that model-jaccard compares with.")
    ] = None,
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

    Where random is among the methods, the others are compared with it, example by example; --compare compares any two.

    [bold]saywhy evaluate runs/sst2 --data sst2 --methods attention,leave-one-out --metrics faithfulness[/bold]

    [bold]saywhy evaluate runs/demo --data planted-reviews --methods random,gradient --metrics truth,auprc[/bold]
    """
    from saywhy.data import load_dataset
    from saywhy.metrics import evaluate as run
    from saywhy.models import load

    loaded = load(model, labels=comma_list(labels) or None, task=task)
    dataset = load_dataset(data, seed=seed, **parse_options(data_option, ("seed", "split", "limit")))
    names = comma_list(methods)
    rivals = _rivals(compare, names)
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
        space=space,
        erasure=erasure,
        keep=SHOWN if html is not None else 0,
        against=comma_list(against),
        **parse_options(option, _OWN),
    )
    if html is not None:
        from saywhy.reports import report

        card = {
            "task": loaded.task.name,
            "labels": loaded.labels,
            "data": dataset.name,
            "fingerprint": loaded.fingerprint,
        }
        report(
            f"{Path(model).name} on {dataset.name}",
            card=card,
            explanations=table.explanations,
            examples=table.examples,
            results=table.results,
        ).write(html)
    # With random all are compared already.
    extra = table.comparisons(rivals[1], rivals[0]) if rivals and rivals[1] != "random" else []
    if as_json:
        made = table.to_dict()
        print_json({**made, "comparisons": made["comparisons"] + [c.to_dict() for c in extra]})
    else:
        show(table, *(str(comparison) for comparison in extra))
        if html is not None:
            show(f"wrote {html}")


def _rivals(given: str | None, methods: Sequence[str]) -> tuple[str, str] | None:
    """The two methods of ``--compare``, which must be among those that run."""
    if given is None:
        return None
    names = comma_list(given)
    unknown = [name for name in names if name not in methods]
    if len(names) != 2 or unknown:
        raise OptionError(
            f"--compare takes two of the methods, as in --compare A,B; the methods are {', '.join(methods)}"
        )
    return names[0], names[1]
