"""CPU seconds per explanation: saywhy, Captum, and the bare model calls (the floor), side by side in one run.

One thread, one text a call, MiniLM with two classes (its speed does not depend on what the head was trained for). The
three are measured in turn, round after round, and the ratio of their medians is the result: absolute times on a shared
machine mean little. The floor is the model calls alone: one forward pass for attention, forward and backward for
gradients, eager attention with a gradient for scaled attention, one call a word for leave-one-out.

    python benchmarks/explainers.py [--rounds 15] [--tokens 32 128] [--json FILE]
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import captum.attr as ca
import numpy as np
import torch

import saywhy
from saywhy.models import TextModel
from saywhy.models.embedding_door import look_up, replace_embeddings
from saywhy.models.minilm import build_minilm

SENTENCE = """although the film is long and at times rather slow it tells a story of two old friends who lose each other
in the war and of the letters that they never sent and it does so with great care"""


def text_of(tokens: int, tokenizer: Any) -> str:
    """A text that has exactly so many pieces with the special tokens."""
    words: list[str] = []
    source = SENTENCE.split()
    while len(tokenizer(" ".join(words))["input_ids"]) < tokens:
        words.append(source[len(words) % len(source)])
    return " ".join(words)


def runners(model: TextModel, text: str) -> dict[str, dict[str, Callable[[], Any]]]:
    network, tokenizer = model.module, model.tokenizer
    inputs = tokenizer(text, return_tensors="pt")
    ids = inputs["input_ids"]
    target = int(network(**inputs).logits.argmax())
    layer = network.bert.embeddings.word_embeddings
    example = model.encode([saywhy.Example((text,))])[0]
    pieces = example.rows[0].pieces
    rows = [np.delete(example.rows[0].ids, pieces.piece[pieces.word == word]) for word in range(len(example.words))]

    def forward(ids: torch.Tensor) -> torch.Tensor:
        return network(input_ids=ids, attention_mask=torch.ones_like(ids)).logits

    def gradients(count: int, batch: int = 32) -> None:
        with torch.no_grad():
            embeddings = look_up(network, ids)
        for start in range(0, count, batch):
            size = min(batch, count - start)
            many = ids.expand(size, -1)
            leaf = embeddings.repeat(size, 1, 1).requires_grad_()
            with replace_embeddings(network, many, leaf):
                torch.autograd.grad(forward(many)[:, target].sum(), leaf)

    def erased() -> None:
        with torch.inference_mode():
            forward(ids)
            by_length: dict[int, list[np.ndarray]] = {}
            for row in rows:
                by_length.setdefault(len(row), []).append(row)
            for same in by_length.values():
                for start in range(0, len(same), 32):
                    forward(torch.from_numpy(np.stack(same[start : start + 32])))

    def one_forward() -> None:
        with torch.inference_mode():
            forward(ids)

    eager = copy.deepcopy(network)
    eager.set_attn_implementation("eager")

    def attention_gradient() -> None:
        out = eager(**inputs, output_attentions=True)
        torch.autograd.grad(out.logits[0, target], out.attentions[-1])

    def ours(method: str, **options: Any) -> Callable[[], Any]:
        return lambda: saywhy.explain(model, text, method, **options)

    points = ours("integrated-gradients")().cost["gradients"]
    mask = torch.full_like(ids, tokenizer.mask_token_id)
    groups = torch.zeros_like(ids)
    groups[0, torch.from_numpy(pieces.piece)] = torch.from_numpy(pieces.word) + 1
    plain = ca.LayerGradientXActivation(forward, layer, multiply_by_inputs=False)
    return {
        "attention": {"saywhy": ours("attention"), "floor": one_forward},
        "scaled-attention": {"saywhy": ours("scaled-attention"), "floor": attention_gradient},
        "gradient": {
            "saywhy": ours("gradient"),
            "captum": lambda: plain.attribute(ids, target=target),
            "floor": lambda: gradients(1),
        },
        "input-x-gradient": {
            "saywhy": ours("input-x-gradient"),
            "captum": lambda: ca.LayerGradientXActivation(forward, layer).attribute(ids, target=target),
            "floor": lambda: gradients(1),
        },
        "integrated-gradients, 50 points": {
            "saywhy": ours("integrated-gradients", points=50),
            "captum": lambda: ca.LayerIntegratedGradients(forward, layer).attribute(
                ids, torch.zeros_like(ids), target=target, n_steps=50, internal_batch_size=32
            ),
            "floor": lambda: gradients(50),
        },
        "integrated-gradients, 1 % error": {"saywhy": ours("integrated-gradients"), "floor": lambda: gradients(points)},
        "leave-one-out": {
            "saywhy": ours("leave-one-out"),
            "captum": lambda: ca.FeatureAblation(forward).attribute(
                ids, mask, target=target, feature_mask=groups, perturbations_per_eval=32
            ),
            "floor": erased,
        },
    }  # fmt: skip


def measure(parts: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    times: dict[str, list[float]] = {name: [] for name in parts}
    done = 0
    while done <= rounds:
        for name, call in parts.items():
            start = time.process_time()
            call()
            if done:  # the first round warms up
                times[name].append(time.process_time() - start)
        done += 1
        if done == 2 and sum(values[0] for values in times.values()) < 0.5:
            rounds *= 5  # short calls vary more, and cost little
    return {name: statistics.median(values) for name, values in times.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--tokens", type=int, nargs="+", default=[32, 128])
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    network, tokenizer = build_minilm([], "text", ("negative", "positive"), 0)
    model = saywhy.load((network, tokenizer), labels=["negative", "positive"])
    table = []
    print(f"{'method':34}{'tokens':>7}{'saywhy':>10}{'captum':>10}{'floor':>10}{'/ floor':>9}{'captum /':>10}")
    for tokens in arguments.tokens:
        for method, parts in runners(model, text_of(tokens, tokenizer)).items():
            seconds = measure(parts, arguments.rounds)
            ours, floor, peer = seconds["saywhy"], seconds["floor"], seconds.get("captum")
            row = {"method": method, "tokens": tokens, **seconds, "to_floor": ours / floor}
            table.append(row | ({"captum_to_saywhy": peer / ours} if peer else {}))
            theirs = (f"{peer:.4f}", f"{peer / ours:.2f}") if peer else ("", "")
            print(
                f"{method:34}{tokens:7}{ours:10.4f}{theirs[0]:>10}{floor:10.4f}{ours / floor:9.2f}{theirs[1]:>10}",
                flush=True,
            )
    if arguments.json:
        arguments.json.write_text(json.dumps(table, indent=2) + "\n")


if __name__ == "__main__":
    main()
