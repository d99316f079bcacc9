"""What requests look like, for validation and for the OpenAPI schema; answers for the schema only."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

__all__ = [
    "CompareBody",
    "CounterfactualBody",
    "ErrorAnswer",
    "ErrorFacts",
    "EvaluateBody",
    "ExplainBody",
    "ExportBody",
    "InputBody",
    "JobAnswer",
    "JobFacts",
    "PredictBody",
    "Progress",
    "VerdictBody",
]

Name = Annotated[str, Field(min_length=1, max_length=200)]
Text = Annotated[str, Field(max_length=1_000_000)]
Label = Annotated[str, Field(max_length=100_000)] | Annotated[int, Field(ge=-1000, le=1000)] | None
Number = Annotated[float, Field(allow_inf_nan=False)]
Scalar = bool | int | Number | Annotated[str, Field(max_length=200)] | None
Options = Annotated[dict[Name, Scalar], Field(max_length=30)]
Seed = Annotated[int, Field(ge=0, lt=2**32)]
Words = Annotated[list[Annotated[int, Field(ge=0, lt=1_000_000)]], Field(max_length=100_000)]


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class InputBody(_Body):
    """One text, a pair of texts, or a question with choices."""

    texts: Annotated[list[Text], Field(min_length=1, max_length=2)]
    choices: Annotated[list[Text], Field(max_length=1000)] = []


class PredictBody(_Body):
    """Ask the model, with some words removed: those of ``remove``, or all but those of ``keep``."""

    model: Name
    input: InputBody
    remove: Words | None = None
    keep: Words | None = None
    erasure: Name | None = None


class VerdictBody(_Body):
    """How an explanation is checked; see `saywhy.explainers.verdict.VerdictOptions`."""

    top: Annotated[float, Field(gt=0, le=1)] = 0.2
    draws: Annotated[int, Field(ge=1, le=100)] = 10
    seeds: Annotated[int, Field(ge=0, le=10)] = 0


class _How(_Body):
    method: Name = "auto"
    options: Options = {}
    target: Label = None
    against: Label = None
    seed: Seed = 0
    verdict: bool | VerdictBody = True
    truncation: Literal["error", "head", "window"] = "head"
    wait: bool | None = None
    """False: as a job. True: not as a job. None: as a job where it takes long."""


class ExplainBody(_How):
    """Explain a prediction by one method."""

    model: Name
    input: InputBody


class CompareBody(_How):
    """Explain the same input for two models."""

    models: Annotated[list[Name], Field(min_length=2, max_length=2)]
    input: InputBody


class EvaluateBody(_Body):
    """Measure explanations of one input, beside random ones."""

    model: Name
    input: InputBody
    methods: Annotated[list[Name], Field(min_length=1, max_length=10)]
    metrics: Annotated[list[Name], Field(min_length=1, max_length=20)] = ["sufficiency", "comprehensiveness"]
    space: Literal["words", "alignments"] = "words"
    seed: Seed = 0
    wait: bool | None = None


class CounterfactualBody(_Body):
    """Find the fewest words to remove, or to replace, that turn the prediction."""

    model: Name
    input: InputBody
    target: Label = None
    replace: Annotated[list[Name], Field(max_length=50)] = []
    budget: Annotated[int, Field(ge=1, le=20_000)] = 2000
    wait: bool | None = None


class ExportBody(_Body):
    """Explanations, as they came, for a page that opens offline."""

    explanations: Annotated[list[dict[str, Any]], Field(min_length=1, max_length=100)]
    title: Annotated[str, Field(min_length=1, max_length=200)] = "Why the model says so"


class ErrorFacts(BaseModel):
    """What was wrong."""

    kind: Literal["input", "limit", "not-found", "busy", "timeout", "cancelled", "unauthorised", "internal"]
    message: str
    field: str | None


class ErrorAnswer(BaseModel):
    """Every error has this shape."""

    error: ErrorFacts


class Progress(BaseModel):
    """How far a job is: model calls so far, seconds, and the share that is done where that can be guessed."""

    calls: int
    seconds: float
    fraction: float | None


class JobFacts(BaseModel):
    """A job."""

    id: str
    kind: str
    state: Literal["queued", "running", "done", "failed", "cancelled"]
    progress: Progress
    method: str
    model: str
    created: float
    result: dict[str, Any] | None
    error: ErrorFacts | None


class JobAnswer(BaseModel):
    """A job that was started, looked at or cancelled."""

    job: JobFacts
