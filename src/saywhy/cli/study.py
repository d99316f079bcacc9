"""`saywhy study`: run a whole table of a paper."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from saywhy.cli.shared import Json, comma_list, print_json, show

if TYPE_CHECKING:
    from saywhy.studies.cells import Cell

__all__ = ["study"]


def study(
    file: Annotated[Path, typer.Argument(help="The study's YAML file.")],
    scale: Annotated[str, typer.Option(help="quick, or another scale that the file has, such as paper.")] = "quick",
    out: Annotated[Path | None, typer.Option(help="Folder of the results; runs/NAME by default.")] = None,
    engine: Annotated[str, typer.Option(help="local or ray.")] = "local",
    workers: Annotated[int, typer.Option(help="How many cells at a time.")] = 1,
    address: Annotated[str | None, typer.Option(help="Address of a Ray cluster that is running.")] = None,
    only: Annotated[str | None, typer.Option(help="Words that a cell's title must have, separated by commas.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Run the chosen cells again.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the plan and an estimate of the time.")] = False,
    as_json: Json = False,
) -> None:
    """Run a study: every cell once, resumable, with a report at the end.

    [bold]saywhy study studies/planted.yaml --dry-run[/bold]

    [bold]saywhy study studies/planted.yaml --workers 2[/bold]
    """
    if engine == "local" and workers > 1 and not dry_run:
        from saywhy.studies.engines import warm_up

        warm_up()
    from saywhy.studies import plan_study, run_study

    words = comma_list(only)
    if dry_run:
        from saywhy.studies.estimate import estimate_plan, folder_of

        plan, _ = plan_study(file, scale=scale, only=words)
        guess = estimate_plan(plan, out or folder_of(plan.study, scale), workers=workers)
        if as_json:
            print_json(guess.to_dict())
        else:
            show(guess)
        return
    result = run_study(
        file,
        out=out,
        scale=scale,
        engine=engine,
        workers=workers,
        address=address,
        only=words,
        force=force,
        progress=None if as_json else _tell,
    )
    from saywhy.reports.study import write_study

    written = write_study(result)
    if as_json:
        print_json({"out": str(result.folder), "files": [str(p) for p in written], "rows": result.table.to_dict()})
        return
    own = [path.name for path in written if path.parent == result.folder]
    show(
        result.table,
        *_orderings(result),
        f"wrote {', '.join(own)} to {result.folder}, and a card into every model's folder",
    )


def _tell(cell: Cell, what: str, done: int, total: int) -> None:
    if what != "reused":
        show(f"[{done}/{total}] {what:<8}{cell.title}")


def _orderings(result: Any) -> list[str]:
    held, total, _ = result.table.orderings()
    paper = result.study.paper
    return [f"{paper.table}: {held} of {total} orderings hold here"] if paper is not None and total else []
