from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from saywhy.studies import Row, Study, StudyTable
from saywhy.studies.cells import Cell
from saywhy.studies.grids import change_grids, grids
from saywhy.studies.plan import Plan
from saywhy.studies.table import make_table

Values = Mapping[tuple[str, str, str, str, int], Sequence[float]]
"""By model, data, method, metric and seed."""


def table(
    values: Values,
    *,
    lower: Sequence[str] = (),
    paper: Mapping[str, Any] | None = None,
    baseline: str = "random",
    totals: Mapping[str, float] | None = None,
    variants: Mapping[str, Mapping[str, Any]] | None = None,
    reference: str | dict[str, str] | None = None,
    counterparts: Mapping[str, str] | None = None,
    examples: int | None = None,
    steps: Mapping[str, str] | None = None,
    erasures: Mapping[str, str] | None = None,
) -> StudyTable:
    """A table of results made by hand.

    ``totals`` are values that are not the mean of the examples'; ``examples`` are all there are, of which some may not
    count; ``steps`` and ``erasures`` are those of models.
    """
    cells, results = [], {}
    for (model, data, method, metric, seed), found in values.items():
        variant = dict((variants or {}).get(model, {}))
        step = (steps or {}).get(model, "s")
        facts = {"step": step, "model": model, "data": data, "method": method, "seed": seed, "variant": variant}
        cell = Cell("evaluate", {**facts, "metric": metric}, {}, (), facts)
        value = (totals or {}).get(metric, float(np.mean(found)))
        result = {
            "value": value,
            "low": value - 0.5,
            "high": value + 0.5,
            "n": len(found),
            "values": list(found),
            "higher_is_better": metric not in lower,
            "erasure": (erasures or {}).get(model, "delete"),
        }
        cells.append(cell)
        entries = [{"method": method, "metric": metric, "result": result}]
        results[cell.name] = {"n": examples or len(found), "results": entries}
    document: dict[str, Any] = {"study": "s", "baseline": baseline, "reference": reference}
    document["counterparts"] = dict(counterparts or {})
    document["evaluate"] = {"s": {"model": "m", "data": "d", "metrics": ["truth"]}}
    if paper is not None:
        document["paper"] = {"table": "T", "values": dict(paper)}
    return make_table(Plan(Study.model_validate(document), tuple(cells)), results)


def spread(mean: float, n: int = 40, width: float = 0.1, seed: int = 0) -> list[float]:
    drawn = np.random.default_rng(seed).normal(0, width, n)
    return list(drawn - drawn.mean() + mean)


def two_seeds(**methods: float) -> Values:
    return {("m", "d", name, "truth", seed): spread(mean) for name, mean in methods.items() for seed in (0, 1)}


def test_means_and_deviations_are_those_of_the_seeds() -> None:
    seeds = {3: [0.2, 0.4], 1: [0.5, 0.7], 2: [0.1, 0.9]}
    (row,) = table({("m", "d", "lime", "truth", s): v for s, v in seeds.items()}).rows
    means = [0.6, 0.5, 0.3]
    assert row.value == pytest.approx(np.mean(means))
    assert row.deviation == pytest.approx(np.std(means, ddof=1))
    assert row.seeds == pytest.approx({"1": 0.6, "2": 0.5, "3": 0.3})
    assert list(row.seeds) == ["1", "2", "3"]
    assert row.n == 2


def test_one_seed_keeps_the_interval_of_its_result_and_deviates_by_nothing() -> None:
    (row,) = table({("m", "d", "lime", "truth", 0): [0.2, 0.4]}).rows
    assert (row.deviation, row.low, row.high) == (0.0, pytest.approx(-0.2), pytest.approx(0.8))


