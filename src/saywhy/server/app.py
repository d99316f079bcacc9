"""The application: routes, the page, and the guard around both."""

from __future__ import annotations

import contextlib
import hmac
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import FileResponse, RedirectResponse, Response
from starlette.staticfiles import StaticFiles

import saywhy
from saywhy.errors import SayWhyError
from saywhy.models import TextModel
from saywhy.server import routes, shelves
from saywhy.server.engine import Engine
from saywhy.server.guard import Guard, cookie_name
from saywhy.server.problems import Problem, as_problem
from saywhy.server.settings import Settings

__all__ = ["STATIC", "make_app"]

STATIC = Path(__file__).parent / "static"


def make_app(models: Mapping[str, TextModel], settings: Settings | None = None) -> FastAPI:
    """An ASGI application that serves models; `saywhy serve` runs it, and any ASGI server can.

    Args:
        models: by the names they are asked for.
        settings: limits and places.

    Example:
        >>> fan = saywhy.load(lambda texts: [[0.9, 0.1]] * len(texts), labels=["yes", "no"])
        >>> app = make_app({"fan": fan})
    """
    settings = Settings() if settings is None else settings
    engine = Engine(models, settings)

    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        engine.start()
        yield
        await engine.stop()
        engine.close()

    app = FastAPI(
        title="saywhy",
        version=saywhy.__version__,
        summary="Makes text models say why, and checks that what they say is true.",
        openapi_url="/api/openapi.json",
        docs_url=None,  # its page would load scripts from elsewhere
        redoc_url=None,
        lifespan=lifespan,
    )
    app.state.engine = engine
    app.include_router(routes.router)
    app.include_router(shelves.router)
    app.add_exception_handler(Problem, _problem)
    app.add_exception_handler(SayWhyError, _problem)
    app.add_exception_handler(TimeoutError, _problem)
    app.add_exception_handler(RequestValidationError, _not_valid)
    app.add_exception_handler(HTTPException, _http)
    app.add_api_route("/", _page(settings), include_in_schema=False, methods=["GET"])
    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    app.mount("/", StaticFiles(directory=STATIC, html=True), name="page")
    app.add_middleware(Guard, settings=settings, meters=engine.meters)
    return app


def _page(settings: Settings) -> Any:
    async def page(request: Request) -> Response:
        token, given = settings.token, request.query_params.get("token")
        if given is None:
            return FileResponse(STATIC / "index.html", media_type="text/html")
        # The token leaves the address, where it would stay in the history, for a cookie that scripts cannot read.
        answer = RedirectResponse("/", 303)
        if token is not None and hmac.compare_digest(given.encode("utf-8", "replace"), token.encode()):
            answer.set_cookie(cookie_name(token), token, httponly=True, samesite="strict", path="/")
        return answer

    return page


async def _problem(request: Request, error: Exception) -> Response:
    return as_problem(error).response()


async def _not_valid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    place = [str(part) for part in first["loc"] if part not in ("body", "query", "path")]
    if first["type"] == "json_invalid":
        return Problem("input", "the body is not JSON", status=400).response()
    return Problem("input", f"{'.'.join(place) or 'the body'}: {first['msg']}", ".".join(place) or None).response()


async def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    kind = {404: "not-found", 413: "limit"}.get(error.status_code, "input")
    problem = Problem(kind, str(error.detail), status=error.status_code, headers=error.headers)
    return problem.response()
