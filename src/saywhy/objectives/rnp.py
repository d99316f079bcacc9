"""RNP: rationalizing neural predictions."""

from __future__ import annotations

from saywhy.objectives.base import objectives
from saywhy.objectives.rationalization import Rationalization

__all__ = ["Rnp"]


@objectives.register("rnp", family="rationalisation", tasks=Rationalization.tasks, paper="Lei et al. 2016; VER")
class Rnp(Rationalization):
    """A selector draws words, a predictor reads them, and both minimise its cross-entropy: the plain game.

    Reference: Lei, Barzilay, Jaakkola: Rationalizing Neural Predictions, EMNLP 2016; VER, equations 3 and 4.

    Departures: words are drawn by the straight-through Gumbel-softmax, as in VER's code, instead of by REINFORCE.

    Example:
        >>> saywhy.train("rnp", data="composed", model_options={"glove": "glove"}, out="runs/rnp")  # doctest: +SKIP
    """
