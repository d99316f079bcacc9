"""Figures about a running server in Prometheus' text format."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from saywhy.memory import resident_bytes

__all__ = ["Histogram", "Meters"]

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_SIZES = (1, 2, 4, 8, 16, 32)


class Histogram:
    """How many observations fell below each of some bounds.

    Example:
        >>> sizes = Histogram((1, 2, 4))
        >>> for size in (1, 3, 9):
        ...     sizes.observe(size)
        >>> sizes.lines("size", "")[:2]
        ['size_bucket{le="1"} 1', 'size_bucket{le="2"} 1']
    """

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = tuple(bounds)
        self.counts = [0] * (len(self.bounds) + 1)
        self.total = 0.0

    def observe(self, value: float) -> None:
        """One more."""
        place = next((i for i, bound in enumerate(self.bounds) if value <= bound), len(self.bounds))
        self.counts[place] += 1
        self.total += value

    def lines(self, name: str, labels: str) -> list[str]:
        """As text."""
        made, below = [], 0
        comma = "," if labels else ""
        for bound, count in zip((*(f"{b:g}" for b in self.bounds), "+Inf"), self.counts, strict=True):
            below += count
            made.append(f'{name}_bucket{{{labels}{comma}le="{bound}"}} {below}')
        braces = f"{{{labels}}}" if labels else ""
        return [*made, f"{name}_sum{braces} {self.total:g}", f"{name}_count{braces} {below}"]


class Meters:
    """Counts of requests, their durations, and the sizes of batches; all are written by one thread."""

    def __init__(self) -> None:
        self.requests: Counter[tuple[str, str, int]] = Counter()
        self.seconds: dict[str, Histogram] = {}
        self.batches = Histogram(_SIZES)

    def request(self, method: str, route: str, status: int, seconds: float) -> None:
        """A request was answered; the route is a pattern, never what a user wrote."""
        self.requests[method, route, status] += 1
        self.seconds.setdefault(route, Histogram(_SECONDS)).observe(seconds)

    def text(self, waiting: Mapping[str, int], jobs: Mapping[str, int], hits: int, misses: int) -> str:
        """Everything, for a scraper.

        Args:
            waiting: calls in line, by lane.
            jobs: jobs by state.
            hits: answers that came out of the cache.
            misses: answers that did not.
        """
        lines: list[str] = []

        def add(name: str, kind: str, about: str, values: Iterable[str]) -> None:
            lines.extend((f"# HELP {name} {about}", f"# TYPE {name} {kind}", *values))

        counted = (
            f'saywhy_requests_total{{method="{m}",route="{_quoted(r)}",status="{s}"}} {n}'
            for (m, r, s), n in sorted(self.requests.items())
        )
        add("saywhy_requests_total", "counter", "Requests answered.", counted)
        timed = (
            line
            for route, histogram in sorted(self.seconds.items())
            for line in histogram.lines("saywhy_request_seconds", f'route="{_quoted(route)}"')
        )
        add("saywhy_request_seconds", "histogram", "Time to the answer.", timed)
        sizes = self.batches.lines("saywhy_batch_size", "")
        add("saywhy_batch_size", "histogram", "Calls answered together by a model.", sizes)
        depth = (f'saywhy_queue_depth{{lane="{_quoted(lane)}"}} {n}' for lane, n in sorted(waiting.items()))
        add("saywhy_queue_depth", "gauge", "Calls waiting for a model.", depth)
        states = (f'saywhy_jobs{{state="{state}"}} {n}' for state, n in sorted(jobs.items()))
        add("saywhy_jobs", "gauge", "Jobs that are remembered, by state.", states)
        add("saywhy_cache_hits_total", "counter", "Answers from the cache.", [f"saywhy_cache_hits_total {hits}"])
        add("saywhy_cache_misses_total", "counter", "Answers made anew.", [f"saywhy_cache_misses_total {misses}"])
        spent = [f"process_cpu_seconds_total {time.process_time():.3f}"]
        add("process_cpu_seconds_total", "counter", "CPU time spent.", spent)
        memory = [f"process_resident_memory_bytes {resident_bytes()}"]
        add("process_resident_memory_bytes", "gauge", "Memory in use.", memory)
        return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
