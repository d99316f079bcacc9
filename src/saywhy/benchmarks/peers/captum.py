"""Captum's gradient, input times gradient, integrated gradients and feature ablation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import captum.attr
import numpy as np
import torch
from torch import Tensor

from saywhy.benchmarks.peers.classifier import BATCH, Classifier, Item
from saywhy.benchmarks.workers import Handlers, serve, timed

__all__ = ["open_desk"]


def open_desk(folder: str) -> Handlers:
    """The jobs of this worker."""
    model = Classifier(folder)

    def on_embeddings(item: Item) -> tuple[Callable[[Tensor], Tensor], Tensor, Tensor, np.ndarray]:
        """The network as a function of its embeddings, these, the baseline that keeps special tokens, and the words."""
        ids, word = model.pieces(item)
        with torch.no_grad():
            embeddings = model.network.get_input_embeddings()(ids)
        mask = torch.ones_like(ids)

        def forward(points: Tensor) -> Tensor:
            return model.network(inputs_embeds=points, attention_mask=mask.expand(len(points), -1)).logits

        return forward, embeddings, embeddings * torch.from_numpy(word < 0)[None, :, None], word

    def run(kind: Any, item: Item, **options: Any) -> dict[str, Any]:
        def attribute() -> np.ndarray:
            forward, embeddings, baseline, word = on_embeddings(item)
            given = {"baselines": baseline, **options} if options else {}
            scores = kind(forward).attribute(embeddings, target=item.target, **given)
            by_piece = scores.sum(-1)[0].detach().double().numpy()
            words = np.zeros(len(item.words))
            np.add.at(words, word[word >= 0], by_piece[word >= 0])
            return words

        words, seconds = timed(attribute)
        return {"seconds": seconds, "scores": words.tolist()}

    def gradient(text: int) -> dict[str, Any]:
        return run(captum.attr.Saliency, model.items[text])

    def input_x_gradient(text: int) -> dict[str, Any]:
        return run(captum.attr.InputXGradient, model.items[text])

    def integrated_gradients(text: int, points: int) -> dict[str, Any]:
        """With Captum's default rule (Gauss-Legendre), and how far the scores miss the gain, which is not timed."""
        item = model.items[text]
        made = run(captum.attr.IntegratedGradients, item, n_steps=points, internal_batch_size=BATCH)
        forward, embeddings, baseline, _ = on_embeddings(item)
        with torch.no_grad():
            start, end = forward(torch.cat([baseline, embeddings]))[:, item.target].tolist()
        error = abs(sum(made["scores"]) - (end - start)) / max(abs(end - start), 1e-12)
        return {**made, "error": error, "gradients": points}

    def leave_one_out(text: int) -> dict[str, Any]:
        item = model.items[text]

        def attribute() -> np.ndarray:
            ids, word = model.pieces(item)
            groups = torch.from_numpy(word + 1)[None]

            def forward(rows: Tensor) -> Tensor:
                return model.network(input_ids=rows, attention_mask=torch.ones_like(rows)).logits.softmax(-1)

            with torch.inference_mode():
                scores = captum.attr.FeatureAblation(forward).attribute(
                    ids,
                    torch.where(groups > 0, model.tokenizer.mask_token_id, ids),
                    target=item.target,
                    feature_mask=groups,
                    perturbations_per_eval=BATCH,
                )[0]
            first = [int(np.flatnonzero(word == n)[0]) for n in range(len(item.words))]
            return scores.double().numpy()[first]

        words, seconds = timed(attribute)
        return {"seconds": seconds, "scores": words.tolist()}

    return {
        "texts": model.take,
        "gradient": gradient,
        "input-x-gradient": input_x_gradient,
        "integrated-gradients": integrated_gradients,
        "leave-one-out": leave_one_out,
    }


if __name__ == "__main__":
    serve(open_desk)
