"""The auditor's tools: what people do with explanations once they have them."""

from __future__ import annotations

from saywhy.audits.check import Checked, CheckReport, check
from saywhy.audits.counterfactual import Change, Counterfactual, counterfactual
from saywhy.audits.requirements import Requirement, read_requirement

__all__ = [
    "Change",
    "CheckReport",
    "Checked",
    "Counterfactual",
    "Requirement",
    "check",
    "counterfactual",
    "read_requirement",
]