def test_the_interval_is_that_of_the_bootstrap_over_seeds_and_examples() -> None:
    groups = [np.asarray(spread(mean, seed=i)) for i, mean in enumerate((0.3, 0.5, 0.7))]
    (row,) = table({("m", "d", "lime", "truth", i): list(v) for i, v in enumerate(groups)}).rows
    rng = np.random.default_rng(1)
    resampled = np.stack([v[rng.integers(0, 40, (20000, 3, 40))].mean(axis=2) for v in groups])
    picked = rng.integers(0, 3, (20000, 3))
    draws = np.take_along_axis(resampled, picked[None], axis=0)[0].mean(axis=1)
    assert (row.low, row.high) == pytest.approx(tuple(np.quantile(draws, [0.025, 0.975])), abs=0.02)
    # Examples alone would say far too much.
    assert row.high - row.low > 4 * 1.96 * 0.1 / np.sqrt(120)


def test_a_metric_that_is_no_mean_is_resampled_over_seeds_only() -> None:
    values = {("m", "d", "lime", "f1", s): [0.1, 0.2, 0.3] for s in (0, 1)}
    (row,) = table(values, totals={"f1": 0.9}).rows
    assert (row.value, row.low, row.high) == pytest.approx((0.9, 0.9, 0.9))


def test_marks_say_clearly_better_or_worse_than_the_baseline_in_the_metrics_direction() -> None:
    values = two_seeds(random=0.5, good=0.6, bad=0.4, same=0.5)
    assert {row.method: row.mark for row in table(values).rows} == {"random": "", "good": "+", "bad": "-", "same": ""}
    turned = {row.method: row.mark for row in table(values, lower=["truth"]).rows}
    assert turned == {"random": "", "good": "-", "bad": "+", "same": ""}
    assert {row.mark for row in table(values, baseline="nobody").rows} == {""}


def test_the_comparison_is_paired() -> None:
    """Both move with the examples by far more than they differ: only pairs can tell them apart."""
    base = np.asarray(spread(0.5, width=0.3))
    better = base + np.asarray(spread(0.02, width=0.005, seed=1))
    rows = table({("m", "d", "random", "truth", 0): list(base), ("m", "d", "lime", "truth", 0): list(better)}).rows
    lime = rows[1]
    assert lime.mark == "+"
    assert lime.difference is not None
    assert lime.difference[0] == pytest.approx(0.02)
    bounds = np.quantile(
        [np.random.default_rng(i).choice(better - base, 40).mean() for i in range(4000)], [0.025, 0.975]
    )
    assert lime.difference[1:] == pytest.approx(tuple(bounds), abs=5e-4)


def test_the_baseline_is_that_of_the_same_model_and_data() -> None:
    values = {
        ("a", "d", "random", "truth", 0): spread(0.1),
        ("a", "d", "lime", "truth", 0): spread(0.5),
        ("b", "d", "random", "truth", 0): spread(0.9),
        ("b", "d", "lime", "truth", 0): spread(0.5),
        ("a", "e", "lime", "truth", 0): spread(0.5),
    }
    marks = {(r.model, r.data, r.method): r.mark for r in table(values).rows}
    assert marks["a", "d", "lime"] == "+"
    assert marks["b", "d", "lime"] == "-"
    assert marks["a", "e", "lime"] == ""


def test_metrics_of_the_model_have_no_baseline() -> None:
    rows = table({("m", "d", "", "accuracy", 0): spread(0.9), ("m", "d", "random", "accuracy", 0): spread(0.1)}).rows
    assert [row.difference for row in rows] == [None, None]


def two_models(means: Mapping[str, float], seeds: Sequence[int] = (0, 1), n: int = 40) -> Values:
    return {(m, "d", "lime", "truth", s): spread(v, n, seed=s) for m, v in means.items() for s in seeds}


def test_models_are_compared_with_the_reference_in_the_metrics_direction() -> None:
    values = two_models({"plain": 0.5, "good": 0.6, "bad": 0.4, "same": 0.5})
    marks = {row.model: row.change_mark for row in table(values, reference="plain").rows}
    assert marks == {"plain": "", "good": "+", "bad": "-", "same": ""}
    turned = {row.model: row.change_mark for row in table(values, reference="plain", lower=["truth"]).rows}
    assert turned == {"plain": "", "good": "-", "bad": "+", "same": ""}
    assert all(row.change is None for row in table(values).rows)


