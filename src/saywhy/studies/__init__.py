"""Studies: grids of runs in one file, every cell done once, on one machine or on Ray."""

from __future__ import annotations

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
