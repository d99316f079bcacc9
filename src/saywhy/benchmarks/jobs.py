"""What is compared, and how each comparison is made fair."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from saywhy.benchmarks.bench import Bench, Settings
from saywhy.benchmarks.equal_error import ERASURES, at_equal_error
from saywhy.benchmarks.table import Row
from saywhy.benchmarks.workers import WorkerError

__all__ = [
    "faithfulness",
    "gradients",
    "integrated_gradients",
    "kernel_shap",
    "leave_one_out",
    "lime",
    "model_rows",
]

POINTS = (10, 15, 20, 25, 30, 35, 40, 50, 64, 80, 100)
TOLERANCE, SHARE = 0.01, 0.9
BINS = (0.01, 0.05, 0.1, 0.2, 0.5)
FERRETS_BINS = tuple(tenth / 10 for tenth in range(1, 11))
FAITHFULNESS = ["comprehensiveness", "sufficiency"]
# Short calls vary more, and cost little: they are repeated.
SHORT, ROUNDS = 0.3, 5


def gradients(bench: Bench, settings: Settings) -> Iterator[Row]:
    """Gradient and input times gradient: one forward and one backward pass."""
    yield _same_work(bench, "gradient", lambda i: {"job": "gradient", "text": i})
    yield _same_work(bench, "input-x-gradient", lambda i: {"job": "input-x-gradient", "text": i})


def leave_one_out(bench: Bench, settings: Settings) -> Iterator[Row]:
    """Leaving out each word: ours by deletion (default) and by mask token, the peer by mask token."""
    for erasure in ERASURES:
        yield _same_work(
            bench,
            "leave-one-out",
            lambda i: {"job": "leave-one-out", "text": i},
            how=f"ours {erasure}, peer mask-token",
            erasure=erasure,
        )


def integrated_gradients(bench: Bench, settings: Settings) -> Iterator[Row]:
    """What each needs for a completeness error of 1 % in 90 % of the texts.

    The peer gets the smallest number of points of a ladder that is enough, with its default rule; ours its defaults.
    """
    points, within, reason = None, 0.0, bench.reason
    if bench.peer is not None:
        try:
            for points in POINTS:
                found = [bench.peer.ask("integrated-gradients", text=i, points=points) for i in range(len(bench.items))]
                within = sum(answer["error"] <= TOLERANCE for answer in found) / len(found)
                if within >= SHARE:
                    break
            else:
                reason = f"{bench.name} has {within:.0%} of the texts within 1 % at {POINTS[-1]} points"
        except WorkerError as error:
            reason = str(error)
    made = _same_work(
        bench,
        "integrated-gradients",
        None if reason else lambda i: {"job": "integrated-gradients", "text": i, "points": points},
        aim=2.0,
        reason=reason,
    )
    good = sum(error <= TOLERANCE for error in made.facts["errors"]) / len(bench.items)
    calls = statistics.mean(cost["gradients"] for cost in made.facts["costs"])
    how = f"within 1 %: ours {calls:.1f} gradients, {good:.0%} of texts"
    if not reason:
        how += f"; {bench.name} {points}, {within:.0%}"
    yield Row(**{**vars(made), "how": how})


def faithfulness(bench: Bench, settings: Settings) -> Iterator[Row]:
    """Metrics of given explanations; both tools delete words.

    Sufficiency and comprehensiveness with five bins, and then what ferret computes when it is asked for nothing in
    particular: ten bins, and the correlation with leave-one-out.
    """
    several = [*FAITHFULNESS, "loo-correlation"]
    for metrics, bins in ((FAITHFULNESS, BINS), (several, FERRETS_BINS)):
        for together in (False, True):

            def ask(i: int, metrics: Sequence[str] = metrics, bins: Sequence[float] = bins) -> dict[str, Any]:
                scores = bench.items[i]["scores"]
                return {"job": "faithfulness", "text": i, "scores": scores, "bins": bins, "metrics": metrics}

            yield _same_work(
                bench,
                "faithfulness",
                ask,
                how=f"{', '.join(metrics)}; {len(bins)} bins; "
                + (f"{len(bench.items)} texts in one call of ours" if together else "one text a call"),
                aim=3.0 if metrics is FAITHFULNESS else None,
                together=together,
                bins=bins,
                metrics=metrics,
            )


def lime(bench: Bench, settings: Settings) -> Iterator[Row]:
    """LIME at equal error. The lime package's default deletes words too (``bow``); with mask strings it masks."""
    yield from at_equal_error(bench, settings, "lime")


def kernel_shap(bench: Bench, settings: Settings) -> Iterator[Row]:
    """Kernel SHAP at equal error, with the same words and the same value function."""
    yield from at_equal_error(bench, settings, "kernel-shap")


def model_rows(work: str, words: int, texts: int, settings: Settings) -> float:
    """About how many rows the model is given for some work, by all tools together; a gradient counts as three."""
    if work == "gradient":
        return 2 * 3 * (ROUNDS + 1) * 3 * texts
    if work == "integrated-gradients":
        return 3 * (sum(p for p in POINTS if p <= 35) + 2 * 20 + 35) * texts
    if work == "leave-one-out":
        return 2 * 3 * words * texts
    if work == "faithfulness":
        return 2 * 3 * (2 * (len(BINS) + len(FERRETS_BINS)) + words + 2) * texts
    return len(ERASURES) * settings.texts * (2 * settings.reference + 2 * sum(settings.samples) + settings.samples[1])


def _same_work(
    bench: Bench,
    work: str,
    ask: Callable[[int], dict[str, Any]] | None,
    *,
    how: str = "",
    aim: float | None = None,
    reason: str = "",
    together: bool = False,
    **options: Any,
) -> Row:
    """Work that is the same for all, timed in turn; ``together`` gives all texts to saywhy in one call."""
    reason = reason or bench.reason
    groups = [list(range(len(bench.items)))] if together else [[i] for i in range(len(bench.items))]
    times: dict[str, list[float]] = {"ours": [], "theirs": [], "floor": []}
    errors: list[float | None] = []
    costs: list[dict[str, int]] = []
    theirs = ask is not None and bench.peer is not None and not reason

    def turn(texts: Sequence[int]) -> tuple[dict[str, Any], float, float | None]:
        nonlocal theirs, reason
        made = bench.own.ask("run", work=work, texts=list(texts), **options)
        bare = bench.own.ask("floor", work=work, texts=list(texts), **options)["seconds"]
        other = None
        if theirs and ask is not None and bench.peer is not None:
            try:
                other = sum(bench.peer.ask(**ask(i))["seconds"] for i in texts)
            except WorkerError as error:
                theirs, reason = False, str(error)
        return made, bare, other

    first, _, _ = turn(groups[0])  # warms up
    rounds = ROUNDS if first["seconds"] < SHORT or together else 1
    for texts in groups:
        turns = [turn(texts) for _ in range(rounds)]
        times["ours"].append(statistics.median(made["seconds"] for made, _, _ in turns))
        times["floor"].append(statistics.median(bare for _, bare, _ in turns))
        if theirs:
            times["theirs"].append(statistics.median(other for _, _, other in turns if other is not None))
        errors += turns[0][0].get("errors", [])
        costs += turns[0][0].get("costs", [])
    count = len(bench.items)
    return bench.row(
        work,
        ours=sum(times["ours"]) / count,
        theirs=sum(times["theirs"]) / count if theirs else None,
        floor=sum(times["floor"]) / count,
        aim=aim,
        how=how,
        reason=reason,
        facts={"errors": errors, "costs": costs},
    )