def test_each_model_may_have_a_reference_of_its_own() -> None:
    values = two_models({"plain": 0.5, "new": 0.6, "old": 0.3, "older": 0.1})
    rows = table(values, reference={"new": "plain", "older": "old"}).rows
    assert {row.model: row.reference for row in rows} == {"plain": "", "new": "plain", "old": "", "older": "old"}
    assert [(grid.reference, grid.names) for grid in change_grids(rows)] == [
        ("plain", ("new · lime",)),
        ("old", ("older · lime",)),
    ]


def test_models_are_compared_example_by_example() -> None:
    base = np.asarray(spread(0.5, width=0.3))
    better = base + np.asarray(spread(0.02, width=0.005, seed=1))
    values = {("plain", "d", "lime", "truth", 0): list(base), ("new", "d", "lime", "truth", 0): list(better)}
    new = table(values, reference="plain").rows[1]
    assert new.change == pytest.approx((0.02, 0.0185, 0.0215), abs=1e-3)
    assert new.change_mark == "+"
    # Of 50 examples 40 count, and for which model which ones do is not known: one seed alone says nothing.
    assert table(values, reference="plain", examples=50).rows[1].change is None


def test_few_seeds_without_examples_are_not_called_clear() -> None:
    def judge(seeds: int) -> Row:
        means = {"plain": 0.5, "new": 0.7}
        return table(two_models(means, range(seeds)), reference="plain", examples=50).rows[-1]

    assert judge(3).change == pytest.approx((0.2, 0.2, 0.2))
    assert (judge(3).change_mark, judge(6).change_mark) == ("", "+")


def test_a_reference_that_was_trained_once_stands_for_every_seed() -> None:
    values = {**two_models({"plain": 0.5}, [0]), **two_models({"new": 0.6}, [0, 1, 2])}
    new = table(values, reference="plain").rows[1]
    assert new.change is not None
    assert new.change[0] == pytest.approx(0.1)
    other = {**two_models({"plain": 0.5}, [7, 8]), **two_models({"new": 0.6}, [0, 1])}
    assert table(other, reference="plain").rows[-1].change is None


def test_the_reference_may_stand_in_another_step_if_it_was_measured_alike() -> None:
    values = two_models({"plain": 0.5, "new": 0.6})
    assert table(values, reference="plain", steps={"plain": "t"}).rows[1].change is not None
    otherwise = table(values, reference="plain", steps={"plain": "t"}, erasures={"plain": "pad"})
    assert otherwise.rows[1].change is None


def test_what_a_model_says_of_itself_has_a_counterpart_on_the_reference() -> None:
    values = {
        ("plain", "d", "attention", "truth", 0): spread(0.5),
        ("plain", "d", "lime", "truth", 0): spread(0.7),
        ("new", "d", "ivra", "truth", 0): spread(0.6),
        ("new", "d", "lime", "truth", 0): spread(0.7),
    }
    paper = {"plain": {"attention": 1, "lime": 2}, "new": {"ivra": 3, "lime": 4}}
    alone = table(values, reference="plain", paper=paper)
    assert [row.change is None for row in alone.rows] == [True, True, True, False]
    found = table(values, reference="plain", counterparts={"ivra": "attention"}, paper=paper)
    own, same = found.rows[2:]
    assert own.change is not None
    assert own.change[0] == pytest.approx(0.1)
    assert (own.reference, own.change_mark) == ("attention of plain", "+")
    assert same.reference == "plain"  # a method that the reference has is compared with itself
    # plain (attention) is below new (ivra), plain (lime) is not; two methods of two models say nothing still.
    assert (alone.orderings()[:2], found.orderings()[:2]) == ((2, 3), (3, 5))
    assert any("new (ivra) above plain (lime)" in told for told in found.orderings()[2])


