"""The shap package's Kernel SHAP."""

from __future__ import annotations

from typing import Any

import numpy as np
import shap
import torch

from saywhy.benchmarks.peers.classifier import BATCH, Classifier, Item
from saywhy.benchmarks.workers import Handlers, serve, timed

__all__ = ["open_desk"]


def open_desk(folder: str) -> Handlers:
    """The jobs of this worker."""
    model = Classifier(folder)

    def value(item: Item, erasure: str) -> Any:
        """From masks N x F to the target's probability, as a user of shap writes it for text."""
        ids, word = model.pieces(item)
        row = ids[0].numpy()

        def masked(keep: np.ndarray) -> np.ndarray:
            pieces = (word < 0) | (keep[:, np.maximum(word, 0)] > 0)
            parts = []
            with torch.inference_mode():
                for start in range(0, len(keep), BATCH):
                    part = pieces[start : start + BATCH]
                    if erasure == "mask-token":
                        rows = torch.from_numpy(np.where(part, row, model.tokenizer.mask_token_id))
                        inputs = {"input_ids": rows, "attention_mask": torch.ones_like(rows)}
                    else:
                        inputs = model.tokenizer.pad(
                            {"input_ids": [row[kept].tolist() for kept in part]}, return_tensors="pt"
                        )
                    parts.append(model.network(**inputs).logits.softmax(-1)[:, item.target])
            return torch.cat(parts).double().numpy()

        return masked

    def explain(text: int, samples: int, erasure: str, seed: int) -> dict[str, Any]:
        """Shapley values of all words: ``l1_reg`` is off, because by default shap keeps ten features only."""
        item = model.items[text]
        count = len(item.words)

        def run() -> np.ndarray:
            np.random.seed(seed)  # noqa: NPY002 - shap draws from the global generator
            explainer = shap.KernelExplainer(value(item, erasure), np.zeros((1, count)))
            return np.asarray(explainer.shap_values(np.ones((1, count)), nsamples=samples, l1_reg=0, silent=True))

        words, seconds = timed(run)
        return {"seconds": seconds, "scores": words.reshape(-1).tolist(), "forwards": samples + 2}

    return {"texts": model.take, "kernel-shap": explain}


if __name__ == "__main__":
    serve(open_desk)
