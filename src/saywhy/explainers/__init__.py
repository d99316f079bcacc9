"""Explainers: one file a method, one verb, `explain`."""

from saywhy.explainers.arec import Arec
from saywhy.explainers.attention import Attention
from saywhy.explainers.auto import Auto
from saywhy.explainers.back_select import BackSelect
from saywhy.explainers.base import Explainer, Request, methods
from saywhy.explainers.co_attention import CoAttention
from saywhy.explainers.deeplift import DeepLift
from saywhy.explainers.diffmask import DiffMask
from saywhy.explainers.gradient import Gradient
from saywhy.explainers.input_x_gradient import InputXGradient
from saywhy.explainers.integrated_gradients import IntegratedGradients
from saywhy.explainers.interaction import Interaction
from saywhy.explainers.ivra import Ivra
from saywhy.explainers.kernel_shap import KernelShap
from saywhy.explainers.leave_one_out import LeaveOneOut
from saywhy.explainers.lime import Lime
from saywhy.explainers.occlusion import Occlusion
from saywhy.explainers.random import Random
from saywhy.explainers.rationale import Rationale
from saywhy.explainers.run import explain
from saywhy.explainers.saliency_selector import SaliencySelector
from saywhy.explainers.scaled_attention import ScaledAttention
from saywhy.explainers.sentence import Sentence
from saywhy.explainers.shapley import Shapley
from saywhy.explainers.smat import Smat
from saywhy.explainers.verdict import VerdictOptions

__all__ = [
    "Arec",
    "Attention",
    "Auto",
    "BackSelect",
    "CoAttention",
    "DeepLift",
    "DiffMask",
    "Explainer",
    "Gradient",
    "InputXGradient",
    "IntegratedGradients",
    "Interaction",
    "Ivra",
    "KernelShap",
    "LeaveOneOut",
    "Lime",
    "Occlusion",
    "Random",
    "Rationale",
    "Request",
    "SaliencySelector",
    "ScaledAttention",
    "Sentence",
    "Shapley",
    "Smat",
    "VerdictOptions",
    "explain",
    "methods",
]
