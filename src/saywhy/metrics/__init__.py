"""Metrics: how faithful, how plausible and how true explanations are, and how good the model is.

A metric is a frozen set of options with one verb, ``score``; `evaluate` runs several over several methods and makes
each model call once. `metrics` is the registry of names.
"""

from __future__ import annotations

from saywhy.metrics.accuracy import Accuracy
from saywhy.metrics.auprc import Auprc
from saywhy.metrics.auroc import Auroc
from saywhy.metrics.base import Metric, metrics
from saywhy.metrics.comprehensiveness import Comprehensiveness
from saywhy.metrics.evaluation import evaluate, expand_metrics
from saywhy.metrics.iou_f1 import IouF1
from saywhy.metrics.macro_f1 import MacroF1
from saywhy.metrics.sufficiency import Sufficiency
from saywhy.metrics.table import EvaluationTable
from saywhy.metrics.token_overlap import TokenF1, TokenPrecision, TokenRecall
from saywhy.metrics.trial import Trial, Workbench
from saywhy.metrics.truth import Truth

__all__ = [
    "Accuracy",
    "Auprc",
    "Auroc",
    "Comprehensiveness",
    "EvaluationTable",
    "IouF1",
    "MacroF1",
    "Metric",
    "Sufficiency",
    "TokenF1",
    "TokenPrecision",
    "TokenRecall",
    "Trial",
    "Truth",
    "Workbench",
    "evaluate",
    "expand_metrics",
    "metrics",
]
