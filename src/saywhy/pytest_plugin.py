"""A plugin for pytest: ``assert_faithful`` as a fixture, so that explanations can be tested like anything else."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

__all__ = ["assert_faithful", "faithful"]


def faithful(
    model: Any,
    examples: Any,
    method: str = "auto",
    *,
    require: str | Iterable[str] = ("sufficiency>random", "comprehensiveness>random"),
    **options: Any,
) -> None:
    """Fail, with what was measured, unless a method's explanations of a model meet the requirements.

    Args:
        model: anything `saywhy.load` takes.
        examples: a dataset's name or file, or examples.
        method: whose explanations.
        require: as for `saywhy.check`; by default to do better than random words at both ERASER's questions.
        options: of `saywhy.check`.
    """
    __tracebackhide__ = True
    from saywhy.audits.gate import check

    report = check(model, examples, require, method, **options)
    if not report:
        pytest.fail(f"the explanations do not meet what is required of them\n{report}", pytrace=False)


@pytest.fixture
def assert_faithful() -> Callable[..., None]:
    """The function `faithful`: ``assert_faithful(model, examples, "lime", require=["sufficiency>=0.6"])``."""
    return faithful
