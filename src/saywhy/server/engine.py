"""The engine behind the routes: who waits for what, what is known already, and what may be stopped."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from saywhy.errors import SayWhyError
from saywhy.models import TextModel
from saywhy.server.cache import Cache
from saywhy.server.jobs import Jobs
from saywhy.server.lanes import Call, Lane, Stopped, Ticket
from saywhy.server.library import Library
from saywhy.server.meters import Meters
from saywhy.server.problems import Problem, as_problem
from saywhy.server.served import Served
from saywhy.server.settings import Settings

__all__ = ["Answer", "Engine", "Work", "together"]


@dataclass(frozen=True)
class Work:
    """Something a model must do, with everything checked that can be.

    Args:
        served: the model.
        run: see `Call`.
        payload: see `Call`.
        group: see `Call`.
        key: of the content; equal ones are done once and kept. None: neither.
        expected: rows it may take.
        long: whether it goes to the lane for long work.
        urgent: whether it goes before others.
    """

    served: Served
    run: Callable[[TextModel, list[Call]], list[Any]]
    payload: Any
    group: Hashable = None
    key: str | None = None
    expected: int | None = None
    long: bool = False
    urgent: bool = False


@dataclass(frozen=True)
class Answer:
    """What a model answered, as JSON; whether it was known already; and how long the model took."""

    body: bytes
    cached: bool
    seconds: float


@dataclass(eq=False)
class _Flight:
    future: asyncio.Future[bytes]
    ticket: Ticket
    waiters: int = 0


@dataclass(eq=False)
class Engine:
    """Everything that the routes share; lives in one event loop.

    Args:
        models: by name.
        settings: limits and places.
    """

    models: Mapping[str, TextModel]
    settings: Settings
    meters: Meters = field(default_factory=Meters)
    closing: bool = False
    """No new jobs are taken; who is connected may still ask."""
    stopped: bool = False
    """Nothing is taken any more."""

    def __post_init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._flights: dict[str, _Flight] = {}
        self._open: set[_Flight] = set()
        self.cache = Cache(self.settings.cache)
        self.jobs = Jobs(self.settings)
        most = self.settings.max_batch
        self.served = {name: Served(name, model, most, self._batch) for name, model in self.models.items()}
        self.library = Library(self.settings, {served.task for served in self.served.values()})

    def start(self) -> None:
        """Called in the loop that serves."""
        self._loop = asyncio.get_running_loop()

    def find(self, name: str, field: str = "model") -> Served:
        """The model of that name."""
        if name not in self.served:
            known = ", ".join(self.served)
            raise Problem("not-found", f"no model {name!r} is served here; there are {known}", field)
        return self.served[name]

    def known(self, work: Work) -> bool:
        """Whether the answer is there without asking the model."""
        return work.key is not None and self.cache.get(work.key, count=False) is not None

    async def do(self, work: Work, tickets: list[Ticket] | None = None) -> Answer:
        """Do something, or wait with others for it, or know it already; who stops waiting may end it.

        Args:
            work: what to do.
            tickets: gets the ticket, for those who want to see how far it is.
        """
        if work.key is not None:
            kept = self.cache.get(work.key)
            if kept is not None:
                return Answer(kept, True, 0.0)
        flight = self._flights.get(work.key) if work.key is not None else None
        if flight is None:
            flight = self._take_off(work)
        if tickets is not None:
            tickets.append(flight.ticket)
        flight.waiters += 1
        try:
            body = await asyncio.shield(flight.future)
        finally:
            flight.waiters -= 1
            if not flight.waiters and not flight.future.done():
                flight.ticket.cancelled = True
                if work.key is not None and self._flights.get(work.key) is flight:
                    del self._flights[work.key]
        return Answer(body, False, flight.ticket.seconds)

    def _take_off(self, work: Work) -> _Flight:
        lane = work.served.long if work.long else work.served.live
        if len(lane) >= self.settings.max_waiting:
            raise Problem("busy", f"{len(lane)} calls wait for {work.served.name}; try again in a moment")
        loop = self._loop
        assert loop is not None
        flight = _Flight(loop.create_future(), Ticket(work.expected))

        def settle(answer: Any) -> None:
            with contextlib.suppress(RuntimeError):  # the loop is gone, and so is everybody who waited
                loop.call_soon_threadsafe(self._land, work, flight, answer)

        try:
            lane.submit(Call(work.run, work.payload, settle, work.group, work.urgent, flight.ticket))
        except Stopped:
            raise _closed() from None
        self._open.add(flight)
        if work.key is not None:
            self._flights[work.key] = flight
        return flight

    def _land(self, work: Work, flight: _Flight, answer: Any) -> None:
        self._open.discard(flight)
        if work.key is not None:
            if self._flights.get(work.key) is flight:
                del self._flights[work.key]
            if isinstance(answer, bytes):
                # Who a black box is cannot be seen from outside: its answers do not outlive the process.
                self.cache.put(work.key, answer, disk=not work.served.black_box)
        if flight.future.done():
            return
        if isinstance(answer, Exception):
            # What the model's thread has logged already is not a second failure of the server.
            known = isinstance(answer, SayWhyError | Problem)
            flight.future.set_exception(
                _closed() if isinstance(answer, Stopped) else answer if known else as_problem(answer)
            )
            flight.future.exception()  # seen: nobody may be waiting any more
        else:
            flight.future.set_result(answer)

    def _batch(self, size: int) -> None:
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self.meters.batches.observe, size)

    def lanes(self) -> list[Lane]:
        """All lanes of all models."""
        return [lane for served in self.served.values() for lane in (served.live, served.long)]

    def figures(self) -> str:
        """The text of ``/metrics``."""
        waiting = {lane.name: len(lane) for lane in self.lanes()}
        return self.meters.text(waiting, self.jobs.states(), self.cache.hits, self.cache.misses)

    async def stop(self) -> None:
        """Take no new work, give what runs a little time, then stop it; who waits is told."""
        self.closing = True
        await asyncio.gather(self.jobs.finish(self.settings.grace), self._answered(self.settings.grace))
        self.stopped = True
        for flight in self._open:
            flight.ticket.cancelled = True
            if not flight.future.done():
                flight.future.set_exception(_closed())
                flight.future.exception()

    async def _answered(self, seconds: float) -> None:
        """Wait until nobody waits for a model, or the time is over; some may still come."""
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        while (left := end - loop.time()) > 0:
            wanted = [flight.future for flight in self._open if flight.waiters]
            if not wanted:
                return
            await asyncio.wait(wanted, timeout=left)

    def close(self) -> None:
        """End the lanes and write what is not written yet."""
        for lane in self.lanes():
            lane.close(2.0)
        self.cache.close()


def _closed() -> Problem:
    return Problem("cancelled", "the server is stopping", status=503, headers={"Retry-After": "5"})


async def together(engine: Engine, works: Sequence[Work], tickets: list[Ticket] | None = None) -> list[Answer]:
    """Several things at once; the first failure ends them all."""
    if len(works) == 1:
        return [await engine.do(works[0], tickets)]
    tasks = [asyncio.ensure_future(engine.do(work, tickets)) for work in works]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()
