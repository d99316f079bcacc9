"""`run_study`: a file in, every cell done once, a table out."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from saywhy.studies.cells import Cell, Store, write_json
from saywhy.studies.engines import open_engine
from saywhy.studies.estimate import folder_of
from saywhy.studies.plan import Plan, make_plan
from saywhy.studies.references import check_references
from saywhy.studies.schema import QUICK, Study, StudyError, read_study
from saywhy.studies.table import StudyTable, make_table

__all__ = ["StudyResult", "plan_study", "run_study"]

Progress = Callable[[Cell, str, int, int], None]
"""Told of a cell, what became of it (``reused``, ``started``, ``done``, ``failed``), how many are done, of how many."""


@dataclass(frozen=True)
class StudyResult:
    """A study that has run: its plan, the results of its cells by name, and where they lie."""

    plan: Plan
    results: Mapping[str, Mapping[str, Any]]
    folder: Path

    @property
    def study(self) -> Study:
        """What was asked."""
        return self.plan.study

    @property
    def table(self) -> StudyTable:
        """Every measured number, over seeds."""
        return make_table(self.plan, self.results)


def plan_study(
    study: str | os.PathLike[str] | Mapping[str, Any], *, scale: str = QUICK, only: Sequence[str] = ()
) -> tuple[Plan, dict[str, Any]]:
    """The cells of a study, checked, and the document they come from."""
    read, source, document = read_study(study, scale)
    whole = make_plan(read, source)
    check_references(whole.study, whole.cells, source)
    plan = whole.only(only)
    if not plan.cells:
        raise StudyError(f"{source.file}: no cell has {' and '.join(map(repr, only))} in its title")
    return plan, document


def run_study(
    study: str | os.PathLike[str] | Mapping[str, Any],
    *,
    out: str | os.PathLike[str] | None = None,
    scale: str = QUICK,
    engine: str = "local",
    workers: int = 1,
    address: str | None = None,
    only: Sequence[str] = (),
    force: bool = False,
    progress: Progress | None = None,
) -> StudyResult:
    """Run a study; what is finished already is not run again.

    Args:
        study: a YAML file, or a mapping of the same form.
        out: folder of the results; ``runs/NAME`` by default, ``runs/NAME-SCALE`` for other scales than ``quick``.
        scale: ``quick``, or another one that the file has.
        engine: ``local`` or ``ray``.
        workers: how many cells at a time.
        address: of a Ray cluster that is running.
        only: words that a cell's title must have; what such cells need is run too.
        force: run the chosen cells again.
        progress: told of every cell.

    Returns:
        The results. The same study gives the same table on one worker, on many and on Ray, however often it was
        interrupted.

    Raises:
        StudyError: something is wrong with the file, or some cells failed; the others are done and kept.
    """
    plan, document = plan_study(study, scale=scale, only=only)
    store = Store(out if out is not None else folder_of(plan.study, scale))
    store.cells.mkdir(parents=True, exist_ok=True)
    write_json(store.root / "study.json", {"scale": scale, "document": document})
    if force:
        wanted = {c.name for c in plan.cells if all(w.casefold() in c.title.casefold() for w in only)}
        for name in wanted:
            store.forget(name)
    for leftover in store.cells.glob("*.gone"):
        shutil.rmtree(leftover, ignore_errors=True)
    failed = _do(plan, store, engine, workers, address, progress or _silent)
    if failed:
        lines = "".join(f"\n  {cell.title}: {type(error).__name__}: {error}" for cell, error in failed)
        raise StudyError(f"{len(failed)} of {len(plan.cells)} cells failed; the others are kept:{lines}")
    return StudyResult(plan, {cell.name: store.read(cell.name) for cell in plan.cells}, store.root)


def _do(
    plan: Plan, store: Store, engine: str, workers: int, address: str | None, progress: Progress
) -> list[tuple[Cell, BaseException]]:
    total = len(plan.cells)
    done = {cell.name for cell in plan.cells if store.done(cell.name)}
    for cell in plan.cells:
        if cell.name in done:
            progress(cell, "reused", len(done), total)
    waiting = [cell for cell in plan.cells if cell.name not in done]
    if not waiting:
        return []
    failed: list[tuple[Cell, BaseException]] = []
    lost: set[str] = set()
    running = 0
    threads = plan.study.threads
    with open_engine(engine, str(store.root), workers=workers, threads=threads, address=address) as opened:
        while waiting or running:
            for cell in [c for c in waiting if lost.intersection(c.needs)]:
                waiting.remove(cell)
                lost.add(cell.name)
                failed.append((cell, RuntimeError("a cell that it needs failed")))
            # On a cluster, somebody else's scheduler decides how many run at a time.
            room = len(waiting) if engine == "ray" else opened.workers - running
            for cell in [c for c in waiting if done.issuperset(c.needs)][: max(room, 0)]:
                waiting.remove(cell)
                running += 1
                progress(cell, "started", len(done), total)
                opened.submit(cell)
            if not running:
                continue
            for cell, error in opened.wait():
                running -= 1
                if error is None:
                    done.add(cell.name)
                    progress(cell, "done", len(done), total)
                else:
                    failed.append((cell, error))
                    lost.add(cell.name)
                    progress(cell, "failed", len(done), total)
    return failed


def _silent(cell: Cell, what: str, done: int, total: int) -> None:
    return None
