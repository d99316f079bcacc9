"""A load test of `saywhy serve`: many clients at once, beside what the bare model does on this machine.

    python scripts/load.py runs/sst2 --clients 16 --seconds 60

Every request is a text of its own, so that nothing comes out of the cache. The bare rate is that of forward and
backward passes over the same texts without any server: one text at a time, and as many at a time as there are clients;
it is taken before and after the load, because machines have other things to do, and so is the CPU time that a text
takes, which says more on a busy machine. The clients are a process of their own.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

WORDS = [
    "a",
    "the",
    "film",
    "story",
    "acting",
    "plot",
    "is",
    "was",
    "seems",
    "feels",
    "never",
    "always",
    "quite",
    "rather",
    "dull",
    "bright",
    "warm",
    "cold",
    "slow",
    "quick",
    "funny",
    "sad",
    "moving",
    "empty",
    "rich",
    "thin",
    "clever",
    "silly",
    "honest",
    "false",
    "tender",
    "cruel",
    "quiet",
    "loud",
    "and",
    "but",
    "yet",
    "with",
    "without",
    "every",
    "scene",
    "actor",
    "director",
    "music",
    "end",
    "beginning",
    "middle",
    "hero",
    "villain",
    "friend",
    "city",
    "night",
    "day",
]


def texts(words: int, seed: int) -> Iterator[str]:
    """Texts without end, no two alike."""
    draw = random.Random(seed)
    while True:
        yield " ".join(draw.choice(WORDS) for _ in range(words)) + "."


def bare_rates(folder: str, words: int, together: int, seconds: float, threads: int) -> dict[str, dict[str, float]]:
    """Forward and backward passes a second, by one text and by several at a time, without anything around them."""
    import torch
    import transformers

    torch.set_num_threads(threads)
    network = transformers.AutoModelForSequenceClassification.from_pretrained(folder).eval().requires_grad_(False)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    rates = {}
    for size in (1, together):
        source, done = texts(words, 1), 0
        start, cpu = time.perf_counter(), time.process_time()
        while (spent := time.perf_counter() - start) < seconds:
            batch = tokenizer([next(source) for _ in range(size)], padding=True, return_tensors="pt")
            embeddings = network.get_input_embeddings()(batch.pop("input_ids")).requires_grad_()
            logits = network(inputs_embeds=embeddings, **batch).logits
            torch.autograd.grad(logits.max(-1).values.sum(), embeddings)
            done += size
        rates[str(size)] = {"per_second": done / spent, "cpu_ms": 1000 * (time.process_time() - cpu) / done}
    return rates


class Client:
    """One connection that is kept open; plain sockets, so that the clients cost as little as they can."""

    def __init__(self, port: int) -> None:
        self.port = port

    async def __aenter__(self) -> Client:
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port)
        return self

    async def __aexit__(self, *error: object) -> None:
        self.writer.close()

    async def ask(self, method: str, path: str, body: bytes = b"") -> tuple[int, bytes]:
        """Status and body of an answer."""
        head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        self.writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode().lower()
        length = re.search(r"content-length: (\d+)", head)
        return int(head.split(maxsplit=2)[1]), await self.reader.readexactly(int(length[1]) if length else 0)


async def load(port: int, model: str, method: str, clients: int, seconds: float, words: int) -> dict[str, Any]:
    """Let clients ask, each as soon as it has its answer."""
    times: list[float] = []
    bad: list[str] = []
    memory: list[float] = []
    end = time.perf_counter() + seconds

    async def ask_on(number: int) -> None:
        source = texts(words, 1000 + number)
        async with Client(port) as client:
            while time.perf_counter() < end:
                body = {"model": model, "input": {"texts": [next(source)]}, "method": method, "verdict": False}
                start = time.perf_counter()
                status, answer = await client.ask("POST", "/api/explain", json.dumps(body).encode())
                times.append(time.perf_counter() - start)
                if status != 200 or b'"cached":false' not in answer:
                    bad.append(f"{status} {answer[:200]!r}")

    async def watch() -> None:
        async with Client(port) as client:
            while time.perf_counter() < end:
                _, figures = await client.ask("GET", "/metrics")
                found = re.search(rb"^process_resident_memory_bytes (\d+)", figures, re.MULTILINE)
                memory.append(int(found[1]) / 1e6 if found else float("nan"))
                await asyncio.sleep(seconds / 12)

    async def figure(name: str) -> float:
        async with Client(port) as client:
            _, figures = await client.ask("GET", "/metrics")
        return float(re.findall(rf"^{name} (\S+)", figures.decode(), re.MULTILINE)[0])

    cpu, start = await figure("process_cpu_seconds_total"), time.perf_counter()
    await asyncio.gather(watch(), *(ask_on(number) for number in range(clients)))
    spent = time.perf_counter() - start
    cpu = await figure("process_cpu_seconds_total") - cpu
    batch = await figure("saywhy_batch_size_sum") / await figure("saywhy_batch_size_count")
    return {
        "requests": len(times),
        "errors": len(bad),
        "first_error": bad[0] if bad else None,
        "per_second": len(times) / spent,
        "p50_ms": 1000 * float(np.percentile(times, 50)),
        "p95_ms": 1000 * float(np.percentile(times, 95)),
        "p99_ms": 1000 * float(np.percentile(times, 99)),
        "mean_batch": batch,
        "cpu_ms": 1000 * cpu / len(times),
        "memory_mb": memory,
    }


def main() -> None:
    """Measure and print JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="folder of a model that reads one text")
    parser.add_argument("--method", default="input-x-gradient")
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--words", type=int, default=30)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--bare", action="store_true", help="only the bare rates")
    given = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = str(given.threads)
    if given.bare:
        print(json.dumps(bare_rates(given.model, given.words, given.clients, given.seconds, given.threads)))
        return
    bare = [sys.executable, __file__, given.model, "--bare", "--words", str(given.words)]
    bare += ["--clients", str(given.clients), "--seconds", str(min(10.0, given.seconds / 3))]
    bare += ["--threads", str(given.threads)]

    def rates() -> dict[str, Any]:
        # In a process of its own: the clients' should not have a model in its memory.
        return json.loads(subprocess.run(bare, check=True, capture_output=True, text=True).stdout.splitlines()[-1])

    before = rates()
    with tempfile.TemporaryDirectory() as cache:
        command = [sys.executable, "-m", "saywhy", "serve", f"model={given.model}", "--port", "0"]
        command += ["--threads", str(given.threads), "--cache", cache]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert server.stdout is not None
        try:
            line = server.stdout.readline()
            port = int(re.findall(r":(\d+)/", line)[0])
            warm = load(port, "model", given.method, given.clients, 3.0, given.words + 1)
            asyncio.run(warm)
            made = load(port, "model", given.method, given.clients, given.seconds, given.words)
            found = asyncio.run(made)
        finally:
            server.send_signal(signal.SIGTERM)
            code = server.wait(30)
    after = rates()
    fastest = {size: max(run[size]["per_second"] for run in (before, after)) for size in before}
    cheapest = {size: min(run[size]["cpu_ms"] for run in (before, after)) for size in before}
    print(
        json.dumps(
            {
                **found,
                "bare_before": before,
                "bare_after": after,
                "share_of_bare": {size: found["per_second"] / rate for size, rate in fastest.items()},
                "cpu_share_of_bare": {size: cost / found["cpu_ms"] for size, cost in cheapest.items()},
                "exit_code": code,
                "load_average": os.getloadavg(),
            },
            indent=2,
        )
    )


if __name__ == "__main__":
    main()
