"""Metrics: how faithful, how plausible and how true explanations are, and how good the model is.

A metric is a frozen set of options with one verb, ``score``; `evaluate` runs several over several methods and makes
each model call once. `metrics` is the registry of names.
"""

from __future__ import annotations

from saywhy.metrics.accuracy import Accuracy
from saywhy.metrics.aorc import Aorc
from saywhy.metrics.attack_success import AttackSuccess
from saywhy.metrics.auprc import Auprc
from saywhy.metrics.auroc import Auroc
from saywhy.metrics.base import Metric, metrics
from saywhy.metrics.bleu import Bleu
from saywhy.metrics.compactness import Compactness
from saywhy.metrics.comparison import Comparison
from saywhy.metrics.comprehensiveness import Comprehensiveness
from saywhy.metrics.consistency import Consistency
from saywhy.metrics.contiguity import Contiguity
from saywhy.metrics.critic_score import CriticScore, LabelAccuracy
from saywhy.metrics.evaluation import evaluate, expand_metrics
from saywhy.metrics.fidelity import Fidelity
from saywhy.metrics.flip_rate import FlipRate
from saywhy.metrics.important_tokens import ImportantTokens
from saywhy.metrics.inclusion import ExactInc, SoftInc
from saywhy.metrics.inter_rep import InterRep
from saywhy.metrics.iou_f1 import IouF1
from saywhy.metrics.label_follows import LabelFollows
from saywhy.metrics.label_kept import LabelKept
from saywhy.metrics.lipschitz import Lipschitz
from saywhy.metrics.log_odds import LogOdds
from saywhy.metrics.loo_correlation import LooCorrelation
from saywhy.metrics.macro_f1 import MacroF1
from saywhy.metrics.max_f1 import MaxF1
from saywhy.metrics.method_jaccard import MethodJaccard
from saywhy.metrics.model_jaccard import ModelJaccard
from saywhy.metrics.parts import Contributions, Origin, Parts
from saywhy.metrics.perplexity import Perplexity
from saywhy.metrics.rationale_accuracy import RationaleAccuracy
from saywhy.metrics.rationale_cross_entropy import RationaleCrossEntropy
from saywhy.metrics.sensitivity import Sensitivity
from saywhy.metrics.sentences import human_sentences
from saywhy.metrics.similarity import Similarity
from saywhy.metrics.simulatability import Simulatability
from saywhy.metrics.sufficiency import Sufficiency
from saywhy.metrics.table import EvaluationTable
from saywhy.metrics.token_overlap import TokenF1, TokenPrecision, TokenRecall
from saywhy.metrics.trial import Trial, Workbench
from saywhy.metrics.truth import Truth

__all__ = [
    "Accuracy",
    "Aorc",
    "AttackSuccess",
    "Auprc",
    "Auroc",
    "Bleu",
    "Compactness",
    "Comparison",
    "Comprehensiveness",
    "Consistency",
    "Contiguity",
    "Contributions",
    "CriticScore",
    "EvaluationTable",
    "ExactInc",
    "Fidelity",
    "FlipRate",
    "ImportantTokens",
    "InterRep",
    "IouF1",
    "LabelAccuracy",
    "LabelFollows",
    "LabelKept",
    "Lipschitz",
    "LogOdds",
    "LooCorrelation",
    "MacroF1",
    "MaxF1",
    "MethodJaccard",
    "Metric",
    "ModelJaccard",
    "Origin",
    "Parts",
    "Perplexity",
    "RationaleAccuracy",
    "RationaleCrossEntropy",
    "Sensitivity",
    "Similarity",
    "Simulatability",
    "SoftInc",
    "Sufficiency",
    "TokenF1",
    "TokenPrecision",
    "TokenRecall",
    "Trial",
    "Truth",
    "Workbench",
    "evaluate",
    "expand_metrics",
    "human_sentences",
    "metrics",
]
