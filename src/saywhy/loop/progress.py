"""The progress bar of a run: on a terminal, or when asked for."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Any

__all__ = ["ProgressBar"]


class ProgressBar:
    """A bar on the error stream that shows epoch, loss, score and the time left; does nothing when not shown.

    Args:
        total: steps of the run.
        done: steps done already.
        shown: True, False, or None to show it on a terminal only.
    """

    def __init__(self, total: int, *, done: int = 0, shown: bool | None = None) -> None:
        self._bar: Any = None
        self._task: Any = None
        self._facts: dict[str, str] = {}
        if not (sys.stderr.isatty() if shown is None else shown):
            return
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        self._bar = Progress(
            TextColumn("training"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.description}"),
            console=Console(stderr=True),
            # On a terminal the bar goes when the run ends; in a file it is printed once, at the end.
            transient=sys.stderr.isatty(),
        )
        self._task = self._bar.add_task("", total=total, completed=done)

    def update(self, step: int, **facts: str) -> None:
        """Move to a step; facts given once stay until they are given again."""
        if self._bar is not None:
            self._facts |= facts
            text = "  ".join(f"{name} {value}" for name, value in self._facts.items())
            self._bar.update(self._task, completed=step, description=text)

    def __enter__(self) -> ProgressBar:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
