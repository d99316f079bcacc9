"""The lime package's text explainer."""

from __future__ import annotations

from typing import Any

import numpy as np
from lime.lime_text import IndexedString, LimeTextExplainer
from sklearn.linear_model import Ridge

from saywhy.benchmarks.peers.classifier import Classifier
from saywhy.benchmarks.workers import Handlers, serve, timed

__all__ = ["open_desk"]


def open_desk(folder: str) -> Handlers:
    """The jobs of this worker."""
    model = Classifier(folder)

    def explain(text: int, samples: int, erasure: str, seed: int, alpha: float) -> dict[str, Any]:
        """Coefficients of all words as lime splits them.

        Its default (``bow``) deletes all occurrences of a word; with ``bow=False`` it puts a mask string in. The mask
        token is one piece, the default ``UNKWORDZ`` four. ``alpha`` is the ridge, 1 by default.
        """
        item = model.items[text]
        bow = erasure == "delete"

        def run() -> list[tuple[int, float]]:
            explainer = LimeTextExplainer(bow=bow, mask_string=model.tokenizer.mask_token, random_state=seed)
            made = explainer.explain_instance(
                item.text,
                model.probabilities,
                labels=(item.target,),
                num_features=10_000,
                num_samples=samples,
                model_regressor=Ridge(alpha=alpha, fit_intercept=True, random_state=seed),
            )
            found: list[tuple[int, float]] = made.as_map()[item.target]
            return found

        found, seconds = timed(run)
        words = np.zeros(IndexedString(item.text, bow=bow).num_words())
        for place, value in found:
            words[place] = value
        return {"seconds": seconds, "scores": words.tolist(), "forwards": samples}

    return {"texts": model.take, "lime": explain}


if __name__ == "__main__":
    serve(open_desk)
