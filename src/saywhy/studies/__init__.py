"""Studies: grids of runs in one file, every cell done once, on one machine or on Ray."""

from __future__ import annotations

from saywhy.studies.run import StudyResult, plan_study, run_study
from saywhy.studies.schema import Study, StudyError, read_study
from saywhy.studies.table import Row, StudyTable

__all__ = ["Row", "Study", "StudyError", "StudyResult", "StudyTable", "plan_study", "read_study", "run_study"]
