"""What models are trained for: phases of players and losses, one file an objective."""

from __future__ import annotations

from saywhy.objectives import (  # noqa: F401 - they register themselves
    a2i,
    a2r,
    cage,
    cr,
    diffmask,
    dmr,
    e_infersent,
    fr,
    fresh,
    inter_rat,
    invrat,
    ivra,
    mpii,
    nir,
    plain,
    random_masks,
    regex,
    rnp,
    smat,
    transformer_mlp,
    ver,
)
from saywhy.objectives.base import Objective, TrainingBatch, accuracy, objectives
from saywhy.objectives.training import train

__all__ = ["Objective", "TrainingBatch", "accuracy", "objectives", "train"]
