"""The one training loop: players, phases, exact resume."""

from __future__ import annotations

from saywhy.loop.batches import BatchOrder
from saywhy.loop.checkpoint import CheckpointFolder
from saywhy.loop.estimate import Estimate, estimate
from saywhy.loop.fit import FitResult, checkpoint_folder, close_run, fit
from saywhy.loop.objective import LoopObjective, Loss, Phase, Step
from saywhy.loop.optimisers import OptimiserSettings
from saywhy.loop.records import read_run, write_run
from saywhy.loop.settings import LoopSettings
from saywhy.ops.randomness import derive_seed, global_seed, numpy_generator, torch_generator

__all__ = [
    "BatchOrder",
    "CheckpointFolder",
    "Estimate",
    "FitResult",
    "LoopObjective",
    "LoopSettings",
    "Loss",
    "OptimiserSettings",
    "Phase",
    "Step",
    "checkpoint_folder",
    "close_run",
    "derive_seed",
    "estimate",
    "fit",
    "global_seed",
    "numpy_generator",
    "read_run",
    "torch_generator",
    "write_run",
]
