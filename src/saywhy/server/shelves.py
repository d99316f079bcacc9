"""The routes that ask no model: what is served, methods, datasets, reports, exports, health and figures."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.responses import FileResponse, PlainTextResponse, Response

import saywhy
from saywhy.errors import SayWhyError
from saywhy.reports import explanations_page
from saywhy.server.library import KINDS
from saywhy.server.problems import Problem, as_problem
from saywhy.server.routes import ERRORS, engine_of
from saywhy.server.schemas import ExportBody
from saywhy.server.served import dumps
from saywhy.types import explanation_from_dict

__all__ = [
    "dataset",
    "datasets",
    "export_html",
    "health",
    "methods",
    "metrics",
    "models",
    "report_file",
    "reports",
    "router",
]

router = APIRouter(responses=ERRORS)


@router.get("/health")
async def health(request: Request) -> dict[str, Any]:
    """Whether the server is there; needs no token."""
    engine = engine_of(request)
    status = "stopping" if engine.closing else "ok"
    return {"status": status, "version": saywhy.__version__, "models": len(engine.served)}


@router.get("/metrics", response_class=PlainTextResponse)
async def metrics(request: Request) -> Response:
    """Figures for Prometheus."""
    return PlainTextResponse(engine_of(request).figures(), media_type="text/plain; version=0.0.4")


@router.get("/api/models")
async def models(request: Request) -> Response:
    """The models that can be asked."""
    return _json({"models": [served.facts for served in engine_of(request).served.values()]})


@router.get("/api/methods")
async def methods(request: Request, model: str | None = None) -> Response:
    """The methods with their options, and whether a model (the first if none is named) can be explained by them."""
    engine = engine_of(request)
    name = next(iter(engine.served)) if model is None else model
    return _json({"model": name, "methods": engine.find(name).methods})


@router.get("/api/datasets")
async def datasets(request: Request) -> Response:
    """Datasets that can be read here and suit one of the models."""
    found = await asyncio.to_thread(engine_of(request).library.datasets)
    return _json({"datasets": found})


@router.get("/api/datasets/{name}")
async def dataset(
    request: Request,
    name: str,
    split: str | None = None,
    offset: Annotated[int, Query(ge=0, le=1_000_000)] = 0,
    limit: Annotated[int, Query(ge=1, le=200)] = 20,
) -> Response:
    """Some examples of a dataset, with the spans that are known to be their reasons."""
    library = engine_of(request).library
    try:
        return _json(await asyncio.to_thread(library.rows, name, split, offset, limit))
    except SayWhyError as error:
        raise as_problem(error, "name") from error


@router.post("/api/export/html", response_class=Response)
async def export_html(body: ExportBody, request: Request) -> Response:
    """Explanations as one page that opens offline."""
    try:
        page = await asyncio.to_thread(_page, body)
    except Problem:
        raise
    except Exception as error:
        # Whatever a stranger's data break, they are to blame.
        raise Problem("input", f"these are no explanations: {error}", "explanations") from error
    headers = {"Content-Disposition": 'attachment; filename="explanation.html"'}
    return Response(page, media_type="text/html; charset=utf-8", headers=headers)


@router.get("/api/reports")
async def reports(request: Request) -> Response:
    """Reports in the folders that were named at start."""
    return _json({"reports": await asyncio.to_thread(engine_of(request).library.reports)})


@router.get("/reports/{folder}/{path:path}", include_in_schema=False)
async def report_file(request: Request, folder: str, path: str) -> Response:
    """A file of a report."""
    found = engine_of(request).library.report_file(folder, path)
    return FileResponse(found, media_type=KINDS[found.suffix])


def _page(body: ExportBody) -> bytes:
    made = [explanation_from_dict(given) for given in body.explanations]
    return explanations_page(made, body.title).encode()


def _json(value: Any) -> Response:
    return Response(dumps(value), media_type="application/json")
