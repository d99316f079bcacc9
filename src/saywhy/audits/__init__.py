"""The auditor's tools: what people do with explanations once they have them."""

from __future__ import annotations

from saywhy.audits.battery import Outcome, SanityReport, sanity
from saywhy.audits.corpus import Decider, Errors, Overview, overview
from saywhy.audits.counterfactuals import Change, Counterfactual, counterfactual
from saywhy.audits.difference import Difference, Role, Turned, diff
from saywhy.audits.gate import Checked, CheckReport, check
from saywhy.audits.requirements import Requirement, read_requirement
from saywhy.audits.shortcuts import Candidate

__all__ = [
    "Candidate",
    "Change",
    "CheckReport",
    "Checked",
    "Counterfactual",
    "Decider",
    "Difference",
    "Errors",
    "Outcome",
    "Overview",
    "Requirement",
    "Role",
    "SanityReport",
    "Turned",
    "check",
    "counterfactual",
    "diff",
    "overview",
    "read_requirement",
    "sanity",
]
