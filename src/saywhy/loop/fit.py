"""The one training loop."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import torch
from torch import Tensor

from saywhy.errors import OptionError
from saywhy.loop.batches import BatchOrder
from saywhy.loop.checkpoint import CheckpointFolder
from saywhy.loop.objective import LoopObjective
from saywhy.loop.progress import ProgressBar
from saywhy.loop.records import RunLog, environment, open_run, read_run, write_run
from saywhy.loop.settings import LoopSettings
from saywhy.loop.stepper import Stepper
from saywhy.memory import resident_bytes

__all__ = ["FitResult", "checkpoint_folder", "close_run", "fit"]

Validate: TypeAlias = Callable[[], "float | tuple[float, Mapping[str, float]]"]


@dataclass(frozen=True)
class FitResult:
    """What came of a run; the players themselves hold the best weights (the last ones without validation).

    ``stopped`` is ``"finished"`` or ``"patience"``. ``history`` has step, epoch and score of each validation, and what
    was logged with it.
    ``seconds`` counts this process only, ``resumed_at`` the steps that were done before it. ``cpu_seconds`` is the CPU
    time of all steps, those before a kill included, without validation and checkpoints. ``peak_bytes`` is the most
    memory that the process held after a step, or on a GPU the most that its tensors took there. ``reused`` says that
    the run had been finished and cleared away before, so that nothing was done and the players were not touched.
    """

    steps: int
    best_step: int
    best_score: float | None
    stopped: str
    history: tuple[Mapping[str, float], ...]
    seconds: float
    resumed_at: int = 0
    reused: bool = False
    cpu_seconds: float = 0.0
    peak_bytes: int = 0


@dataclass
class _State:
    """Where a run is, as a checkpoint holds it."""

    step: int = 0
    best: str | None = None
    best_step: int = 0
    best_score: float | None = None
    waited: int = 0
    stopped: str = ""
    history: list[dict[str, float]] = field(default_factory=list)
    objective: dict[str, Any] = field(default_factory=dict)
    cpu_seconds: float = 0.0
    peak_bytes: int = 0


def checkpoint_folder(out: Path) -> CheckpointFolder:
    """The checkpoints of the run in a folder."""
    return CheckpointFolder(out / "checkpoints")


def close_run(out: Path, result: FitResult, report: Mapping[str, Any] | None = None) -> None:
    """Write the result into ``run.json`` and remove the checkpoints, once the weights are kept elsewhere.

    ``report`` is what the objective says about what was trained.
    """
    record = read_run(out)
    if record is None:
        raise ValueError(f"{out} holds no run")
    write_run(out, {**record, "result": asdict(result), **({"report": dict(report)} if report else {})})
    checkpoint_folder(out).remove()


def fit(
    objective: LoopObjective,
    data: Sequence[Any],
    *,
    collate: Callable[[list[Any]], Any],
    settings: LoopSettings | None = None,
    lengths: Sequence[int] | None = None,
    validate: Validate | None = None,
    out: str | Path | None = None,
    config: Mapping[str, Any] | None = None,
    resume: bool = True,
    progress: bool | None = None,
    log_with: str | Sequence[str] | None = None,
) -> FitResult:
    """Train the players of an objective on data.

    One process, or many under ``accelerate launch``: the same call, the same batches, the same result up to rounding.
    A run that was killed goes on from its last checkpoint and ends with the same bits as one that was not.

    Args:
        objective: the players and the phases of a step.
        data: examples, by number.
        collate: makes a batch, as the objective reads it, of a list of examples.
        settings: how long and how to train.
        lengths: a length for each example, to put texts of like length into one batch.
        validate: gives a score (higher is better) of the players as they are, in evaluation mode, or the score and
            numbers to log; called in the main process.
        out: folder for checkpoints, ``run.json`` and ``log.jsonl``; None keeps everything in memory.
        config: more facts that must be equal when the run is resumed, as JSON types.
        resume: go on from the last checkpoint in ``out``, if there is one; False starts again.
        progress: show a progress bar; None shows it on a terminal.
        log_with: names of experiment trackers that Accelerate knows, such as ``"tensorboard"``.

    Example:
        >>> fit(objective, examples, collate=collate, out="runs/first")                       # doctest: +SKIP
    """
    run = _Run(objective, data, collate, settings or LoopSettings(), lengths, validate, out, log_with)
    done = run.open(config or {}, resume)
    if done is not None:
        return done
    # The caller's own random state is none of our business.
    with torch.random.fork_rng():
        return run.train(progress)


class _Run:
    def __init__(
        self,
        objective: LoopObjective,
        data: Sequence[Any],
        collate: Callable[[list[Any]], Any],
        settings: LoopSettings,
        lengths: Sequence[int] | None,
        validate: Validate | None,
        out: str | Path | None,
        log_with: str | Sequence[str] | None,
    ) -> None:
        self.objective, self.settings, self.validate = objective, settings, validate
        self.out = None if out is None else Path(out)
        self.order = BatchOrder(len(data), settings.batch_size, seed=settings.seed, lengths=lengths)
        self.total = settings.epochs * len(self.order)
        if settings.max_steps is not None:
            self.total = min(self.total, settings.max_steps)
        self.accelerator = _accelerator(log_with, self.out)
        self.stepper = Stepper(objective, data, collate, settings, self.accelerator, self.total)
        self.folder = None if self.out is None else checkpoint_folder(self.out)
        self.main = self.accelerator.is_main_process
        self.trackers = bool(log_with)
        self.state = _State()
        self.remembered: dict[str, dict[str, Tensor]] = {}

    def open(self, config: Mapping[str, Any], resume: bool) -> FitResult | None:
        config = {
            **config,
            "objective": type(self.objective).__name__,
            "examples": self.order.size,
            "processes": self.accelerator.num_processes,
            "loop": self.settings.config(),
            "optimisers": {name: asdict(rule) for name, rule in self.stepper.rules.items()},
        }
        if self.trackers:
            self.accelerator.init_trackers("saywhy", config={"config": json.dumps(config)})
        if self.out is None or self.folder is None:
            return None
        record = open_run(self.out, config, resume=resume)
        if record is not None and "result" in record:
            # Finished. A kill during the clean-up may have left checkpoints, whole or torn.
            if self.main:
                self.folder.remove()
            return FitResult(**{**record["result"], "history": tuple(record["result"]["history"]), "reused": True})
        found = self.folder.newest() if record is not None else None
        self.accelerator.wait_for_everyone()  # nobody writes before everybody has read
        if found is not None:
            name, state = found
            self.state = _State(**state)
            self.folder.load(name, self.objective.players, self.stepper.optimisers)
            self.objective.load_state(self.state.objective)
        elif self.main:
            self.folder.remove()
        if self.main and record is None:
            write_run(self.out, {"kind": "run", "config": config, "environment": environment()})
        return None

    def train(self, progress: bool | None) -> FitResult:
        began, resumed_at = time.monotonic(), self.state.step
        saved = began
        log = RunLog(self.out if self.main else None, after=self.state.step)
        batches = self.order.epoch(self.state.step // len(self.order))
        self.objective.train_mode(True)
        with ProgressBar(self.total, done=resumed_at, shown=progress if self.main else False) as bar:
            while self.state.step < self.total and not self.state.stopped:
                epoch, position = divmod(self.state.step, len(self.order))
                if position == 0:
                    batches = self.order.epoch(epoch)
                started = time.process_time()
                logged = self.stepper.run(batches[position], self.state.step, epoch)
                self.state.cpu_seconds += time.process_time() - started
                self.state.peak_bytes = max(self.state.peak_bytes, self._memory())
                self.state.step += 1
                step, last = self.state.step, self.state.step == self.total
                if step % self.settings.log_every == 0 or last:
                    self._log(log, **logged)
                first = next(iter(logged.values()), float("nan"))
                bar.update(step, epoch=f"{epoch + 1}/{self.settings.epochs}", loss=f"{first:.3f}")
                epoch_ends = position + 1 == len(self.order)
                every = self.settings.validate_every
                if last or (step % every == 0 if every else epoch_ends):
                    self._validate(log, epoch)
                    if self.state.history:
                        bar.update(step, score=f"{self.state.history[-1]['score']:.3f}")
                if last and not self.state.stopped:
                    self.state.stopped = "finished"
                if epoch_ends or self.state.stopped or self._due(saved):
                    self._save(log)
                    saved = time.monotonic()
        self.state.stopped = self.state.stopped or "finished"  # of no steps at all
        log.close()
        self._restore_best()
        self.objective.train_mode(False)
        if self.trackers:
            self.accelerator.end_training()
        self.accelerator.wait_for_everyone()
        return FitResult(
            steps=self.state.step,
            best_step=self.state.best_step if self.state.best_score is not None else self.state.step,
            best_score=self.state.best_score,
            stopped=self.state.stopped,
            history=tuple(self.state.history),
            seconds=time.monotonic() - began,
            resumed_at=resumed_at,
            cpu_seconds=self.state.cpu_seconds,
            peak_bytes=self.state.peak_bytes,
        )

    def _memory(self) -> int:
        device = self.accelerator.device
        return torch.cuda.max_memory_allocated(device) if device.type == "cuda" else resident_bytes()

    def _log(self, log: RunLog, **values: float) -> None:
        log.write(self.state.step, **values)
        if self.trackers:
            self.accelerator.log(values, step=self.state.step)

    def _validate(self, log: RunLog, epoch: int) -> None:
        if self.validate is None:
            return
        self.objective.train_mode(False)
        numbers: Mapping[str, float] = {}
        with torch.no_grad():
            found: Any = self.validate() if self.main else 0.0
        if isinstance(found, tuple):
            found, numbers = found
        score = self._same_everywhere(float(found))
        self.objective.train_mode(True)
        state = self.state
        state.history.append({"step": state.step, "epoch": epoch, "score": score, **numbers})
        self._log(log, score=score, **numbers)
        if state.step < self.objective.judged_from * self.total:
            return
        if state.best_score is None or score > state.best_score:
            state.best_score, state.best_step, state.waited = score, state.step, 0
            if self.folder is None:
                self.remembered = {
                    name: {key: value.detach().clone() for key, value in player.state_dict().items()}
                    for name, player in self.objective.players.items()
                }
            else:
                state.best = f"best-{state.step:09d}"
                if self.main:
                    self.folder.save("best", state.step, self.objective.players, {}, {"score": score})
        else:
            state.waited += 1
            if self.settings.patience is not None and state.waited >= self.settings.patience:
                state.stopped = "patience"

    def _same_everywhere(self, score: float) -> float:
        if self.accelerator.num_processes == 1:
            return score
        from accelerate.utils import broadcast_object_list

        return float(broadcast_object_list([score], from_process=0)[0])

    def _due(self, saved: float) -> bool:
        every, seconds = self.settings.checkpoint_every, self.settings.checkpoint_seconds
        return bool(every and self.state.step % every == 0) or bool(seconds and time.monotonic() - saved >= seconds)

    def _save(self, log: RunLog) -> None:
        if self.folder is None or not self.main:
            return
        log.flush()
        self.state.objective = self.objective.state()
        self.folder.save("step", self.state.step, self.objective.players, self.stepper.optimisers, asdict(self.state))

    def _restore_best(self) -> None:
        self.accelerator.wait_for_everyone()
        if self.state.best is not None and self.folder is not None:
            self.folder.load(self.state.best, self.objective.players)
        for name, weights in self.remembered.items():
            self.objective.players[name].load_state_dict(weights)


def _accelerator(log_with: str | Sequence[str] | None, out: Path | None) -> Any:
    from accelerate import Accelerator

    names = [log_with] if isinstance(log_with, str) else list(log_with or [])
    try:
        accelerator = Accelerator(log_with=names or None, project_dir=None if out is None else str(out))
    except ValueError as error:
        raise OptionError(f"log_with={names}: {error}") from error
    if len(accelerator.log_with) < len(set(names)):
        raise OptionError(f"not every tracker of {', '.join(names)} is installed; install its package or leave it out")
    return accelerator
