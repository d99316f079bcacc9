"""Gradient calls for integrated gradients at 1 % completeness error: saywhy and Captum on the same function and path.

How many points does Captum's default rule need so that 90 % of the sentences are within 1 %, and how many gradients
does saywhy spend per sentence to get there? Also: how far are both from a reference with 500 points (L1, relative)?

    python benchmarks/completeness.py MODEL [--data sst2] [--split test] [--limit 100] [--json FILE]

MODEL is a trained classifier, such as `saywhy train plain --data sst2 --model minilm` makes it.
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import captum.attr as ca
import numpy as np
import torch

import saywhy
from saywhy.models.embedding_door import look_up, replace_embeddings

COUNTS = (10, 15, 20, 25, 30, 35, 40, 50)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--data", default="sst2")
    parser.add_argument("--split", default="test")
    parser.add_argument("--limit", type=int, default=100)
    parser.add_argument("--tolerance", type=float, default=0.01)
    parser.add_argument("--reference", type=int, default=500)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    model = saywhy.load(arguments.model)
    examples = saywhy.load_dataset(arguments.data, split=arguments.split, limit=arguments.limit, seed=1)
    ours = saywhy.explain(model, examples, "integrated-gradients", tolerance=arguments.tolerance)
    reference = saywhy.explain(model, examples, "integrated-gradients", points=arguments.reference)

    def distance(scores: np.ndarray, number: int) -> float:
        exact = np.asarray(reference[number].scores)
        return float(np.abs(scores - exact).sum() / np.abs(exact).sum())

    rows = [
        {
            "tool": "saywhy",
            "points": float(np.mean([why.cost["gradients"] for why in ours])),
            "error_median": float(np.median([why.error for why in ours])),
            "error_p90": float(np.quantile([why.error for why in ours], 0.9)),
            "within": float(np.mean([why.error <= arguments.tolerance for why in ours])),
            "distance_p90": float(np.quantile([distance(np.asarray(w.scores), i) for i, w in enumerate(ours)], 0.9)),
        }
    ]
    for count in COUNTS:
        errors, far = [], []
        for i, item in enumerate(model.encode(examples)):
            row = item.rows[0]
            ids = torch.from_numpy(row.ids)[None]
            embeddings = look_up(model.module, ids).detach()
            start = embeddings * torch.from_numpy(~row.pieces.owned())[None, :, None]
            target = model.labels.index(ours[i].target)

            def forward(points: torch.Tensor, ids: torch.Tensor = ids) -> torch.Tensor:
                many = ids.expand(len(points), -1)
                with replace_embeddings(model.module, many, points):
                    return model.module(input_ids=many, attention_mask=torch.ones_like(many)).logits

            with torch.no_grad():
                ends = forward(torch.cat([start, embeddings]))[:, target]
            scores = ca.IntegratedGradients(forward).attribute(
                embeddings, start, target=target, n_steps=count, internal_batch_size=50
            )
            pieces = scores.sum(-1)[0].detach().numpy()
            gain = float(ends[1] - ends[0])
            errors.append(abs(float(pieces.sum()) - gain) / abs(gain))
            far.append(distance(row.pieces.word_scores(pieces), i))
        rows.append(
            {
                "tool": "captum",
                "points": float(count),
                "error_median": float(np.median(errors)),
                "error_p90": float(np.quantile(errors, 0.9)),
                "within": float(np.mean(np.asarray(errors) <= arguments.tolerance)),
                "distance_p90": float(np.quantile(far, 0.9)),
            }
        )
    print(f"{len(examples)} {arguments.split} sentences of {arguments.data}; error is the completeness error")
    print(f"{'tool':8}{'gradients':>10}{'median':>9}{'p90':>9}{'within 1 %':>12}{'L1 to reference, p90':>22}")
    for row in rows:
        print(
            f"{row['tool']:8}{row['points']:10.1f}{row['error_median']:9.4f}{row['error_p90']:9.4f}"
            f"{row['within']:12.2f}{row['distance_p90']:22.4f}"
        )
    enough = next((r["points"] for r in rows[1:] if r["within"] >= 0.9), None)
    if enough:
        spent = rows[0]["points"]
        print(f"Captum needs {enough:.0f} points for 90 %; saywhy spends {spent:.1f}: {spent / enough:.2f} of that")
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    main()
