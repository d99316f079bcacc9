"""Studies: grids of runs in one file, every cell done once, on one machine or on Ray."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from saywhy.studies.bulk import BulkResult, explain_many
    from saywhy.studies.explanations import read_explanations
    from saywhy.studies.run import StudyResult, plan_study, run_study
    from saywhy.studies.schema import Study, StudyError, read_study
    from saywhy.studies.table import Row, StudyTable

__all__ = [
    "BulkResult",
    "Row",
    "Study",
    "StudyError",
    "StudyResult",
    "StudyTable",
    "explain_many",
    "plan_study",
    "read_explanations",
    "read_study",
    "run_study",
]

# Looked up on first use, so that `engines` can start the workers' imports before this process begins its own.
_HOMES = {
    "BulkResult": "bulk",
    "Row": "table",
    "Study": "schema",
    "StudyError": "schema",
    "StudyResult": "run",
    "StudyTable": "table",
    "explain_many": "bulk",
    "plan_study": "run",
    "read_explanations": "explanations",
    "read_study": "schema",
    "run_study": "run",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'saywhy.studies' has no attribute {name!r}")
    return getattr(importlib.import_module(f"saywhy.studies.{_HOMES[name]}"), name)
