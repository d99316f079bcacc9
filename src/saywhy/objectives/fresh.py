"""FRESH: a classifier that reads nothing but the words an attribution of another model selects."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, ClassVar

from saywhy.errors import OptionError
from saywhy.explainers.saliency_selector import SaliencySelector
from saywhy.loop import OptimiserSettings
from saywhy.models import TextModel, load
from saywhy.objectives.base import objectives
from saywhy.objectives.plain import Plain

__all__ = ["Fresh"]


@objectives.register("fresh", family="rationalisation", tasks=("text", "pair", "choices"), paper="Jain et al. 2020")
class Fresh(Plain):
    """Select, then predict: a support model's saliency selects words, and the model is trained on these alone.

    What is trained is a model of whole texts all the same: it carries the selector along, so that ``predict``,
    ``explain`` and ``evaluate`` select first, and every word it can have used is in the selection. The words stay in
    the order of the text.

    Reference: Jain, Wiegreffe, Pinter, Wallace: Learning to Faithfully Rationalize by Construction, ACL 2020,
    section 3; REGEX, section 4.3 and Table 2 (shares of 20 % for SST and Amazon, 2 % for IMDb, 10 % for Yelp).

    Departures: the extractor is the thresholded saliency itself (Jain et al. also train a tagger to imitate it). The
    scripts behind REGEX's table join the words in the order of their scores; that loses the order of the text.

    Args:
        model: the model.
        optimiser: how it is optimised.
        support: the model that is explained: a folder, or anything `saywhy.load` takes.
        method: that scores the words.
        top: share of the words to select, rounded up.
        contiguous: select the best run of words instead of the best words.
        method_options: of the method.

    Example:
        >>> saywhy.train("fresh", data="sst2", model="minilm", support="runs/sst2", top=0.2)    # doctest: +SKIP
    """

    tasks: ClassVar[tuple[str, ...]] = ("text", "pair", "choices")
    models: ClassVar[tuple[str, ...]] = ("support",)

    def __init__(
        self,
        model: TextModel,
        optimiser: OptimiserSettings,
        *,
        support: str | os.PathLike[str] | TextModel | None = None,
        method: str = "scaled-attention",
        top: float = 0.2,
        contiguous: bool = False,
        method_options: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(model, optimiser)
        if support is None:
            raise OptionError("fresh needs a trained model whose saliency selects the words: support=FOLDER")
        explained = load(support)
        if explained.splitter != model.splitter:
            raise OptionError(f"the support model cuts words by {explained.splitter!r}, this one by {model.splitter!r}")
        model.selector = SaliencySelector(
            explained, method, top=top, contiguous=contiguous, method_options=method_options
        )
