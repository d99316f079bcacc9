"""A gate: requirements that a model and its explanations must meet, for people and for continuous integration."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any
from xml.etree import ElementTree

from saywhy import __version__
from saywhy.audits.corpus import Overview, overview
from saywhy.audits.requirements import Requirement, read_requirement
from saywhy.audits.texts import own_texts
from saywhy.errors import OptionError, UnknownNameError
from saywhy.metrics import evaluate
from saywhy.metrics.base import metrics as known_metrics
from saywhy.metrics.table import EvaluationTable
from saywhy.types import MetricResult

__all__ = ["CheckReport", "Checked", "check"]

SHORTCUTS = "shortcuts"
"""Not a metric of `evaluate`: how many possible shortcuts an overview finds."""


@dataclass(frozen=True)
class Checked:
    """One requirement on one method (empty: the model itself): what was measured, and whether it will do."""

    requirement: str
    method: str
    passed: bool
    value: float
    low: float
    high: float
    n: int
    detail: str

    @property
    def title(self) -> str:
        """The requirement with the method it was checked for."""
        own = not self.method or self.requirement.startswith(f"{self.method}:")
        return self.requirement if own else f"{self.method}:{self.requirement}"


@dataclass(frozen=True)
class CheckReport:
    """All requirements, checked; true where all are met."""

    checked: tuple[Checked, ...]
    data: str
    n: int
    seed: int
    model: str
    version: str = __version__

    @property
    def passed(self) -> bool:
        """Whether all requirements are met."""
        return all(each.passed for each in self.checked)

    def __bool__(self) -> bool:
        return self.passed

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {"kind": "check", "schema": 1, "passed": self.passed, **asdict(self)}

    def to_json(self, indent: int | None = 2) -> str:
        """The same as a string."""
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=indent)

    def to_junit(self) -> str:
        """JUnit's XML, which continuous integration shows as tests: a case for each requirement."""
        failed = sum(not each.passed for each in self.checked)
        suite = ElementTree.Element(
            "testsuite", name=f"saywhy check {self.data}".strip(), tests=str(len(self.checked)), failures=str(failed)
        )
        for each in self.checked:
            case = ElementTree.SubElement(suite, "testcase", classname="saywhy.check", name=each.title)
            if not each.passed:
                ElementTree.SubElement(case, "failure", message=each.detail).text = each.detail
        ElementTree.indent(suite)
        return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"

    def __str__(self) -> str:
        return "\n".join(f"{'ok  ' if each.passed else 'FAIL'} {each.title}: {each.detail}" for each in self.checked)

    def __rich__(self) -> Any:
        from rich.table import Table
        from rich.text import Text

        good = sum(each.passed for each in self.checked)
        title = f"{self.data or 'check'}: {self.n} examples, {good} of {len(self.checked)} requirements met"
        table = Table(title=title, title_justify="left")
        for name in ("requirement", "measured", ""):
            table.add_column(name)
        for each in self.checked:
            mark = Text("ok", "green") if each.passed else Text("FAILED", "bold red")
            table.add_row(Text(each.title), Text(each.detail), mark)
        return table


