"""`compare`: the same work by saywhy, by the peers and by the bare model, text by text in one run."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from saywhy import __version__
from saywhy.benchmarks import jobs
from saywhy.benchmarks.bench import Bench, Settings
from saywhy.benchmarks.environments import PEERS, InstallError, environment
from saywhy.benchmarks.table import PeerTable, Row
from saywhy.benchmarks.workers import Worker, WorkerError
from saywhy.errors import OptionError, UnknownNameError

__all__ = ["WORK", "Plan", "compare", "estimate"]

WORK: dict[str, tuple[str, Callable[[Bench, Settings], Iterator[Row]]]] = {
    "gradient": ("captum", jobs.gradients),
    "integrated-gradients": ("captum", jobs.integrated_gradients),
    "leave-one-out": ("captum", jobs.leave_one_out),
    "faithfulness": ("ferret", jobs.faithfulness),
    "lime": ("lime", jobs.lime),
    "kernel-shap": ("shap", jobs.kernel_shap),
}
"""What can be compared: whose peer, and how."""

Say = Callable[[str], None]


@dataclass(frozen=True)
class Plan:
    """What to compare.

    Args:
        model: folder or hub name of a classifier of transformers.
        data: dataset the texts are made of.
        tokens: lengths of texts.
        texts: texts of each length.
        sampled_texts: of these, how many LIME and Kernel SHAP see; their references take most of the time.
        peers: names of peers.
        work: names of ``WORK``.
        samples: numbers of samples on the curves of LIME and Kernel SHAP.
        reference: samples of the explanations that errors are measured against.
        seed: of the texts and of everything random.
    """

    model: str
    data: str = "sst2"
    tokens: tuple[int, ...] = (32, 128)
    texts: int = 20
    sampled_texts: int = 4
    peers: tuple[str, ...] = tuple(PEERS)
    work: tuple[str, ...] = tuple(WORK)
    samples: tuple[int, ...] = (125, 250, 500, 1000)
    reference: int = 10_000
    seed: int = 0

    def __post_init__(self) -> None:
        for kind, names, known in (("peer", self.peers, PEERS), ("work", self.work, WORK)):
            for name in names:
                if name not in known:
                    raise UnknownNameError(kind, name, known)
        if self.texts < 1 or self.sampled_texts < 1:
            raise OptionError(f"at least one text is needed, not {min(self.texts, self.sampled_texts)}")
        if not self.tokens or min(self.tokens) < 8:
            raise OptionError(f"texts must have at least 8 tokens, not {list(self.tokens)}")
        if len(self.samples) < 2 or max(self.samples) >= self.reference:
            raise OptionError("give two or more numbers of samples, all below that of the reference")

    @property
    def settings(self) -> Settings:
        """What the jobs need to know."""
        return Settings(min(self.sampled_texts, self.texts), self.samples, self.reference, self.seed)


def compare(plan: Plan, say: Say = lambda line: None) -> PeerTable:
    """Do all the work of a plan, each tool in a process of its own with one thread.

    A peer that does not install or fails has rows that say so; saywhy and the floor are measured all the same.

    Args:
        plan: what to compare.
        say: told what is being done.
    """
    rows: list[Row] = []
    with ExitStack() as stack:
        own = stack.enter_context(Worker("saywhy", sys.executable, "saywhy.benchmarks.own", plan.model))
        peers, missing = _open(plan, stack, say)
        fingerprint = ""
        for tokens in plan.tokens:
            made = own.ask("texts", data=plan.data, tokens=tokens, count=plan.texts, seed=plan.seed)
            fingerprint = made["fingerprint"]
            for name, worker in list(peers.items()):
                try:
                    worker.ask("texts", items=[{k: i[k] for k in ("text", "words", "target")} for i in made["items"]])
                except WorkerError as error:
                    missing[name] = str(error)
                    del peers[name]
            for work in plan.work:
                peer, run = WORK[work]
                if peer not in plan.peers:
                    continue
                say(f"{work} with {peer}, {tokens} tokens")
                reason = missing.get(peer, "")
                bench = Bench(own, peers.get(peer), peer, tokens, tuple(made["items"]), fingerprint, reason, say)
                for row in run(bench, plan.settings):
                    rows.append(row)
                    say("  " + "  ".join(cell for cell in row.cells() if cell))
    return PeerTable(
        rows=tuple(rows),
        model=plan.model,
        fingerprint=fingerprint,
        data=plan.data,
        seed=plan.seed,
        versions={"saywhy": __version__, **{name: _version(name) for name in plan.peers}},
        notes=tuple(missing.values()),
    )


def estimate(plan: Plan) -> dict[str, Any]:
    """How long a comparison would take, from the time of one model call at each length."""
    total, rows = 0.0, {}
    with Worker("saywhy", sys.executable, "saywhy.benchmarks.own", plan.model) as own:
        for tokens in plan.tokens:
            made = own.ask("texts", data=plan.data, tokens=tokens, count=1, seed=plan.seed)
            each = own.ask("forward", rows=16)["seconds"] / 16
            words = len(made["items"][0]["words"])
            counted = sum(jobs.model_rows(work, words, plan.texts, plan.settings) for work in _chosen(plan))
            rows[tokens] = counted
            total += counted * each
    return {"seconds": total, "rows": rows}


def _chosen(plan: Plan) -> Sequence[str]:
    return [work for work in plan.work if WORK[work][0] in plan.peers]


def _open(plan: Plan, stack: ExitStack, say: Say) -> tuple[dict[str, Worker], dict[str, str]]:
    """The peers' processes, and why some are missing."""
    peers: dict[str, Worker] = {}
    missing: dict[str, str] = {}
    for name in dict.fromkeys(WORK[work][0] for work in _chosen(plan)):
        try:
            python = environment(name, say)
        except InstallError as error:
            missing[name] = str(error)
            say(str(error))
            continue
        peers[name] = stack.enter_context(Worker(name, python, PEERS[name].module, plan.model))
    return peers, missing


def _version(name: str) -> str:
    peer = PEERS[name]
    own = [r for r in (*peer.alone, *peer.requirements) if r.startswith(name)]
    return own[0].partition("==")[2]
