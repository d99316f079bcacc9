"""FR: one encoder for both players."""

from __future__ import annotations

from typing import Any

from saywhy.loop import OptimiserSettings
from saywhy.models import TextModel
from saywhy.objectives.base import objectives
from saywhy.objectives.rationalization import Rationalization

__all__ = ["Fr"]


@objectives.register("fr", family="rationalisation", tasks=Rationalization.tasks, paper="Liu et al. 2022")
class Fr(Rationalization):
    """RNP with one encoder for selector and predictor, so that neither can learn a code the other does not share.

    Reference: Liu et al.: FR: Folded Rationalization with a Unified Encoder, NeurIPS 2022, section 4.

    Departures: the layer norm belongs to the selector's head; the predictor pools the encoder's states themselves.

    Args:
        model: a rationalizer; its selector gives up its own encoder.
        optimiser: of both.
        options: as for `saywhy.objectives.rationalization.Rationalization`.
    """

    def __init__(self, model: TextModel, optimiser: OptimiserSettings, **options: Any) -> None:
        super().__init__(model, optimiser, **options)
        self.rationalizer.share_encoder()
