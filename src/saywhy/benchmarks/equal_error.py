"""Samplers at equal error: LIME and Kernel SHAP, ours and the peers'."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from saywhy.benchmarks.bench import Bench, Settings
from saywhy.benchmarks.curves import Curve, meet, relative_error
from saywhy.benchmarks.references import remembered
from saywhy.benchmarks.table import Row
from saywhy.benchmarks.workers import WorkerError

__all__ = ["ERASURES", "at_equal_error"]

ERASURES = ("delete", "mask-token")


Run = Callable[[int, int, int], dict[str, Any]]
"""Explain text i with so many samples and that seed."""


@dataclass(frozen=True)
class _Measured:
    curves: dict[str, Curve]
    references: dict[str, list[list[float]]]
    seconds: float  # ours at the middle of the curve
    floor: float  # the same model calls alone

    @property
    def apart(self) -> float | None:
        """How far the two references are from each other, where they are of the same words."""
        ours, *others = self.references.values()
        if not others or any(len(a) != len(b) for a, b in zip(ours, others[0], strict=True)):
            return None
        return statistics.mean(relative_error(a, b) for a, b in zip(ours, others[0], strict=True))


def at_equal_error(bench: Bench, settings: Settings, work: str) -> Iterator[Row]:
    """CPU seconds of both tools at the same distance to their own references, for each erasure.

    The reference of a tool is the tool itself with many samples and another seed, so that each is measured against
    what it would converge to, whatever kernel and words it has chosen.
    """
    for erasure in ERASURES:
        tools, reason = _tools(bench, settings, work, erasure), bench.reason
        try:
            made = _measure(bench, settings, work, erasure, tools)
        except WorkerError as error:
            reason = str(error)
            if bench.name not in tools or not reason.startswith(bench.name):
                yield bench.row(work, how=erasure, reason=reason, texts=settings.texts, aim=3.0)
                continue
            made = _measure(bench, settings, work, erasure, {"saywhy": tools["saywhy"]})
        facts = {"texts": settings.texts, "aim": 3.0, "reason": reason}
        facts["facts"] = {name: vars(curve) for name, curve in made.curves.items()}
        if bench.name not in made.curves:
            how = f"{erasure}, {_middle(settings)} samples"
            yield bench.row(work, ours=made.seconds, floor=made.floor, how=how, **facts)
            continue
        met = meet(made.curves["saywhy"], made.curves[bench.name])
        how = f"{erasure}, both with an error of {met.error:.3f}"
        if met.apart:
            how += " by lines drawn on, as no error was reached by both"
        if made.apart is not None and work == "kernel-shap":
            how += f"; references {made.apart:.3f} apart"
        floor = met.ours * made.floor / made.seconds
        yield bench.row(work, ours=met.ours, theirs=met.theirs, floor=floor, how=how, **facts)


def _tools(bench: Bench, settings: Settings, work: str, erasure: str) -> dict[str, Run]:
    def ours(text: int, samples: int, seed: int) -> dict[str, Any]:
        asked = {**_asked(settings, work, erasure, samples, seed), "tolerance": None}
        made = bench.own.ask("run", work=work, texts=[text], **asked)
        return {"seconds": made["seconds"], "scores": made["scores"][0]}

    def theirs(text: int, samples: int, seed: int) -> dict[str, Any]:
        assert bench.peer is not None
        return bench.peer.ask(work, text=text, **_asked(settings, work, erasure, samples, seed))

    return {"saywhy": ours, **({bench.name: theirs} if bench.peer is not None else {})}


def _asked(settings: Settings, work: str, erasure: str, samples: int, seed: int) -> dict[str, Any]:
    asked = {"samples": samples, "seed": seed, "erasure": erasure}
    # LIME's ridge shrinks the more the fewer samples there are. In proportion to them it is the same everywhere on the
    # curve, and all of its points estimate what the reference does.
    return {**asked, "alpha": samples / settings.reference} if work == "lime" else asked


def _middle(settings: Settings) -> int:
    return settings.samples[len(settings.samples) // 2]


def _measure(bench: Bench, settings: Settings, work: str, erasure: str, tools: Mapping[str, Run]) -> _Measured:
    texts, middle = range(settings.texts), _middle(settings)
    bench.say(f"  references of {settings.reference} samples, {erasure}")
    exact = {
        name: [_reference(bench, settings, (name, work, erasure), run, i) for i in texts] for name, run in tools.items()
    }
    seconds: dict[str, dict[int, list[float]]] = {name: {n: [] for n in settings.samples} for name in tools}
    errors: dict[str, dict[int, list[float]]] = {name: {n: [] for n in settings.samples} for name in tools}
    bare: list[float] = []
    for run in tools.values():
        run(0, min(settings.samples), settings.seed)  # warms up
    for i in texts:
        for samples in settings.samples:
            for name, run in tools.items():
                made = run(i, samples, settings.seed)
                seconds[name][samples].append(made["seconds"])
                errors[name][samples].append(relative_error(made["scores"], exact[name][i]))
            if samples == middle:
                # No stopping early: the points of a curve are numbers of samples.
                asked = {**_asked(settings, work, erasure, middle, settings.seed), "tolerance": None}
                bare.append(bench.own.ask("floor", work=work, texts=[i], **asked)["seconds"])
    curves = {
        name: Curve(
            settings.samples,
            tuple(statistics.mean(seconds[name][n]) for n in settings.samples),
            tuple(statistics.mean(errors[name][n]) for n in settings.samples),
        )
        for name in tools
    }
    return _Measured(curves, exact, statistics.mean(seconds["saywhy"][middle]), statistics.mean(bare))


def _reference(bench: Bench, settings: Settings, what: tuple[str, str, str], run: Run, text: int) -> list[float]:
    def compute() -> list[float]:
        scores: list[float] = run(text, settings.reference, settings.seed + 1000)["scores"]
        return scores

    if what[0] == "saywhy":
        return compute()  # ours changes as we work on it; a peer's version is pinned
    return remembered([*what, settings.reference, settings.seed, bench.fingerprint, bench.items[text]["text"]], compute)
