"""Transformer + MLP: one encoder, a label and a sentence that know nothing of each other."""

from __future__ import annotations

from typing import Any

from saywhy.loop import OptimiserSettings
from saywhy.models import TextModel
from saywhy.objectives.base import objectives
from saywhy.objectives.explaining import Explaining
from saywhy.objectives.mpii import Mpii

__all__ = ["TransformerMlp"]


@objectives.register("transformer-mlp", family="sentences", tasks=Explaining.tasks, paper="MPII, section 3.2")
class TransformerMlp(Mpii):
    """MPII's baseline: the same encoder and decoder with both gates shut, so that neither output helps the other.

    Reference: MPII, section 3.2. The label comes from layers on the first state, the sentence from a plain decoder,
    whose words are all learned at once.

    Args:
        model: an ``mpii`` network, whose ``integration`` is set to ``none``.
        optimiser: how it is optimised.
        options: of `Mpii`.

    Example:
        >>> model = saywhy.train("transformer-mlp", data="esnli")                              # doctest: +SKIP
    """

    def __init__(self, model: TextModel, optimiser: OptimiserSettings, **options: Any) -> None:
        super().__init__(model, optimiser, **options)
        self.speaker.config.integration = self.speaker.integration.integration = "none"
        # There is one label only: the final one is the first.
        self.start_weight = 0.0
