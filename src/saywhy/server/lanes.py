"""One thread for one model: calls wait in a line, equal ones are answered together, and any can be stopped.

Explainers hook into the network while they run, so a network serves one call at a time. That nobody waits long is the
work of two things: calls that ask the same of the model are taken out of the line together and run as one batch; and
long work has a lane of its own, with a twin of the model that shares its weights.
"""

from __future__ import annotations

import copy
import logging
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from saywhy.errors import SayWhyError, SayWhyWarning
from saywhy.models import TextModel
from saywhy.models.black_box import BlackBox

__all__ = ["Call", "Lane", "Stopped", "Ticket", "Watch", "twin"]

_log = logging.getLogger("saywhy.server")


class Stopped(Exception):  # noqa: N818 - it is no error
    """Nobody waits for the answer any more."""


@dataclass(eq=False)
class Ticket:
    """How far a call is. The thread of its lane writes all but ``cancelled``, which it reads at each model call.

    ``calls`` counts model calls and ``rows`` the rows they were given; ``expected`` is how many rows it may take.
    """

    expected: int | None = None
    calls: int = 0
    rows: float = 0.0
    cancelled: bool = False
    started: float | None = None
    ended: float | None = None

    @property
    def seconds(self) -> float:
        """How long it has been running, or ran."""
        if self.started is None:
            return 0.0
        return (time.perf_counter() if self.ended is None else self.ended) - self.started


@dataclass(eq=False)
class Call:
    """Something to ask of a model.

    Args:
        run: answers calls of one group, in their order; an answer may be an exception.
        payload: what is asked.
        settle: gets the answer or the exception; called in the lane's thread.
        group: calls with the same one may be answered together; None: always alone.
        urgent: goes before all that are not.
    """

    run: Callable[[TextModel, list[Call]], list[Any]]
    payload: Any
    settle: Callable[[Any], None]
    group: Hashable = None
    urgent: bool = False
    ticket: Ticket = field(default_factory=Ticket)