def test_changes_are_shown_everywhere(tmp_path: Path) -> None:
    values = {**two_models({"plain": 0.5, "new": 0.6}), ("new", "d", "", "accuracy", 0): spread(0.9)}
    found = table(values, reference="plain")
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(found)
    text = console.export_text()
    assert "changes from plain on d" in text
    assert "+0.100 +" in text
    assert "than the model they are from" in text
    assert "changes from plain on d" in found._repr_html_()
    assert r"new · lime & +0.100$^{+}$ \\" in found.to_latex()
    read = list(csv.DictReader(io.StringIO(found.to_csv())))
    assert [bool(row["change"]) for row in read] == [False, True, False]
    found.write_parquet(tmp_path / "t.parquet")
    (grid,) = change_grids(found.rows)
    assert (grid.names, grid.metrics, grid.best("truth")) == (("new · lime",), ("truth",), None)


@pytest.mark.parametrize(
    "paper",
    [
        {"lime": {"truth": 0.7}},
        {"lime": 0.7},
        {"d": {"lime": {"truth": 0.7}}},
        {"m": {"d": {"lime": {"truth": 0.7}}}},
        {"m": {"lime": {"truth": 0.7}}},
    ],
)
def test_the_papers_values_are_found_though_levels_are_left_out(paper: dict[str, Any]) -> None:
    rows = table(two_seeds(random=0.1, lime=0.5), paper=paper).rows
    assert {row.method: row.paper for row in rows} == {"random": None, "lime": 0.7}


def test_orderings_hold_or_are_told() -> None:
    values = two_seeds(a=0.1, b=0.2, c=0.3)
    assert table(values, paper={"a": 1, "b": 2, "c": 3}).orderings() == (3, 3, [])
    assert table(values).orderings() == (0, 0, [])
    held, total, broken = table(values, paper={"a": 1, "b": 3, "c": 2}).orderings()
    assert (held, total) == (2, 3)
    assert broken == ["d, truth: the paper has b above c (3 against 2); here 0.200 against 0.300"]
    assert table(values, paper={"a": 1, "b": 1}).orderings()[1] == 0


def test_orderings_compare_one_thing_at_a_time_and_name_it() -> None:
    values = {(m, "d", x, "truth", 0): [v] for m, x, v in (("p", "a", 0.1), ("p", "b", 0.2), ("q", "a", 0.3))}
    paper = {"p": {"a": 3, "b": 4}, "q": {"a": 2}}
    held, total, broken = table(values, paper=paper).orderings()
    assert (held, total) == (1, 2)  # a and b on p; a on p and on q; b on p and a on q says nothing
    assert broken == ["d, truth: the paper has p (a) above q (a) (3 against 2); here 0.100 against 0.300"]


@pytest.fixture
def full() -> StudyTable:
    values = {
        **{("m & n", "d", x, "truth", s): spread(v) for x, v in (("random", 0.1), ("a_b", 0.5)) for s in (0, 1)},
        **{("m & n", "d", "a_b", "cost", s): spread(0.3 + s / 100) for s in (0, 1)},
        ("m & n", "d", "", "accuracy", 0): spread(0.9),
        ("other", "d", "", "accuracy", 0): spread(0.8),
    }
    variants = {"m & n": {"lr": 0.1}, "other": {"lr": 1, "net": "gru"}}
    return table(values, lower=["cost"], paper={"a_b": {"truth": 0.7}}, variants=variants)


def test_csv_keeps_every_number(full: StudyTable) -> None:
    rows = list(csv.DictReader(io.StringIO(full.to_csv())))
    assert len(rows) == len(full.rows) == 5
    for read, row in zip(rows, full.rows, strict=True):
        assert (read["model"], read["method"], read["mark"]) == (row.model, row.method, row.mark)
        for name in ("value", "deviation", "low", "high"):
            assert float(read[name]) == getattr(row, name)
        assert {k: float(v) for k, v in _seeds(read).items() if v} == {f"seed_{k}": v for k, v in row.seeds.items()}
        assert (float(read["paper"]) if read["paper"] else None) == row.paper
    assert rows[-1]["variant_net"] == "gru"
    assert rows[0]["variant_net"] == ""


