"""What models are trained for: phases of players and losses, one file an objective."""

from __future__ import annotations

from saywhy.objectives import fresh, ivra, mpii, plain, regex, rnp, smat, ver  # noqa: F401 - they register themselves
from saywhy.objectives.base import Objective, TrainingBatch, accuracy, objectives
from saywhy.objectives.training import train

__all__ = ["Objective", "TrainingBatch", "accuracy", "objectives", "train"]
