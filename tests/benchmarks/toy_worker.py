"""A worker for tests: answers, prints, fails and dies when asked to."""

from __future__ import annotations

import os
import sys
from typing import Any

from saywhy.benchmarks.workers import Handlers, serve, timed


def open_desk(model: str) -> Handlers:
    if model == "broken":
        raise FileNotFoundError("no model there")

    def double(number: int) -> dict[str, Any]:
        sys.stdout.write("chatter that is no answer\n")
        made, seconds = timed(lambda: max([number * 2 for _ in range(100_000)]))
        return {"made": made, "seconds": seconds, "threads": os.environ["OMP_NUM_THREADS"], "model": model}

    def fail() -> dict[str, Any]:
        raise ValueError("not\n  this one")

    def die() -> dict[str, Any]:
        os.write(2, b"first line\nlast words\n")
        os._exit(3)

    return {"double": double, "fail": fail, "die": die}


if __name__ == "__main__":
    serve(open_desk)
