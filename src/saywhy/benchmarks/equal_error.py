"""Samplers at equal error: LIME and Kernel SHAP, ours and the peers'."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from typing import Any

from saywhy.benchmarks.bench import Bench, Settings
from saywhy.benchmarks.curves import Curve, meet, relative_error
from saywhy.benchmarks.references import remembered
from saywhy.benchmarks.table import Row
from saywhy.benchmarks.workers import WorkerError

__all__ = ["ERASURES", "at_equal_error"]

ERASURES = ("delete", "mask-token")


def at_equal_error(bench: Bench, settings: Settings, work: str) -> Iterator[Row]:
    """CPU seconds of both tools at the same distance to their own references, for each erasure.

    The reference of a tool is the tool itself with many samples and another seed, so that each is measured against
    what it would converge to, whatever kernel and words it has chosen.
    """
    texts = range(settings.texts)
    for erasure in ERASURES:

        def ours(i: int, samples: int, seed: int, erasure: str = erasure) -> dict[str, Any]:
            made = bench.own.ask("run", work=work, texts=[i], samples=samples, seed=seed, erasure=erasure)
            return {"seconds": made["seconds"], "scores": made["scores"][0]}

        def theirs(i: int, samples: int, seed: int, erasure: str = erasure) -> dict[str, Any]:
            assert bench.peer is not None
            return bench.peer.ask(work, text=i, samples=samples, seed=seed, erasure=erasure)

        reason = bench.reason
        tools = {"saywhy": ours, **({bench.name: theirs} if bench.peer is not None else {})}
        try:
            bench.say(f"  references of {settings.reference} samples, {erasure}")
            exact = {
                name: [_reference(bench, settings, name, work, erasure, run, i) for i in texts]
                for name, run in tools.items()
            }
            seconds: dict[str, dict[int, list[float]]] = {name: {n: [] for n in settings.samples} for name in tools}
            errors: dict[str, dict[int, list[float]]] = {name: {n: [] for n in settings.samples} for name in tools}
            bare: list[float] = []
            middle = settings.samples[len(settings.samples) // 2]
            for run in tools.values():
                run(0, min(settings.samples), settings.seed)  # warms up
            for i in texts:
                for samples in settings.samples:
                    for name, run in tools.items():
                        made = run(i, samples, settings.seed)
                        seconds[name][samples].append(made["seconds"])
                        errors[name][samples].append(relative_error(made["scores"], exact[name][i]))
                asked = {"samples": middle, "seed": settings.seed, "erasure": erasure}
                bare.append(bench.own.ask("floor", work=work, texts=[i], **asked)["seconds"])
        except WorkerError as error:
            yield bench.row(work, how=erasure, reason=str(error), texts=settings.texts, aim=3.0)
            continue
        curves = {
            name: Curve(
                settings.samples,
                tuple(statistics.mean(seconds[name][n]) for n in settings.samples),
                tuple(statistics.mean(errors[name][n]) for n in settings.samples),
            )
            for name in tools
        }
        over_floor = statistics.mean(seconds["saywhy"][middle]) / statistics.mean(bare)
        facts = {name: vars(curve) for name, curve in curves.items()}
        if bench.name not in curves:
            spent = statistics.mean(seconds["saywhy"][middle])
            yield bench.row(
                work, ours=spent, floor=spent / over_floor, how=f"{erasure}, {middle} samples", reason=reason,
                texts=settings.texts, aim=3.0, facts=facts,
            )  # fmt: skip
            continue
        met = meet(curves["saywhy"], curves[bench.name])
        how = f"{erasure}, error {met.error:.3f}" + (", drawn on: no error reached by both" if met.apart else "")
        yield bench.row(
            work, ours=met.ours, theirs=met.theirs, floor=met.ours / over_floor, how=how, reason=reason,
            texts=settings.texts, aim=3.0, facts=facts,
        )  # fmt: skip


def _reference(
    bench: Bench, settings: Settings, name: str, work: str, erasure: str, run: Callable[..., dict[str, Any]], text: int
) -> list[float]:
    def compute() -> list[float]:
        scores: list[float] = run(text, settings.reference, settings.seed + 1000)["scores"]
        return scores

    if name == "saywhy":
        return compute()  # ours changes as we work on it; a peer's version is pinned
    key = [name, work, erasure, settings.reference, settings.seed, bench.fingerprint, bench.items[text]["text"]]
    return remembered(key, compute)
