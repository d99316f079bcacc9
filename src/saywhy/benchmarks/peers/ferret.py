"""ferret's evaluators of faithfulness."""

from __future__ import annotations

from typing import Any

import numpy as np
from ferret.evaluators.faithfulness_measures import (
    AOPC_Comprehensiveness_Evaluation,
    AOPC_Sufficiency_Evaluation,
    TauLOO_Evaluation,
)
from ferret.explainers.explanation import Explanation

from saywhy.benchmarks.peers.classifier import Classifier
from saywhy.benchmarks.workers import Handlers, serve, timed

__all__ = ["open_desk"]


def open_desk(folder: str) -> Handlers:
    """The jobs of this worker."""
    model = Classifier(folder)
    kinds = {
        "comprehensiveness": AOPC_Comprehensiveness_Evaluation,
        "sufficiency": AOPC_Sufficiency_Evaluation,
        "loo-correlation": TauLOO_Evaluation,
    }
    evaluators = {name: kind(model.network, model.tokenizer) for name, kind in kinds.items()}

    def faithfulness(text: int, scores: list[float], bins: list[float], metrics: list[str]) -> dict[str, Any]:
        """Metrics of one explanation.

        A word's score is put on each of its pieces, as ferret ranks pieces. All scores are made positive, which keeps
        their order: ferret leaves negative ones out, and with numpy 2 it fails when asked not to.
        """
        item = model.items[text]
        ids, word = model.pieces(item)
        positive = np.asarray(scores) - min(scores) + 1.0
        by_piece = np.where(word < 0, 0.0, positive[np.maximum(word, 0)])
        tokens: Any = model.tokenizer.convert_ids_to_tokens(ids[0].tolist())
        explanation = Explanation(item.text, tokens, by_piece, "given", item.target)
        how = {"removal_args": {"remove_tokens": True, "based_on": "perc", "thresholds": bins}}
        made, seconds = timed(
            lambda: [evaluators[m].compute_evaluation(explanation, item.target, **how).score for m in metrics]
        )
        return {"seconds": seconds, "scores": [float(v) for v in made]}

    return {"texts": model.take, "faithfulness": faithfulness}


if __name__ == "__main__":
    serve(open_desk)
