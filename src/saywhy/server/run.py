"""Running the server: signals, and an end that leaves nobody without an answer."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from types import FrameType

import uvicorn

from saywhy.errors import OptionError
from saywhy.models import TextModel
from saywhy.server.app import make_app
from saywhy.server.engine import Engine
from saywhy.server.settings import Settings

__all__ = ["running", "serve"]

# The event loop and the models' threads share one lock; at Python's 5 ms an answer would wait longer than it takes.
_SWITCH_SECONDS = 0.001


class _Server(uvicorn.Server):
    """uvicorn's server, which on a signal also winds up the jobs, and then ends with 0 as if nothing had happened."""

    def __init__(self, config: uvicorn.Config, engine: Engine) -> None:
        super().__init__(config)
        self._engine = engine
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping: asyncio.Task[None] | None = None

    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        self._loop = asyncio.get_running_loop()
        await super().serve(sockets)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {name: signal.signal(name, self.handle_exit) for name in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for name, handler in before.items():
                signal.signal(name, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop listening, answer what was asked, give jobs their time; a second Ctrl+C ends at once."""
        if self.should_exit and sig == signal.SIGINT:
            self.force_exit = True
        self.should_exit = True
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._wind_up)

    def _wind_up(self) -> None:
        if self._stopping is None:
            # Streams of events stay open until their jobs are over, and the server waits for them.
            self._stopping = asyncio.ensure_future(self._engine.stop())


def serve(
    models: Mapping[str, TextModel], settings: Settings | None = None, ready: Callable[[str], None] = lambda url: None
) -> None:
    """Serve models until a signal comes.

    Args:
        models: by the names they are asked for.
        settings: limits and places.
        ready: told the address, with the token where there is one, when the server listens.
    """
    server, listening, url = _prepare(models, Settings() if settings is None else settings)
    ready(url)
    _run(server, listening)


@contextlib.contextmanager
def running(models: Mapping[str, TextModel], settings: Settings | None = None) -> Iterator[str]:
    """Serve models in a thread, for notebooks and tests; gives the address, and stops in the end.

    Example:
        >>> with running({"fan": fan}) as url:                                        # doctest: +SKIP
        ...     httpx.get(url + "health").json()
    """
    server, listening, url = _prepare(models, Settings(port=0) if settings is None else settings)
    thread = threading.Thread(target=_run, args=(server, listening), name="server", daemon=True)
    thread.start()
    try:
        while not server.started and thread.is_alive():
            time.sleep(0.01)
        yield url
    finally:
        server.handle_exit(signal.SIGTERM, None)
        thread.join()


def _prepare(models: Mapping[str, TextModel], settings: Settings) -> tuple[_Server, socket.socket, str]:
    listening = _listen(settings.host, settings.port)
    port = listening.getsockname()[1]
    settings = replace(settings, port=port)
    app = make_app(models, settings)
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=int(settings.grace + 10),
        timeout_keep_alive=30,
        limit_concurrency=1000,
    )
    host = "127.0.0.1" if settings.host in ("0.0.0.0", "localhost") else settings.host
    host = f"[{host}]" if ":" in host else host
    url = f"http://{host}:{port}/" + (f"?token={settings.token}" if settings.token else "")
    return _Server(config, app.state.engine), listening, url


def _run(server: _Server, listening: socket.socket) -> None:
    before = sys.getswitchinterval()
    sys.setswitchinterval(_SWITCH_SECONDS)
    try:
        server.run(sockets=[listening])
    finally:
        sys.setswitchinterval(before)
        listening.close()


def _listen(host: str, port: int) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        made = socket.socket(family, socket.SOCK_STREAM)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((host, port))
        made.listen(256)
    except OSError as error:
        raise OptionError(f"cannot listen on {host}:{port}: {error.strerror}; try --port 0 for a free one") from error
    return made
