"""Processes that each do one tool's work when asked: a line of JSON in, a line of JSON out.

Every tool runs in a process of its own, with one thread, and measures its own CPU time. The one who asks goes from
process to process text by text, so that a busy machine slows all of them alike.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from saywhy.errors import SayWhyError

__all__ = ["Handlers", "Worker", "WorkerError", "serve", "timed"]

Handlers = Mapping[str, Callable[..., dict[str, Any]]]
T = TypeVar("T")

_ONE_THREAD = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")


class WorkerError(SayWhyError):
    """What a tool could not do, in its own words."""


class Worker:
    """One tool in a process of its own.

    Args:
        name: of the tool, for messages.
        python: the interpreter to run it with.
        module: what to run; it calls `serve`.
        model: handed to it.
    """

    def __init__(self, name: str, python: str | Path, module: str, model: str) -> None:
        self.name = name
        environment = {**os.environ, **dict.fromkeys(_ONE_THREAD, "1"), "TOKENIZERS_PARALLELISM": "false"}
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the worker
        self._process = subprocess.Popen(
            [str(python), "-m", module, model],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            encoding="utf-8",
            env=environment,
        )

    def ask(self, job: str, **options: Any) -> dict[str, Any]:
        """Have a job done.

        Raises:
            WorkerError: it failed, or the process ended.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps({"job": job, **options}) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except (BrokenPipeError, ValueError):
            line = ""
        if not line:
            raise WorkerError(f"{self.name} ended: {self._last_words()}")
        answer: dict[str, Any] = json.loads(line)
        if "failed" in answer:
            raise WorkerError(f"{self.name}, {job}: {answer['failed']}")
        return answer

    def _last_words(self) -> str:
        self._errors.seek(0)
        lines = self._errors.read().decode("utf-8", "replace").strip().splitlines()
        return lines[-1].strip() if lines else "without a word"

    def close(self) -> None:
        """End the process."""
        if self._process.stdin is not None and not self._process.stdin.closed:
            with contextlib.suppress(BrokenPipeError):  # it may be gone already
                self._process.stdin.close()
        try:
            self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._errors.close()

    def __enter__(self) -> Worker:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def serve(open_desk: Callable[[str], Handlers]) -> None:
    """Answer requests until there are no more: the main function of a worker.

    Args:
        open_desk: from the model that was named on the command line to functions by the name of their job.
    """
    # Libraries print what they like; only answers may go where answers are read.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    handlers: Handlers | None = None
    for line in sys.stdin:
        request = json.loads(line)
        try:
            if handlers is None:
                handlers = open_desk(sys.argv[1])
            answer = handlers[request.pop("job")](**request)
        except Exception as error:  # whatever a peer raises is an answer too
            answer = {"failed": f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def timed(call: Callable[[], T]) -> tuple[T, float]:
    """What a call gives, and the CPU seconds of this process that it took."""
    start = time.process_time()
    made = call()
    return made, time.process_time() - start
