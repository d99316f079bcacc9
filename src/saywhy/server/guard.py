"""Who may ask, how much they may send, and what browsers are told about every answer."""

from __future__ import annotations

import hashlib
import hmac
import logging
import time
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from saywhy.server.meters import Meters
from saywhy.server.problems import Problem, as_problem
from saywhy.server.settings import Settings

__all__ = ["PAGE_POLICY", "REPORT_POLICY", "Guard", "cookie_name"]

PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
    "frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""Nothing inline, nothing from elsewhere."""
REPORT_POLICY = (
    "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src 'self' data:; font-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
)
"""A report may be anybody's page: it gets an origin of its own and cannot reach the API."""

_log = logging.getLogger("saywhy.server")
_GUARDED = ("/api", "/reports", "/metrics")


def cookie_name(token: str) -> str:
    """The cookie that holds a token; servers on one machine share their cookies, so each has its own name."""
    return f"saywhy_{hashlib.sha256(token.encode()).hexdigest()[:8]}"


class Guard:
    """The outermost layer: checks host, origin, token and size, adds headers, counts.

    Args:
        app: what is guarded.
        settings: the limits.
        meters: told of every request.
    """

    def __init__(self, app: ASGIApp, settings: Settings, meters: Meters) -> None:
        self._app, self._settings, self._meters = app, settings, meters

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            if scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 1008})
                return
            await self._app(scope, receive, send)
            return
        start, status = time.perf_counter(), 500
        begun = False

        async def answer(message: Message) -> None:
            nonlocal status, begun
            if message["type"] == "http.response.start":
                status, begun = message["status"], True
                _add_headers(MutableHeaders(raw=message["headers"]), scope["path"])
            await send(message)

        try:
            self._check(scope, Headers(scope=scope))
            await self._app(scope, self._limited(receive), answer)
        except Exception as error:
            if begun:
                raise
            if not isinstance(error, Problem):
                _log.exception("%s %s failed", scope["method"], _route(scope))
            await as_problem(error).response()(scope, receive, answer)
        finally:
            self._meters.request(_method(scope), _route(scope), status, time.perf_counter() - start)

    def _check(self, scope: Scope, headers: Headers) -> None:
        names, host = self._settings.names, headers.get("host", "")
        if names and _name(host) not in names:
            raise Problem("unauthorised", f"this server is not called {host!r}; use localhost", status=403)
        if scope["method"] not in ("GET", "HEAD"):
            origin = headers.get("origin")
            foreign = origin is not None and urlsplit(origin).netloc != host
            if foreign or headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
                raise Problem("unauthorised", "requests from other sites are not answered", status=403)
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > self._settings.max_bytes:
            raise self._too_large()
        if self._settings.token is not None and scope["path"].startswith(_GUARDED):
            self._check_token(self._settings.token, headers)

    def _check_token(self, token: str, headers: Headers) -> None:
        given = [headers.get("x-saywhy-token", "")]
        scheme, _, bearer = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            given.append(bearer.strip())
        try:
            found = SimpleCookie(headers.get("cookie", "")).get(cookie_name(token))
        except CookieError:
            found = None
        given.append("" if found is None else found.value)
        if not any(hmac.compare_digest(each.encode("utf-8", "replace"), token.encode()) for each in given):
            message = "a token is needed: open the page by the address that `saywhy serve` printed"
            raise Problem("unauthorised", message, headers={"WWW-Authenticate": "Bearer"})

    def _limited(self, receive: Receive) -> Receive:
        read = 0

        async def limited() -> Message:
            nonlocal read
            message = await receive()
            if message["type"] == "http.request":
                read += len(message.get("body", b""))
                if read > self._settings.max_bytes:
                    # FastAPI, which is reading, lets only its own kind of exception pass.
                    raise HTTPException(413, self._too_large().message)
            return message

        return limited

    def _too_large(self) -> Problem:
        most = self._settings.max_bytes
        return Problem("limit", f"the body of a request may have at most {most} bytes", status=413)


def _name(host: str) -> str:
    """The name in a Host header, without the port."""
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.partition(":")[0].lower()


def _add_headers(headers: MutableHeaders, path: str) -> None:
    report = path.startswith("/reports/")
    headers["Content-Security-Policy"] = REPORT_POLICY if report else PAGE_POLICY
    headers["X-Content-Type-Options"] = "nosniff"
    headers["Referrer-Policy"] = "no-referrer"
    headers["Cross-Origin-Opener-Policy"] = "same-origin"
    headers["Cross-Origin-Resource-Policy"] = "same-origin"
    headers.setdefault("Cache-Control", "no-store" if path.startswith("/api") else "no-cache")


def _method(scope: Scope) -> str:
    known = ("GET", "HEAD", "POST", "DELETE", "PUT", "PATCH", "OPTIONS")
    return scope["method"] if scope["method"] in known else "other"


def _route(scope: Scope) -> str:
    """The pattern of the route, so that nobody can fill the memory with paths of their own."""
    route: Any = scope.get("route")
    return str(getattr(route, "path", "")) or "other"
