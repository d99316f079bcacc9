"""`saywhy explain`: why does a model say what it says about a text?"""

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
from saywhy.errors import OptionError

__all__ = ["explain"]


def explain(
    model: Annotated[
        str, typer.Argument(help="A model folder, a hub name, or file.py:function with --labels for a black box.")
    ],
    text: Annotated[str, typer.Argument(help="The text; or the premise, or the question.")],
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
    verdict: Annotated[bool, typer.Option(help="Check the explanation against random words.")] = True,
    verdict_seeds: Annotated[
        int, typer.Option(help="Run the method with so many other seeds too, and say how many of its words stay.")
    ] = 0,
    html: Annotated[Path | None, typer.Option(help="Also write a page that opens offline.")] = None,
    labels: Labels = None,
    task: TaskName = None,
    truncation: Truncation = "error",
    seed: Seed = 0,
    batch_size: BatchSize = 32,
    as_json: Json = False,
) -> None:
    """Explain a prediction: coloured words here, or a page, or JSON; and check the explanation against random words.

    [bold]saywhy explain runs/sst2 "A gripping film."[/bold]

    [bold]saywhy explain runs/sst2 "A gripping film." -m leave-one-out -m attention --html why.html[/bold]

    [bold]saywhy explain runs/nli "People walk." "People sit." -m gradient --target contradiction[/bold]

    [bold]saywhy explain model.py:predict_proba "A gripping film." --labels neg,pos -m leave-one-out[/bold]
    """
    from saywhy.explainers import explain as run
    from saywhy.explainers.verdict import VerdictOptions
    from saywhy.models import load
    from saywhy.types import Example

    loaded = load(model, labels=comma_list(labels) or None, task=task or ("choices" if choice else None))
    example = Example((text,) if second is None else (text, second), choices=tuple(choice or ()))
    if verdict_seeds and not verdict:
        raise OptionError("--verdict-seeds belongs to the verdict; leave --no-verdict out")
    options = parse_options(option, ("target", "against", "seed", "batch_size", "truncation", "verdict"))
    made = [
        run(
            loaded,
            example,
            name,
            target=target,
            against=against,
            seed=seed,
            batch_size=batch_size,
            truncation=truncation,
            verdict=VerdictOptions(seeds=verdict_seeds) if verdict else False,
            **options,
        )
        for name in method or ["auto"]
    ]
    if html is not None:
        from saywhy.reports import explanations_page, write_page

        write_page(html, explanations_page(made))
    if as_json:
        print_json([why.to_dict() for why in made] if len(made) > 1 else made[0].to_dict())
    else:
        show(*made)
        if html is not None:
            show(f"wrote {html}")