def _seeds(row: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in row.items() if key.startswith("seed_")}


def test_parquet_is_the_same_as_csv_and_has_types(full: StudyTable, tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    full.write_parquet(tmp_path / "t.parquet")
    read = pq.read_table(tmp_path / "t.parquet")
    assert [{k: "" if v is None else str(v) for k, v in row.items()} for row in read.to_pylist()] == list(
        csv.DictReader(io.StringIO(full.to_csv()))
    )
    without = StudyTable(tuple(row for row in full.rows if row.difference is None and row.paper is None))
    without.write_parquet(tmp_path / "u.parquet")
    kinds = {field.name: str(field.type) for field in pq.read_schema(tmp_path / "u.parquet")}
    assert kinds["paper"] == kinds["difference"] == kinds["seed_0"] == "double"
    assert (kinds["n"], kinds["higher_is_better"], kinds["variant_lr"]) == ("int64", "bool", "string")


def test_an_empty_table_can_be_written(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    empty = StudyTable(())
    assert empty.to_csv().strip() == empty.to_latex() == ""
    empty.write_parquet(tmp_path / "t.parquet")
    assert pq.read_table(tmp_path / "t.parquet").num_rows == 0
    assert "nothing was measured" in empty._repr_html_()


def test_to_dict_is_plain_json(full: StudyTable) -> None:
    again = [
        Row(**{**row, **{k: tuple(row[k]) if row[k] else None for k in ("difference", "change")}})
        for row in json.loads(json.dumps(full.to_dict()))
    ]
    assert tuple(again) == full.rows


def test_grids_are_methods_by_metrics_then_models(full: StudyTable) -> None:
    methods, models = grids(full.rows)
    assert (methods.title, methods.names, methods.metrics) == ("m & n on d", ("random", "a_b"), ("truth", "cost"))
    assert (models.title, models.names, models.metrics) == ("models on d", ("m & n", "other"), ("accuracy",))
    best = methods.best("truth")
    assert best is not None
    assert best.method == "a_b"
    assert methods.best("cost") is None  # nothing to compare with
    lower = table(two_seeds(a=0.1, b=0.2), lower=["truth"])
    least = grids(lower.rows)[0].best("truth")
    assert least is not None
    assert least.method == "a"


def test_latex_escapes_marks_and_bolds(full: StudyTable) -> None:
    text = full.to_latex()
    assert r"a\_b & \textbf{0.500} {\scriptsize$\pm$0.000}$^{+}$ & 0.305 {\scriptsize$\pm$0.007} \\" in text
    assert r"random & 0.100 {\scriptsize$\pm$0.000} & -- \\" in text
    assert r"m \& n & \textbf{0.900} \\" in text
    assert text.count(r"\toprule") == text.count(r"\midrule") == text.count(r"\bottomrule") == 2
    odd = table({("m\n\\end{tabular}", "d", "a\\b~^{", "truth", 0): [0.1]}).to_latex()
    assert r"a\textbackslash{}b\textasciitilde{}\textasciicircum{}\{ & 0.100" in odd
    assert [line for line in odd.splitlines() if line.startswith("%")] == [r"% s: m \end{tabular} on d"]


def test_terminals_and_notebooks_show_the_table(full: StudyTable) -> None:
    console = Console(width=120, record=True, file=io.StringIO())
    console.print(full)
    text = console.export_text()
    for part in ("m & n on d", "truth ↑", "cost ↓", "0.500 ±0.000 +", "paper 0.7", "models on d", "0.900"):
        assert part in text
    markup = table({("[red]<b>m", "d", "<script>", "[bold]x", 0): [0.1]})
    console.print(markup)
    assert "[red]<b>m" in console.export_text()
    html = markup._repr_html_()
    assert "<script>" not in html
    assert "&lt;script&gt;" in html
    assert "<i>paper 0.7</i>" in full._repr_html_()
