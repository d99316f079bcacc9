"""The routes that ask models: predict, explain, compare, evaluate, counterfactual, and the jobs they may become."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response, StreamingResponse

from saywhy.server.asking import counterfactual_work, evaluate_work, explain_work, predict_work
from saywhy.server.comparison import compare_explanations
from saywhy.server.engine import Answer, Engine, Work, together
from saywhy.server.jobs import Job
from saywhy.server.problems import Problem
from saywhy.server.schemas import (
    CompareBody,
    CounterfactualBody,
    ErrorAnswer,
    EvaluateBody,
    ExplainBody,
    JobAnswer,
    PredictBody,
)
from saywhy.server.served import dumps
from saywhy.server.telling import told

__all__ = [
    "ERRORS",
    "cancel_job",
    "compare",
    "counterfactual",
    "engine_of",
    "evaluate",
    "explain",
    "job_events",
    "list_jobs",
    "predict",
    "router",
    "show_job",
]

ERRORS: dict[int | str, dict[str, Any]] = {
    400: {"model": ErrorAnswer, "description": "Not JSON."},
    401: {"model": ErrorAnswer, "description": "No token, or a wrong one."},
    403: {"model": ErrorAnswer, "description": "From another site, or by another name of the server."},
    404: {"model": ErrorAnswer, "description": "No such model, job, dataset or report."},
    413: {"model": ErrorAnswer, "description": "The body is too large."},
    422: {"model": ErrorAnswer, "description": "Something in the request is wrong, or beyond a limit."},
    429: {"model": ErrorAnswer, "description": "Too much waits already; try again after `Retry-After` seconds."},
}
_LONG: dict[int | str, dict[str, Any]] = {
    202: {"model": JobAnswer, "description": "It takes long, and has become a job."},
    504: {"model": ErrorAnswer, "description": "It took too long and was stopped."},
    **ERRORS,
}

router = APIRouter(prefix="/api", responses=ERRORS)


def engine_of(request: Request) -> Engine:
    """The engine behind a request."""
    engine: Engine = request.app.state.engine
    return engine


@router.post("/predict")
async def predict(body: PredictBody, request: Request) -> Response:
    """Ask the model, with some words removed; words are counted from 0 as in its explanations."""
    return await _respond(request, [predict_work(engine_of(request), body)], True, lambda answers: answers[0].body)


@router.post("/explain", responses=_LONG)
async def explain(body: ExplainBody, request: Request) -> Response:
    """Explain a prediction. Long methods become jobs unless `wait` says otherwise."""
    engine = engine_of(request)
    work = explain_work(engine, engine.find(body.model), body)
    return await _respond(request, [work], body.wait, _explained, Job("explain", body.model, body.method))


@router.post("/compare", responses=_LONG)
async def compare(body: CompareBody, request: Request) -> Response:
    """Explain one input for two models: both explanations, how far they agree, and what changed."""
    engine = engine_of(request)
    works = []
    for name in body.models:
        one = ExplainBody.model_construct(**{**dict(body), "model": name, "models": None})
        works.append(explain_work(engine, engine.find(name, "models"), one))
    if works[0].served.task != works[1].served.task:
        raise Problem("input", "the two models read different kinds of input", "models")

    def compared(answers: Sequence[Answer]) -> bytes:
        pair = [json.loads(answer.body) for answer in answers]
        said = [
            {"label": h["labels"][h["probabilities"].index(max(h["probabilities"]))],
             "probabilities": dict(zip(h["labels"], h["probabilities"], strict=True))}
            for h in (why["header"] for why in pair)
        ]  # fmt: skip
        facts = {"models": body.models, "explanations": pair, "told": [told(why) for why in pair], "predictions": said}
        return dumps({**facts, **compare_explanations(*pair), "cached": all(a.cached for a in answers)})

    return await _respond(request, works, body.wait, compared, Job("compare", " / ".join(body.models), body.method))


@router.post("/evaluate", responses=_LONG)
async def evaluate(body: EvaluateBody, request: Request) -> Response:
    """Measure methods on one input, each beside random words."""
    work = evaluate_work(engine_of(request), body)
    job = Job("evaluate", body.model, ", ".join(body.methods))
    return await _respond(request, [work], body.wait, lambda answers: answers[0].body, job)


@router.post("/counterfactual", responses=_LONG)
async def counterfactual(body: CounterfactualBody, request: Request) -> Response:
    """Find the fewest words to remove, or to replace, that turn the prediction; a job unless `wait` is true."""
    work = counterfactual_work(engine_of(request), body)
    job = Job("counterfactual", body.model, "counterfactual")
    return await _respond(request, [work], body.wait, lambda answers: answers[0].body, job)


@router.get("/jobs", response_model=None)
async def list_jobs(request: Request) -> Response:
    """All jobs that are remembered, newest first, without their results."""
    made = b", ".join(job.to_json(whole=False) for job in reversed(list(engine_of(request).jobs)))
    return _json(b'{"jobs": [' + made + b"]}")


@router.get("/jobs/{id}", responses={200: {"model": JobAnswer}})
async def show_job(id: str, request: Request) -> Response:  # noqa: A002
    """One job, with its result where it is done."""
    return _json(b'{"job": ' + engine_of(request).jobs.find(id).to_json() + b"}")


@router.delete("/jobs/{id}", responses={200: {"model": JobAnswer}})
async def cancel_job(id: str, request: Request) -> Response:  # noqa: A002
    """Stop a job. The model is not called again for it, unless somebody else waits for the same."""
    engine = engine_of(request)
    job = engine.jobs.find(id)
    await engine.jobs.cancel(job)
    return _json(b'{"job": ' + job.to_json() + b"}")


@router.get("/jobs/{id}/events", responses={200: {"content": {"text/event-stream": {}}}})
async def job_events(id: str, request: Request) -> Response:  # noqa: A002
    """Server-sent events: `progress` while the job runs, then one of `done`, `failed`, `cancelled`."""
    jobs = engine_of(request).jobs
    events = jobs.events(jobs.find(id))
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(events, media_type="text/event-stream", headers=headers)


def _explained(answers: Sequence[Answer]) -> bytes:
    answer = answers[0]
    facts = f',"cached":{json.dumps(answer.cached)},"seconds":{answer.seconds:.6f}}}'
    words = b',"told":' + dumps(told(json.loads(answer.body)))
    return b'{"explanation":' + answer.body + words + facts.encode()


def _json(body: bytes, status: int = 200) -> Response:
    return Response(body, status, media_type="application/json")


async def _respond(
    request: Request,
    works: Sequence[Work],
    wait: bool | None,
    finish: Callable[[Sequence[Answer]], bytes],
    job: Job | None = None,
) -> Response:
    """Do the work while the request waits, or start a job for it."""
    engine = engine_of(request)
    if engine.stopped:
        raise Problem("busy", "the server is stopping", status=503)
    if wait is None:
        wait = all(not work.long or engine.known(work) for work in works)
    if job is not None and not wait:

        async def run(job: Job) -> bytes:
            return finish(await together(engine, works, job.tickets))

        started = engine.jobs.start(job, run)
        return _json(b'{"job": ' + started.to_json() + b"}", 202)
    return _json(finish(await _while_connected(request, together(engine, works), engine.settings.timeout)))


async def _while_connected(request: Request, work: Awaitable[list[Answer]], seconds: float) -> list[Answer]:
    """Wait for something as long as somebody is there to be told, and not too long."""
    task, gone = asyncio.ensure_future(work), asyncio.ensure_future(_gone(request))
    try:
        await asyncio.wait((task, gone), timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
        if gone.done():
            raise Problem("cancelled", "the client left before the answer", status=499)
        raise TimeoutError
    finally:
        task.cancel()
        gone.cancel()


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
