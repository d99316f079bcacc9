"""What can go wrong with a request, as one JSON object with one shape."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from saywhy.errors import SayWhyError, TooLongError

__all__ = ["KINDS", "Problem", "as_problem"]

KINDS = {
    "input": 422,
    "limit": 422,
    "not-found": 404,
    "busy": 429,
    "timeout": 504,
    "cancelled": 409,
    "unauthorised": 401,
    "internal": 500,
}
"""Kinds of problems with their usual status."""


class Problem(Exception):  # noqa: N818 - the errors are in it
    """A request that gets no result.

    Args:
        kind: one of ``KINDS``.
        message: what was wrong and what to do.
        field: the part of the request that is to blame.
        status: of the answer; that of the kind if None.
        headers: that go with it.
    """

    def __init__(
        self,
        kind: str,
        message: str,
        field: str | None = None,
        *,
        status: int | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.kind, self.message, self.field = kind, message, field
        self.status = KINDS[kind] if status is None else status
        self.headers = dict(headers or {})
        if kind == "busy":
            self.headers.setdefault("Retry-After", "1")

    def to_dict(self) -> dict[str, Any]:
        """As it stands in a job and, under ``error``, in an answer."""
        return {"kind": self.kind, "message": self.message, "field": self.field}

    def response(self) -> Response:
        """The answer."""
        # Escaped to ASCII: a message may quote half of a surrogate pair, which UTF-8 has no bytes for.
        body = json.dumps({"error": self.to_dict()})
        return Response(body, self.status, self.headers, "application/json")


def as_problem(error: BaseException, field: str | None = None) -> Problem:
    """Any error as a problem; what is no mistake of the user's does not show its inside."""
    if isinstance(error, Problem):
        return error
    if isinstance(error, TooLongError):
        return Problem("limit", str(error), field or "input")
    if isinstance(error, SayWhyError):
        return Problem("input", str(error), field)
    if isinstance(error, TimeoutError):
        return Problem("timeout", "it took too long and was stopped; ask for less, or run it as a job")
    return Problem("internal", f"the server failed ({type(error).__name__}); its log says where")
