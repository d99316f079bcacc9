import os
import subprocess
import sys

import pytest

from saywhy.cli import app

# Blocks of 64 MB, above what glibc keeps by itself: each of their 16,384 pages is a fault when it is new.
_COUNT = """
import resource, torch
from saywhy.memory import reuse_memory
{ask}
for _ in range(20):  # until there is room
    torch.ones(16 * 2**20)
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(10):
    torch.ones(16 * 2**20)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def _faults(ask: str) -> int:
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("MALLOC_", "GLIBC_", "LD_"))}
    run = subprocess.run(
        [sys.executable, "-c", _COUNT.format(ask=ask)], capture_output=True, text=True, check=True, env=plain
    )
    return int(run.stdout)


@pytest.mark.skipif(not hasattr(os, "confstr") or not os.confstr_names.get("CS_GNU_LIBC_VERSION"), reason="no glibc")
def test_freed_memory_is_used_again():
    assert _faults("") > 100_000
    assert _faults("assert reuse_memory()") < 1_000


def test_what_a_process_holds_grows_with_its_tensors():
    # In a process of its own: this one may have room left by others.
    told = """
import torch
from saywhy.memory import resident_bytes
before = resident_bytes()
kept = torch.ones(16 * 2**20)
print((resident_bytes() - before) / kept.nbytes)
"""
    run = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True)
    assert float(run.stdout) > 0.9


def test_the_command_line_asks_for_it(monkeypatch):
    asked = []
    monkeypatch.setattr(app, "reuse_memory", lambda: asked.append(True))
    with pytest.raises(SystemExit):
        app.main(["--version"])
    assert asked