class Watch:
    """Sees every call of a model: counts it for the tickets at work, and ends it when none of them is wanted."""

    def __init__(self) -> None:
        self.tickets: list[Ticket] = []
        self._inside = 0
        self._hooks: list[Any] = []

    def __deepcopy__(self, memo: dict[int, Any]) -> Watch:
        # A network that is copied with its hooks must not take the tickets along.
        return Watch()

    def on(self, model: TextModel) -> TextModel:
        """Watch a model from now on; of a black box, a copy is watched."""
        if isinstance(model, BlackBox):
            watched = copy.copy(model)
            ask = model.function

            def function(texts: list[Any]) -> Any:
                self.see(len(texts))
                return ask(texts)

            watched.function = function
            return watched
        network = model.module
        # Classifiers that read their last token are entered behind their head.
        doors = {id(module): module for module in (network, getattr(network, "base_model", network))}
        for module in doors.values():
            self._hooks.append(module.register_forward_pre_hook(self._enter, with_kwargs=True))
            self._hooks.append(module.register_forward_hook(self._leave, always_call=True))
        return model

    def off(self) -> None:
        """Leave the model as it was."""
        while self._hooks:
            self._hooks.pop().remove()

    def see(self, rows: int) -> None:
        """A model call is about to be made."""
        for ticket in self.tickets:
            ticket.calls += 1
            ticket.rows += rows / len(self.tickets)
        if self.tickets and all(ticket.cancelled for ticket in self.tickets):
            raise Stopped

    def _enter(self, module: nn.Module, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        self._inside += 1
        if self._inside == 1:
            first = next((value for value in (*args, *kwargs.values()) if isinstance(value, Tensor)), None)
            self.see(len(first) if first is not None and first.dim() else 1)

    def _leave(self, module: nn.Module, args: tuple[Any, ...], output: Any) -> None:
        self._inside -= 1

    def begin(self, tickets: list[Ticket]) -> None:
        """These are at work now."""
        self.tickets, self._inside = tickets, 0


def twin(model: TextModel) -> TextModel:
    """A model with modules, hooks and tokenizer of its own and the same weights in the same memory.

    Two threads may use a model and its twin at the same time.
    """
    shared: dict[int, Any] = {}
    networks = [m.network for m in (model, getattr(model.selector, "model", None)) if m is not None and m.network]
    for network in networks:
        for parameter in network.parameters():
            shared[id(parameter)] = nn.Parameter(parameter.detach(), requires_grad=parameter.requires_grad)
        for buffer in network.buffers():
            shared[id(buffer)] = buffer
    with torch.no_grad():
        made = copy.deepcopy(model, shared)
    made._probes = None  # they look into the weights, and copies do not
    return made


class Lane:
    """A thread that answers calls to one model.

    Args:
        name: of the thread.
        model: gives the model, in the thread and when it is first needed.
        most: calls that are answered together.
        seen: told the size of each batch, in the thread.
    """

    def __init__(
        self, name: str, model: Callable[[], TextModel], most: int = 1, seen: Callable[[int], None] = lambda size: None
    ) -> None:
        self.name = name
        self._make = model
        self._most = most
        self._seen = seen
        self._waiting: deque[Call] = deque()
        self._urgent: deque[Call] = deque()
        self._ready = threading.Condition()
        self._closing = False
        self._thread: threading.Thread | None = None

    def __len__(self) -> int:
        with self._ready:
            return sum(not call.ticket.cancelled for call in (*self._waiting, *self._urgent))

    def submit(self, call: Call) -> None:
        """Put a call into the line."""
        with self._ready:
            if self._closing:
                raise Stopped
            (self._urgent if call.urgent else self._waiting).append(call)
            if self._thread is None:
                # A daemon: a prediction function that never returns must not keep the process from ending.
                self._thread = threading.Thread(target=self._work, name=self.name, daemon=True)
                self._thread.start()
            self._ready.notify()

    def close(self, seconds: float) -> bool:
        """Take no more calls, finish those in the line that are wanted; whether that was done in time."""
        with self._ready:
            self._closing = True
            self._ready.notify()
        if self._thread is not None:
            self._thread.join(seconds)
        return self._thread is None or not self._thread.is_alive()

    def _take(self) -> list[Call]:
        with self._ready:
            self._ready.wait_for(lambda: self._closing or self._waiting or self._urgent)
            line = self._urgent or self._waiting
            if not line:
                return []
            first = line.popleft()
            taken = [first]
            if first.group is not None and self._most > 1:
                left = deque[Call]()
                while line:
                    call = line.popleft()
                    (taken if call.group == first.group and len(taken) < self._most else left).append(call)
                line.extend(left)
            return taken

    def _work(self) -> None:
        model: TextModel | None = None
        watch = Watch()
        while calls := self._take():
            wanted = [call for call in calls if not call.ticket.cancelled]
            for call in calls:
                if call.ticket.cancelled:
                    call.settle(Stopped())
            if not wanted:
                continue
            try:
                if model is None:
                    model = watch.on(self._make())
            except Exception as error:
                _log.exception("%s: the model cannot be had", self.name)
                for call in wanted:
                    call.settle(error)
                continue
            self._seen(len(wanted))
            for call, answer in zip(wanted, self._answers(model, watch, wanted), strict=True):
                call.settle(answer)
            # A frame that holds the last batch while the thread waits would hold its answers too.
            del calls, wanted
        watch.off()

    def _answers(self, model: TextModel, watch: Watch, calls: list[Call]) -> list[Any]:
        start = time.perf_counter()
        for call in calls:
            call.ticket.started = call.ticket.started or start
        watch.begin([call.ticket for call in calls])
        try:
            with warnings.catch_warnings():
                # What users should know stands in the notes of their answers.
                warnings.simplefilter("ignore", SayWhyWarning)
                answers = calls[0].run(model, calls)
        except Exception as error:
            if len(calls) > 1 and not isinstance(error, Stopped):
                # One of them is to blame; the others need not suffer.
                return [answer for call in calls for answer in self._answers(model, watch, [call])]
            if not isinstance(error, Stopped | SayWhyError):
                _log.exception("%s: a call failed", self.name)
            answers = [error] * len(calls)
        finally:
            watch.begin([])
        end = time.perf_counter()
        for call in calls:
            call.ticket.ended = end
        return answers
