"""`saywhy demo`: from nothing to a report, with planted reviews whose true reasons are known."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from saywhy.cli.shared import Json, Seed, print_json, show
from saywhy.errors import OptionError

__all__ = ["demo"]

METHODS = (
    "random",
    "attention",
    "scaled-attention",
    "gradient",
    "input-x-gradient",
    "integrated-gradients",
    "leave-one-out",
)
METRICS = ("accuracy", "truth", "sufficiency", "comprehensiveness")


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the model and the report.")] = Path("demo"),
    examples: Annotated[int, typer.Option(help="How many examples to measure on.")] = 100,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Train a small model, explain it by several methods, measure them, write a report. No data, no downloads.

    The reviews are generated: they speak of several aspects, and the opinion on one of them decides the label. So the
    true reasons are known, and the report says which methods found them.
    """
    import time

    from saywhy.data import load_dataset
    from saywhy.explainers import explain
    from saywhy.metrics import evaluate
    from saywhy.reports import report

    start = time.monotonic()

    def say(line: str) -> None:
        if not as_json:
            show(f"[dim]{time.monotonic() - start:5.0f} s[/dim]  {line}")

    data = load_dataset("planted-reviews", size="demo", seed=seed)
    say(f"planted reviews: {len(data['train'])} to train on, {len(data['test'])} to test on")
    model = _train(data, out / "model", seed)
    say(f"trained a small transformer: {out / 'model'}")
    table = evaluate(model, data, METHODS, METRICS, split="test", limit=examples, seed=seed)
    whole = evaluate(model, data, (), "accuracy", split="test").results[0]
    say(f"measured {len(METHODS)} methods on {table.n} reviews")
    shown = list(data["test"][:6])
    explanations = [why for name in METHODS for why in explain(model, shown, name, seed=seed, verdict=True)]
    seconds = time.monotonic() - start
    size = sum(parameter.numel() for parameter in model.module.parameters())
    card = {
        "task": model.task.name,
        "labels": model.labels,
        "architecture": f"{type(model.module).__name__}, {size:,} parameters",
        "data": f"{data.name} (generated, seed {seed})",
        "accuracy": whole,
        "fingerprint": model.fingerprint,
        "version": table.version,
        "seed": seed,
        "time": f"{seconds:.0f} s",
    }
    page = report(
        "What made the model say so?",
        card=card,
        explanations=explanations,
        examples=shown,
        results=[r for r in table.results if r.method],
        summary="A small transformer was trained on generated reviews whose true reasons are known, and explained by "
        "several methods. The table says which of them found what really decided.",
    ).write(out / "report.html")
    if as_json:
        print_json({"report": str(page), "model": str(out / "model"), "accuracy": whole.value, **table.to_dict()})
        return
    show(table, f"accuracy on {whole.n} test reviews: {whole.value:z.3f} [{whole.low:z.3f}, {whole.high:z.3f}]")
    show(explanations[METHODS.index("integrated-gradients") * len(shown)])
    say(f"done; open [bold]{page}[/bold] in a browser")


def _train(data: Any, folder: Path, seed: int) -> Any:
    from saywhy.loop import read_run
    from saywhy.objectives import train

    try:
        return train("plain", data, "text-transformer", out=folder, seed=seed)
    except OptionError:
        if read_run(folder) is None:
            raise
        # An earlier demo with another seed or another version of the reviews: the folder is the demo's own.
        return train("plain", data, "text-transformer", out=folder, seed=seed, resume=False)