def check(
    model: Any,
    data: Any,
    require: str | Requirement | Iterable[str | Requirement],
    methods: str | Sequence[str] = ("auto",),
    *,
    confident: bool = False,
    split: str | None = None,
    limit: int | None = None,
    seed: int = 0,
    **options: Any,
) -> CheckReport:
    """Measure what requirements speak of, and say which are met.

    Args:
        model: anything `saywhy.load` takes.
        data: as for `saywhy.evaluate`.
        require: requirements, as `read_requirement` reads them: ``"sufficiency>=0.6"``, ``"lime:truth>=0.8"``,
            ``"accuracy>=0.9"``, ``"comprehensiveness>random"``; ``"shortcuts<=0"`` asks `saywhy.overview`.
        methods: whose explanations the requirements that name no method are about.
        confident: a number must be kept by the whole interval of a metric, not only by its value.
        split: of a dataset; by default ``test``, else ``dev``, and all of a file of one's own.
        limit: at most so many examples, drawn by ``seed``.
        seed: of everything random.
        options: of `saywhy.evaluate` and of the metrics, such as ``erasure`` or ``score``.

    Example:
        >>> fan = lambda ts: [[float("good" in t), float("good" not in t)] for t in ts]
        >>> from saywhy.models import load
        >>> from saywhy.types import Example
        >>> good = [Example(("a good film",), "yes"), Example(("a film",), "no")]
        >>> report = check(load(fan, labels=["yes", "no"]), good, "accuracy>=0.9")
        >>> bool(report)
        True
    """
    given = [require] if isinstance(require, str | Requirement) else list(require)
    wanted = [read_requirement(each) if isinstance(each, str) else each for each in given]
    if not wanted:
        raise OptionError("no requirement; give at least one, such as 'sufficiency>=0.6'")
    names = [methods] if isinstance(methods, str) else list(methods)
    own = {each.method for each in wanted if each.method is not None}
    rivals = {each.bound for each in wanted if isinstance(each.bound, str)}
    for each in wanted:
        if each.metric not in known_metrics and each.metric != SHORTCUTS:
            raise UnknownNameError("metric", each.metric, [*known_metrics.names(), SHORTCUTS])
    measured = {each.metric for each in wanted} - {SHORTCUTS}
    of_model = {name for name in measured if known_metrics[name].value.of == "model"} | {SHORTCUTS}
    for each in wanted:
        if each.metric in of_model and (each.method is not None or isinstance(each.bound, str)):
            raise OptionError(f"{each}: {each.metric} is of the model, whatever explains it; give a number to keep")
    about = [each for each in wanted if each.metric not in of_model]
    everyone = list(dict.fromkeys([*(names if any(e.method is None for e in about) else []), *sorted(own | rivals)]))
    texts, part = own_texts(data, split, options.pop("data_options", None))
    checked: list[Checked] = []
    title, n, fingerprint = "", 0, ""
    table: EvaluationTable | None = None
    if measured:
        chosen = list(dict.fromkeys(each.metric for each in wanted if each.metric != SHORTCUTS))
        table = evaluate(model, texts, everyone, chosen, split=part, limit=limit, seed=seed, **options)
        title, n, fingerprint = table.data, table.n, table.model
    for each in wanted:
        if each.metric == SHORTCUTS:
            run = {k: v for k, v in options.items() if k in ("batch_size", "truncation")}
            seen = overview(model, texts, method=names[0], split=part, limit=limit, seed=seed, **run)
            title, n, fingerprint = seen.data, seen.n, seen.model
            checked.append(_shortcuts(each, seen))
            continue
        assert table is not None
        for method in [""] if each.metric in of_model else [each.method] if each.method is not None else names:
            checked.append(_checked(each, method, table, confident))
    return CheckReport(tuple(checked), title, n, seed, fingerprint)


def _shortcuts(requirement: Requirement, seen: Overview) -> Checked:
    count = float(len(seen.candidates))
    words = ", ".join(repr(candidate.word) for candidate in seen.candidates)
    detail = f"{int(count)} possible: {words}" if words else f"none among the {len(seen.tried)} words that decide most"
    return Checked(str(requirement), "", requirement.keeps(count), count, count, count, seen.n, detail)


def _checked(requirement: Requirement, method: str, table: EvaluationTable, confident: bool) -> Checked:
    result = table.find(method, requirement.metric)
    if isinstance(requirement.bound, str):
        passed, detail = _compared(requirement, method, table)
    else:
        ends = (result.low, result.high) if confident else (result.value,)
        passed = all(requirement.keeps(end) for end in ends)
        detail = _measured(result)
    return Checked(str(requirement), method, passed, result.value, result.low, result.high, result.n, detail)


def _compared(requirement: Requirement, method: str, table: EvaluationTable) -> tuple[bool, str]:
    if method == requirement.bound:
        raise OptionError(f"{requirement}: {method} cannot be compared with itself")
    found = table.compare(method, str(requirement.bound), requirement.metric)
    return found.verdict == "better" if requirement.sign == ">" else found.verdict != "worse", str(found)


def _measured(result: MetricResult) -> str:
    arrow = "higher" if result.higher_is_better else "lower"
    return f"{result.value:z.3f} [{result.low:z.3f}, {result.high:z.3f}], {arrow} is better"
