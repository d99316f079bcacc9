"""Engines: where cells (or other pieces of work) are done. In this process, in several processes, or on Ray."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing.context import BaseContext
from typing import Any, Protocol

from saywhy.errors import OptionError, SayWhyError
from saywhy.studies.work import do_cell, forget_data, watch_parent

__all__ = ["ENGINES", "Engine", "Piece", "ProcessEngine", "RayEngine", "SerialEngine", "open_engine", "warm_up"]

ENGINES = ("local", "ray")
RETRIES = 3

Work = Callable[[Mapping[str, Any], str], str]
"""Does a piece of work, given as `Piece.to_dict`, in a folder; a function of a module, so that processes find it."""
Outcome = tuple[Any, BaseException | None]


class Piece(Protocol):
    """A piece of work, such as a cell: a name, and all there is to know as plain values."""

    @property
    def name(self) -> str:
        """Tells it from the others."""
        ...

    def to_dict(self) -> dict[str, Any]:
        """What the worker is told."""
        ...


class Engine(Protocol):
    """Does cells, some at a time."""

    workers: int

    def submit(self, cell: Piece) -> None:
        """Begin with a cell."""
        ...

    def wait(self) -> list[Outcome]:
        """The cells that were finished since, at least one, with what went wrong."""
        ...

    def close(self) -> None:
        """Let go of everything."""
        ...


@contextmanager
def open_engine(
    name: str,
    root: str,
    *,
    workers: int = 1,
    threads: int = 1,
    address: str | None = None,
    work: Work | None = None,
) -> Iterator[Engine]:
    """An engine by its name.

    Args:
        name: ``local`` or ``ray``.
        root: folder of the study's results; on a cluster all machines must see it.
        workers: how many cells at a time.
        threads: of each worker.
        address: of a Ray cluster that is running; None starts one on this machine.
        work: what is done with each piece; `do_cell` if None.
    """
    work = work or do_cell
    if workers < 1:
        raise OptionError(f"workers must be at least 1, not {workers}")
    engine: Engine
    if name == "ray":
        engine = RayEngine(root, workers, threads, address, work)
    elif name != "local":
        raise OptionError(f"unknown engine {name!r}; use one of {', '.join(ENGINES)}")
    elif address is not None:
        raise OptionError("an address goes with the engine ray")
    else:
        engine = SerialEngine(root, work) if workers == 1 else ProcessEngine(root, workers, threads, work)
    try:
        yield engine
    finally:
        engine.close()


class SerialEngine:
    """One cell at a time, in this process."""

    workers = 1

    def __init__(self, root: str, work: Work) -> None:
        self.root, self.work = root, work
        self._waiting: list[Piece] = []

    def submit(self, cell: Piece) -> None:
        """Remember a cell; it is done when somebody waits for it."""
        self._waiting.append(cell)

    def wait(self) -> list[Outcome]:
        """Do the next cell."""
        cell = self._waiting.pop(0)
        try:
            self.work(cell.to_dict(), self.root)
        except Exception as error:  # whatever a cell dies of must not end the study
            return [(cell, error)]
        return [(cell, None)]

    def close(self) -> None:
        """Let go of the data that was read."""
        forget_data()


class ProcessEngine:
    """Several processes of this machine. One that is killed is replaced, and its cell done again."""

    def __init__(self, root: str, workers: int, threads: int, work: Work) -> None:
        self.root, self.workers, self.threads, self.work = root, workers, threads, work
        self._pool = self._start()
        self._running: dict[Future[str], Piece] = {}
        self._tries: dict[str, int] = {}

    def _start(self) -> ProcessPoolExecutor:
        return ProcessPoolExecutor(self.workers, mp_context=warm_up(), initializer=_begin, initargs=(self.threads,))

    def submit(self, cell: Piece) -> None:
        """Hand a cell to the processes."""
        self._tries[cell.name] = self._tries.get(cell.name, 0) + 1
        self._running[self._pool.submit(self.work, cell.to_dict(), self.root)] = cell

    def wait(self) -> list[Outcome]:
        """The cells that were finished since."""
        outcomes: list[Outcome] = []
        while not outcomes:
            finished, _ = wait(self._running, return_when=FIRST_COMPLETED)
            broken = False
            for future in finished:
                cell, error = self._running.pop(future), future.exception()
                if not isinstance(error, BrokenProcessPool):
                    outcomes.append((cell, error))
                    continue
                broken = True
                self._running[future] = cell
            if broken:
                outcomes += self._mend()
        return outcomes

    def _mend(self) -> list[Outcome]:
        """A process was killed, which ends all: start new ones, and hand them what was being done."""
        lost, self._running = list(self._running.values()), {}
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._pool = self._start()
        given_up: list[Outcome] = []
        for cell in lost:
            if self._tries[cell.name] > RETRIES:
                given_up.append((cell, RuntimeError(f"its worker was killed {RETRIES + 1} times; is memory short?")))
            else:
                self.submit(cell)
        return given_up

    def close(self) -> None:
        """End the processes."""
        self._pool.shutdown(wait=False, cancel_futures=True)


def warm_up() -> BaseContext:
    """Where worker processes come from; a server that imports what they need begins to do so.

    Workers are not forks of this process, which may have used torch's threads (a fork would hang): they are forks of
    a server that has imported torch, transformers and saywhy, and done nothing else. It imports once for all workers,
    also for those that replace killed ones, and beside this process: called early, it is ready when the plan is.
    """
    import multiprocessing

    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    from multiprocessing import forkserver

    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["saywhy.studies.preload"])
    forkserver.ensure_running()
    return context


def _begin(threads: int) -> None:
    import warnings

    from threadpoolctl import threadpool_limits

    from saywhy.errors import SayWhyWarning
    from saywhy.memory import reuse_memory

    reuse_memory()
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = str(threads)
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    threadpool_limits(threads)  # libraries that were loaded before the fork do not read the environment again
    warnings.simplefilter("ignore", SayWhyWarning)
    watch_parent()


class RayEngine:
    """Cells as tasks of Ray, on a cluster that is running or one started here."""

    def __init__(self, root: str, workers: int, threads: int, address: str | None, work: Work) -> None:
        try:
            import ray
        except ImportError:
            raise OptionError("the engine ray needs Ray: pip install 'saywhy[ray]'") from None
        self._ray: Any = ray
        self.root, self.workers = os.path.abspath(root), workers
        self._mine = not ray.is_initialized()
        if self._mine:
            own: dict[str, Any] = {} if address else {"num_cpus": workers * threads, "include_dashboard": False}
            ray.init(address=address, log_to_driver=False, logging_level="ERROR", **own)
        names = {"OMP_NUM_THREADS": str(threads), "MKL_NUM_THREADS": str(threads), "TOKENIZERS_PARALLELISM": "false"}
        passed = {key: os.environ[key] for key in ("SAYWHY_DATA", "HF_HUB_OFFLINE") if key in os.environ}
        self._task = ray.remote(work).options(
            num_cpus=threads,
            max_retries=RETRIES,
            retry_exceptions=False,
            runtime_env={"env_vars": {**names, **passed}},
        )
        self._running: dict[Any, Piece] = {}

    def submit(self, cell: Piece) -> None:
        """Hand a cell to Ray."""
        self._running[self._task.remote(cell.to_dict(), self.root)] = cell

    def wait(self) -> list[Outcome]:
        """The cells that were finished since."""
        finished, _ = self._ray.wait(list(self._running), num_returns=1)
        outcomes: list[Outcome] = []
        for reference in finished:
            cell = self._running.pop(reference)
            try:
                self._ray.get(reference)
            except Exception as error:  # whatever a cell dies of must not end the study
                cause = getattr(error, "cause", None)
                outcomes.append((cell, cause if isinstance(cause, SayWhyError) else error))
            else:
                outcomes.append((cell, None))
        return outcomes

    def close(self) -> None:
        """End the cluster, if it was started here."""
        if self._mine:
            self._ray.shutdown()
