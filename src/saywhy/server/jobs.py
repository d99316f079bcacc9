"""Long work that is started, looked at and cancelled, each in a request of its own."""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from saywhy.errors import SayWhyError
from saywhy.server.lanes import Ticket
from saywhy.server.problems import Problem, as_problem
from saywhy.server.settings import Settings

__all__ = ["STATES", "Job", "Jobs"]

STATES = ("queued", "running", "done", "failed", "cancelled")
_OVER = STATES[2:]
# How often a stream tells of progress, and how often it says something so that no proxy takes it for dead.
_TICK, _SIGN_OF_LIFE = 0.2, 10.0

_log = logging.getLogger("saywhy.server")


@dataclass(eq=False)
class Job:
    """One piece of long work.

    ``tickets`` are those of the model's calls behind it; ``result`` is JSON.
    """

    kind: str
    model: str
    method: str
    id: str = field(default_factory=lambda: secrets.token_hex(8))
    tickets: list[Ticket] = field(default_factory=list)
    created: float = field(default_factory=time.time)
    result: bytes | None = None
    problem: Problem | None = None
    over: asyncio.Event = field(default_factory=asyncio.Event)
    ended: str | None = None
    task: asyncio.Task[None] | None = None

    @property
    def state(self) -> str:
        """One of ``STATES``."""
        if self.ended is not None:
            return self.ended
        return "running" if any(ticket.started is not None for ticket in self.tickets) else "queued"

    def to_json(self, *, whole: bool = True) -> bytes:
        """The job as JSON; ``whole``: with its result."""
        fractions = [_fraction(ticket) for ticket in self.tickets]
        known = [f for f in fractions if f is not None]
        fraction = sum(known) / len(known) if known and len(known) == len(fractions) else None
        facts: dict[str, Any] = {
            "id": self.id,
            "kind": self.kind,
            "state": self.state,
            "progress": {
                "calls": sum(ticket.calls for ticket in self.tickets),
                "seconds": round(max((ticket.seconds for ticket in self.tickets), default=0.0), 3),
                "fraction": 1.0 if self.state == "done" else fraction,
            },
            "method": self.method,
            "model": self.model,
            "created": self.created,
            "error": None if self.problem is None else self.problem.to_dict(),
        }
        head = json.dumps(facts)[:-1].encode()
        return head + b', "result": ' + (self.result if whole and self.result is not None else b"null") + b"}"


def _fraction(ticket: Ticket) -> float | None:
    if ticket.ended is not None:
        return 1.0
    # What is expected is a bound for methods that stop when they know enough, and a guess for others.
    return min(0.99, ticket.rows / ticket.expected) if ticket.expected else None


class Jobs:
    """The jobs of a server, those that are over included as long as there is room.

    Args:
        settings: how many, how long.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._jobs: dict[str, Job] = {}
        self._streams = 0
        self._closing = False

    def __iter__(self) -> Iterator[Job]:
        return iter(self._jobs.values())

    def start(self, job: Job, work: Callable[[Job], Awaitable[bytes]]) -> Job:
        """Begin a job whose result ``work`` gives."""
        open_jobs = sum(other.ended is None for other in self._jobs.values())
        if self._closing or open_jobs >= self._settings.max_jobs:
            raise Problem("busy", f"{open_jobs} jobs are not finished yet; try again later, or cancel one")
        self._jobs[job.id] = job
        over = [other.id for other in self._jobs.values() if other.ended is not None]
        for name in over[: max(0, len(over) - self._settings.kept_jobs)]:
            del self._jobs[name]
        job.task = asyncio.ensure_future(self._run(job, work))
        return job

    def find(self, name: str) -> Job:
        """The job of that id."""
        if name not in self._jobs:
            raise Problem("not-found", "there is no such job; those that are over are forgotten after a while", "id")
        return self._jobs[name]

    async def cancel(self, job: Job) -> None:
        """Stop a job, if it is not over."""
        if job.task is not None and job.ended is None:
            job.task.cancel()
            await job.over.wait()

    def states(self) -> dict[str, int]:
        """How many are in each state."""
        return dict.fromkeys(STATES, 0) | Counter(job.state for job in self._jobs.values())

    async def finish(self, seconds: float) -> None:
        """Take no new jobs, stop those that wait, give the others a while, then stop them too."""
        self._closing = True
        left = [job for job in self._jobs.values() if job.ended is None]
        running = [asyncio.ensure_future(job.over.wait()) for job in left if job.state == "running"]
        for job in left:
            if job.state == "queued":
                await self.cancel(job)
        if running:
            await asyncio.wait(running, timeout=seconds)
        for job in left:
            await self.cancel(job)

    def events(self, job: Job) -> AsyncIterator[bytes]:
        """Server-sent events: ``progress`` while it runs, then ``done``, ``failed`` or ``cancelled``."""
        if self._streams >= self._settings.max_streams:
            raise Problem("busy", "too many streams are open; look at the job itself instead")
        return self._events(job)

    async def _events(self, job: Job) -> AsyncIterator[bytes]:
        self._streams += 1
        try:
            said, last = b"", time.monotonic()
            while job.ended is None:
                now = job.to_json(whole=False)
                if now != said:
                    said, last = now, time.monotonic()
                    yield _event("progress", now)
                elif time.monotonic() - last > _SIGN_OF_LIFE:
                    last = time.monotonic()
                    yield b": still here\n\n"
                try:
                    await asyncio.wait_for(job.over.wait(), _TICK)
                except TimeoutError:
                    continue
            yield _event(job.state, job.to_json())
        finally:
            self._streams -= 1

    async def _run(self, job: Job, work: Callable[[Job], Awaitable[bytes]]) -> None:
        try:
            async with asyncio.timeout(self._settings.job_timeout):
                job.result = await work(job)
            job.ended = "done"
        except asyncio.CancelledError:
            job.ended = "cancelled"
            job.problem = Problem("cancelled", "the job was cancelled")
        except Exception as error:
            if not isinstance(error, SayWhyError | Problem | TimeoutError):
                _log.exception("job %s failed", job.id)
            job.problem = as_problem(error)
            job.ended = "cancelled" if job.problem.kind == "cancelled" else "failed"
        finally:
            job.over.set()


def _event(name: str, body: bytes) -> bytes:
    return f"event: {name}\ndata: ".encode() + b'{"job": ' + body + b"}\n\n"
