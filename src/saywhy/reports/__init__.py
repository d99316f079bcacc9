"""Pages, tables and plots for people: one HTML file that opens offline.

Example:
    >>> from saywhy.reports import report
    >>> report("Demo", explanations=[], results=[]).write("report.html")      # doctest: +SKIP
"""

from __future__ import annotations

from saywhy.reports.page import Report, Shown, examples_page, explanations_page, report, write_page
from saywhy.reports.table import arrange, findings

__all__ = [
    "Report",
    "Shown",
    "arrange",
    "examples_page",
    "explanations_page",
    "findings",
    "report",
    "write_page",
]
