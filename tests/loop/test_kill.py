"""A run that is killed and a run in two processes, both as a user would start them."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

ROOT = Path(__file__).parents[2]
ENVIRONMENT = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}", "OMP_NUM_THREADS": "1"}

TRAIN = """
import sys, time
from saywhy.objectives import train
from saywhy.objectives.plain import Plain

if sys.argv[2] == "slowly":
    collate = Plain.collate
    Plain.collate = lambda self, items: (time.sleep(0.05), collate(self, items))[1]
train("plain", "planted-reviews", "text-transformer", out=sys.argv[1], limit=320, epochs=3, batch_size=16, seed=5,
      data_options={"size": "demo"}, model_options={"layers": 1, "width": 32, "heads": 2}, checkpoint_every=7)
"""

PAIR = """
import sys
from tests.loop.toys import Game, Quiet, collate, points
from saywhy.loop import LoopSettings, fit

objective = {"game": Game, "regression": Quiet}[sys.argv[2]]()
settings = LoopSettings(epochs=2, batch_size=7, accumulate=2, checkpoint_every=3)
fit(objective, points(), collate=collate, settings=settings, out=sys.argv[1], validate=lambda: 1.0)
"""


def weights(folder: Path) -> str:
    return hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()


@pytest.mark.slow
def test_sigkill_then_resume_gives_the_same_bits(tmp_path: Path) -> None:
    def command(name: str, pace: str) -> list[str]:
        return [sys.executable, "-c", TRAIN, str(tmp_path / name), pace]

    subprocess.run(command("whole", "fast"), env=ENVIRONMENT, check=True, capture_output=True)
    for checkpoint in ("step-000000014", "step-000000035"):  # in the first epoch, and in the second after a resume
        victim = subprocess.Popen(command("killed", "slowly"), env=ENVIRONMENT, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 120
        while not (tmp_path / "killed/checkpoints" / checkpoint).exists():
            assert victim.poll() is None, "it ended before it could be killed"
            assert time.monotonic() < deadline
            time.sleep(0.01)
        time.sleep(0.12)  # two steps on: between checkpoints
        victim.send_signal(signal.SIGKILL)
        assert victim.wait() == -signal.SIGKILL
        assert not (tmp_path / "killed/model.safetensors").exists()
    subprocess.run(command("killed", "fast"), env=ENVIRONMENT, check=True, capture_output=True)
    assert weights(tmp_path / "killed") == weights(tmp_path / "whole")
    assert (tmp_path / "killed/log.jsonl").read_text() == (tmp_path / "whole/log.jsonl").read_text()
    results = [json.loads((tmp_path / name / "run.json").read_text())["result"] for name in ("whole", "killed")]
    assert results[0]["history"] == results[1]["history"]
    assert results[0]["resumed_at"] == 0 < results[1]["resumed_at"]


@pytest.mark.slow
@pytest.mark.parametrize("objective", ["regression", "game"])
def test_two_processes_do_what_one_does(tmp_path: Path, objective: str) -> None:
    script = tmp_path / "script.py"
    script.write_text(PAIR)
    # What `accelerate launch` starts for several processes; by itself it gives a CPU only one.
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node"]
    for processes in ("1", "2"):
        command = [*launch, processes, str(script), str(tmp_path / processes), objective]
        environment = {**ENVIRONMENT, "ACCELERATE_USE_CPU": "true"}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=240)
        assert done.returncode == 0, done.stderr[-2000:]
    one, two = (sorted((tmp_path / n / "checkpoints").glob("step-*"))[-1] for n in ("1", "2"))
    assert json.loads((tmp_path / "2/run.json").read_text())["config"]["processes"] == 2
    for file in one.glob("*[a-z].safetensors"):
        alone, together = load_file(file), load_file(two / file.name)
        for name in alone:
            torch.testing.assert_close(alone[name], together[name], rtol=1e-4, atol=1e-5)
