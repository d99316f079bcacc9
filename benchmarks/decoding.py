"""Sentences a second: in a batch against one at a time, and with the cache of keys and values against without.

    python benchmarks/decoding.py MODEL [--data esnli] [--batch 64] [--words 30] [--rounds 5] [--json FILE]

MODEL is a trained network that explains in sentences, such as `saywhy train mpii --data esnli --model minilm` makes it.
Ends of sentences are barred, so that all have the same number of words. The ways take turns on one thread, in CPU time;
the median round counts.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch

import saywhy
from saywhy.models.mpii import MpiiNetwork

BATCHES = 4


def seconds(ways: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """CPU seconds of each way, by turns."""
    found: dict[str, list[float]] = {name: [] for name in ways}
    for turn in range(rounds + 1):
        for name, way in ways.items():
            start = time.process_time()
            way()
            if turn:  # the first round warms up
                found[name].append(time.process_time() - start)
    return {name: statistics.median(values) for name, values in found.items()}


@torch.no_grad()
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--data", default="esnli")
    parser.add_argument("--split", default="test")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--words", type=int, default=30)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    model = saywhy.load(arguments.model)
    network: Any = model.module.eval()
    if not isinstance(network, MpiiNetwork):
        raise SystemExit("this measures networks of the kind mpii")
    network.word_bias[network.config.end_id] = torch.finfo(torch.float32).min
    count = BATCHES * arguments.batch
    encoded = model.encode(saywhy.load_dataset(arguments.data, split=arguments.split, limit=count, seed=1))
    # Batches as the library makes them: of inputs of similar length. One at a time, every fourth is enough.
    encoded.sort(key=lambda item: len(item.rows[0].ids))
    together = [encoded[i : i + arguments.batch] for i in range(0, len(encoded), arguments.batch)]
    batches = [model.task.collate(items).inputs for items in together]
    singles = [model.task.collate([item]).inputs for item in encoded[::BATCHES]]
    whole = batches[len(batches) // 2]
    memory, first = network.read(**whole), network.read(**singles[0])
    longest = {"longest": arguments.words}

    took = seconds(
        {
            "batch": lambda: [network.generate(**batch, **longest) for batch in batches],
            "batch, no cache": lambda: [network.generate(**batch, **longest, cache=False) for batch in batches],
            "one at a time": lambda: [network.generate(**one, **longest) for one in singles],
            "decoder, batch": lambda: network.write(memory, **longest),
            "decoder, batch, no cache": lambda: network.write(memory, **longest, cache=False),
            "decoder, one": lambda: network.write(first, **longest),
            "decoder, one, no cache": lambda: network.write(first, **longest, cache=False),
        },
        arguments.rounds,
    )
    sizes = {"batch": len(encoded), "one at a time": len(singles), "decoder, batch": len(memory.hidden)}
    took = {name: value / sizes.get(name.removesuffix(", no cache"), 1) for name, value in took.items()}
    print(f"{len(encoded)} inputs of {arguments.data}, sentences of {arguments.words} words, one thread, CPU time")
    for name, value in took.items():
        print(f"{name:28}{value * 1000:9.2f} ms a sentence{1 / value:10.1f} a second")
    ratios = {
        f"batch of {arguments.batch} against one at a time": took["one at a time"] / took["batch"],
        **{
            f"cache against none: {name}": took[f"{name}, no cache"] / took[name]
            for name in ("batch", "decoder, batch", "decoder, one")
        },
    }
    for name, value in ratios.items():
        print(f"{name:40}{value:6.1f} x")
    if arguments.json:
        arguments.json.write_text(json.dumps({"seconds": took, "ratios": ratios}, indent=2) + "\n")


if __name__ == "__main__":
    main()
