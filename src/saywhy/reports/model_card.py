"""A card for a trained model: what it was trained for and on, how well it does, how good its explanations are.

The card is the ``README.md`` of the model's folder, which hubs show. It changes nothing that the model is loaded from.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from saywhy.display import visible
from saywhy.errors import LoadError
from saywhy.loop.records import read_run
from saywhy.reports.page import duration, write_page
from saywhy.studies import StudyResult
from saywhy.studies.cells import Store
from saywhy.types import MetricResult

__all__ = ["model_card", "study_cards", "write_card"]

CARD = "README.md"
MADE = "<!-- This card was written by saywhy; a new run writes it again. -->"
Results = Mapping[str, Sequence[MetricResult]]


def model_card(
    folder: str | Path,
    *,
    title: str = "",
    base: str = "",
    facts: Mapping[str, Any] | None = None,
    results: Results | None = None,
) -> str:
    """The card of a model that `saywhy.train` wrote, as Markdown.

    Args:
        folder: of the model; its ``run.json`` and ``saywhy.json`` are read.
        title: of the card; what was trained on what by default.
        base: what the training started from, where the record only knows a path.
        facts: more to say about the training.
        results: what was measured, by dataset. Results without a method are about the model, the others about
            explanations of it.

    Raises:
        LoadError: no model was trained in the folder.

    Example:
        >>> print(model_card("runs/sst2"))                                   # doctest: +SKIP
    """
    place = Path(folder)
    run = read_run(place)
    if run is None:
        raise LoadError(f"{place} has no run.json: a card is made of a model that saywhy trained")
    config, outcome = run.get("config", {}), run.get("result") or {}
    about = _read(place / "saywhy.json")
    data, network = config.get("data", {}), config.get("model", {})
    started = base or Path(str(network.get("name", ""))).name
    parts = [
        _front(config, data),
        MADE,
        f"# {_text(title or '{} on {}'.format(config.get('name', 'model'), data.get('name', 'data')))}",
        f"A text model trained with saywhy for the objective `{_code(config.get('name', ''))}`.",
        _section(
            "Model",
            {
                "task": about.get("task"),
                "labels": about.get("labels"),
                "network or starting point": started,
                "options": network.get("options"),
                "longest input, in pieces": about.get("max_length"),
                "fingerprint": about.get("fingerprint"),
            },
        ),
        _section("Data", {"dataset": data.get("name"), "examples": config.get("examples"), "splits": _hashes(data)}),
        _section("Training", _training(config, run.get("environment", {}), outcome) | dict(facts or {})),
        _measured(results or {}),
        _explained(results or {}),
        '## Use\n\n```python\nimport saywhy\n\nmodel = saywhy.load("this folder")\n'
        'print(model.predict(["A text."]))\nprint(saywhy.explain(model, "A text."))\n```',
        "## Limits\n\nThe numbers are about the data they were measured on. On other texts the model may do worse, and "
        "so may explanations of it: measure again with `saywhy evaluate`.",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def write_card(folder: str | Path, **given: Any) -> Path | None:
    """Write `model_card` into the model's folder.

    Returns:
        Its path; None where somebody else's ``README.md`` stands there, which is left as it is.
    """
    target = Path(folder) / CARD
    if target.is_file() and MADE not in target.read_text(encoding="utf-8", errors="replace"):
        return None
    return write_page(target, model_card(folder, **given))


def study_cards(result: StudyResult) -> list[Path]:
    """Cards for all models that a study trained, with all that it measured on each of them."""
    store, study = Store(result.folder), result.study
    titles = {cell.name: cell.title for cell in result.plan.cells}
    measured: dict[str, dict[str, list[MetricResult]]] = {}
    for cell in result.plan.cells:
        if cell.kind == "evaluate" and cell.name in result.results and "cell" in cell.config["model"]:
            of_model = measured.setdefault(cell.config["model"]["cell"], {}).setdefault(_where(cell), [])
            of_model += map(_result, result.results[cell.name]["results"])
    written = []
    for cell in result.plan.cells:
        folder = store.folder(cell.name) / "model"
        if cell.kind != "train" or cell.name not in result.results or not (folder / "run.json").is_file():
            continue
        start = cell.config["model"]
        card = write_card(
            folder,
            title=f"{cell.facts['model']}, seed {cell.facts['seed']}",
            base=titles.get(start["cell"], "another model of the study") if isinstance(start, Mapping) else "",
            facts={"study": study.title or study.study, "cell": cell.name},
            results=measured.get(cell.name, {}),
        )
        written += [card] if card is not None else []
    return written


def _where(cell: Any) -> str:
    split = cell.config["data"].get("split")
    return f"{cell.facts['data']}, {split}" if split else str(cell.facts["data"])


def _result(entry: Mapping[str, Any]) -> MetricResult:
    """A result as a cell keeps it, by the titles of the study."""
    known = {f.name for f in fields(MetricResult)} - {"range"}
    found = MetricResult(**{key: value for key, value in entry["result"].items() if key in known})
    return replace(found, name=entry["metric"], method=entry["method"], values=())


def _front(config: Mapping[str, Any], data: Mapping[str, Any]) -> str:
    """What hubs read: YAML, of which JSON is a part."""
    tags = [t for t in ("saywhy", config.get("name")) if t]
    lines = ["library_name: saywhy", f"tags: {json.dumps(tags)}"]
    # Only names can be names of datasets of a hub; a file's path is nobody's business.
    if re.fullmatch(r"[A-Za-z0-9][\w.-]*", str(data.get("name", ""))):
        lines.append(f"datasets: {json.dumps([data['name']])}")
    return "\n".join(["---", *lines, "---"])


def _training(config: Mapping[str, Any], environment: Mapping[str, Any], outcome: Mapping[str, Any]) -> dict[str, Any]:
    loop = {k: v for k, v in config.get("loop", {}).items() if v is not None and k != "seed"}
    versions = {k: v for k, v in environment.get("versions", {}).items() if v}
    score, seconds = outcome.get("best_score"), outcome.get("seconds")
    steps, spent, held = (outcome.get(key) for key in ("steps", "cpu_seconds", "peak_bytes"))
    return {
        "objective": config.get("name"),
        "options": config.get("options"),
        "loop": loop,
        "optimisers": config.get("optimisers"),
        "seed": config.get("loop", {}).get("seed"),
        "steps": steps,
        "score on the development split": f"{score:.3f} at step {outcome.get('best_step')}"
        if score is not None
        else None,
        "time": duration(float(seconds)) if seconds is not None else None,
        "CPU time of a step": f"{float(spent) / int(steps):.3g} s" if spent and steps else None,
        "memory": f"{float(held) / 2**30:.2f} GiB" if held else None,
        "threads": environment.get("threads"),
        "versions": versions,
    }


def _hashes(data: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in data.items() if key != "name"}


def _section(title: str, facts: Mapping[str, Any]) -> str:
    lines = [f"- {name}: {_fact(value)}" for name, value in facts.items() if value not in (None, "", (), [], {})]
    return "\n".join([f"## {title}", "", *lines]) if lines else ""


def _measured(results: Results) -> str:
    rows = [
        (data, r.name, f"{r.value:z.3f}", f"{r.low:z.3f} to {r.high:z.3f}", str(r.n))
        for data, found in results.items()
        for r in found
        if not r.method
    ]
    return _table("How well it does", ("data", "metric", "value", "95 % interval", "n"), rows)


def _explained(results: Results) -> str:
    rows = []
    metrics: dict[str, bool] = {}
    for data, found in results.items():
        by_method: dict[str, dict[str, MetricResult]] = {}
        for r in found:
            if r.method:
                by_method.setdefault(r.method, {})[r.name] = r
                metrics[r.name] = r.higher_is_better
        rows += [(data, method, by_name) for method, by_name in by_method.items()]
    heads = ("data", "method", *(f"{name} {'↑' if higher else '↓'}" for name, higher in metrics.items()))
    lines = [(data, method, *(_value(by_name.get(name)) for name in metrics)) for data, method, by_name in rows]
    return _table("How good explanations of it are", heads, lines)


def _value(result: MetricResult | None) -> str:
    return "" if result is None else f"{result.value:z.3f} [{result.low:z.3f}, {result.high:z.3f}]"


def _table(title: str, head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [list(head), ["---"] * len(head), *([_text(value) for value in row] for row in rows)]
    if len(lines) == 2:
        return ""
    lines[0] = [_text(value) for value in head]
    return "\n".join([f"## {title}", "", *(f"| {' | '.join(line)} |" for line in lines)])


def _fact(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{_text(k)}: {_fact(v)}" for k, v in value.items() if v not in (None, "", (), [], {}))
    if isinstance(value, list | tuple):
        return ", ".join(_fact(v) for v in value)
    return _text(f"{value:g}" if isinstance(value, float) else str(value))


def _text(text: str) -> str:
    """Text that Markdown shows as it is: no tags, no links, no new columns or lines."""
    plain = " ".join(visible(text).split())
    plain = plain.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_\[\]|#!])", r"\\\1", plain)


def _code(text: str) -> str:
    return " ".join(visible(text).replace("`", "'").split())


def _read(file: Path) -> dict[str, Any]:
    return dict(json.loads(file.read_text(encoding="utf-8"))) if file.is_file() else {}
