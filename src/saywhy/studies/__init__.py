"""Studies: grids of runs in one file, every cell done once, on one machine or on Ray."""

from __future__ import annotations

from typing import TYPE_CHECKING

from saywhy.lazy import lazy_names

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
    "BulkResult": "saywhy.studies.bulk",
    "Row": "saywhy.studies.table",
    "Study": "saywhy.studies.schema",
    "StudyError": "saywhy.studies.schema",
    "StudyResult": "saywhy.studies.run",
    "StudyTable": "saywhy.studies.table",
    "explain_many": "saywhy.studies.bulk",
    "plan_study": "saywhy.studies.run",
    "read_explanations": "saywhy.studies.explanations",
    "read_study": "saywhy.studies.schema",
    "run_study": "saywhy.studies.run",
}


__getattr__ = lazy_names(__name__, _HOMES)
