from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import pytest

from saywhy.studies import Row, StudyTable
from saywhy.studies.parts import Part, part_columns, parts_grids

Bins = dict[str, dict[str, float]]


def row(bins: Bins, *, model: str = "m", method: str = "", metric: str = "attack-success", **facts: Any) -> Row:
    seeds = dict.fromkeys(facts.pop("seeds", ("1", "2")), 0.5)
    known = {"step": "s", "data": "d", "value": 0.5, "deviation": 0.0, "low": 0.4, "high": 0.6, "n": 9}
    given = {"higher_is_better": True, "bins_are": "parts", "seeds": seeds, **known, **facts}
    return Row(model=model, method=method, metric=metric, bins=bins, **given)


QUERIES: Bins = {"queries": {"1": 30.0, "2": 32.0}, "words": {"1": 9.0, "2": 9.0}}
STARTS: Bins = {
    "m (seed 2)": {"1": 0.5, "10": 0.7},
    "m (seed 10)": {"1": 0.6, "2": 0.7},
    "m (seed 1)": {"2": 0.5, "10": 0.6},
}


def test_parts_are_means_over_seeds_with_their_deviation() -> None:
    (grid,) = parts_grids([row(QUERIES), row({"queries": {"1": 20.0}}, model="n", seeds=("1",))])
    assert (grid.step, grid.title, grid.names) == ("s", "attack-success on d", ("queries", "words"))
    assert grid.lines == (
        ("m", (Part("31.000", "1.414"), Part("9.000", "0.000"))),
        ("n", (Part("20.000", ""), None)),
    )


def test_a_part_that_a_seed_lacks_is_the_mean_of_the_others() -> None:
    """A model that was right everywhere has no score of what it got wrong."""
    (grid,) = parts_grids([row({"right": {"1": 80.0, "2": 90.0}, "wrong": {"2": 50.0}}, method="sentence")])
    assert grid.lines == (("m · sentence", (Part("85.000", "7.071"), Part("50.000", ""))),)


def test_models_of_different_seeds_are_a_matrix() -> None:
    (grid,) = parts_grids([row(STARTS, method="lime", seeds=("1", "2", "10"))])
    assert grid.names == ("m (seed 1)", "m (seed 2)", "m (seed 10)")
    values = {title: [part and part.value for part in line] for title, line in grid.lines}
    assert values == {
        "m · lime · seed 1": [None, "0.500", "0.600"],
        "m · lime · seed 2": ["0.500", None, "0.700"],
        "m · lime · seed 10": ["0.600", "0.700", None],
    }


def test_there_is_a_table_for_each_step_dataset_and_metric() -> None:
    rows = [row(QUERIES), row(QUERIES, data="e"), row(QUERIES, step="t"), row(QUERIES, metric="x"), row(QUERIES)]
    found = [(grid.step, grid.data, grid.metric, len(grid.lines)) for grid in parts_grids(rows)]
    assert found == [
        ("s", "d", "attack-success", 2),
        ("s", "e", "attack-success", 1),
        ("t", "d", "attack-success", 1),
        ("s", "d", "x", 1),
    ]


@pytest.mark.parametrize("kind", ["shares", "thresholds", "histogram", ""])
def test_only_parts_are_parts(kind: str) -> None:
    other = row({"0.1": {"1": 0.5}}, bins_are=kind)
    assert parts_grids([other]) == []
    assert part_columns([other]) == [{}]
    assert "part_" not in StudyTable((other,)).to_csv()


def test_a_bin_that_is_called_like_another_metrics_part_is_none() -> None:
    rows = [row({"1": {"1": 0.5}}, metric="model-jaccard"), row({"1": {"1": 0.7}}, metric="aorc", bins_are="shares")]
    assert [columns["part_1"] for columns in part_columns(rows)] == [0.5, None]


def test_csv_has_mean_deviation_and_every_seed_of_a_part_and_no_more_lines() -> None:
    table = StudyTable((row(QUERIES), row({}, metric="accuracy", bins_are="")))
    attack, accuracy = csv.DictReader(io.StringIO(table.to_csv()))
    found = {name: value for name, value in attack.items() if name.startswith("part_queries")}
    assert found == {
        "part_queries": "31.0",
        "part_queries_deviation": str(2**0.5),
        "part_queries_seed_1": "30.0",
        "part_queries_seed_2": "32.0",
    }
    assert {value for name, value in accuracy.items() if name.startswith("part_")} == {""}
    # What a reader of earlier tables looks for is where it was.
    assert (attack["metric"], attack["value"], attack["seed_1"]) == ("attack-success", "0.5", "0.5")
    assert list(attack)[:5] == ["step", "model", "data", "method", "metric"]
    assert not {"bins", "bins_are"} & set(attack)


def test_parquet_has_numbers_whatever_parts_are_called(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    StudyTable((row({"variant_x": {"1": 1.0}}),)).write_parquet(tmp_path / "t.parquet")
    (read,) = pq.read_table(tmp_path / "t.parquet").to_pylist()
    assert read["part_variant_x"] == read["part_variant_x_seed_1"] == 1.0


def test_latex_has_a_table_of_parts_after_the_others() -> None:
    text = StudyTable((row({"a_b": {"1": 1.0, "2": 3.0}}, model="p & q"), row({"c": {"1": 1.0}}))).to_latex()
    before, after = text.split("% s: parts of attack-success on d\n")
    assert before.count(r"\toprule") == after.count(r"\toprule") == 1
    assert r"\begin{tabular}{lrr}" in after
    assert r" & a\_b & c \\" in after
    assert r"p \& q & 2.000 {\scriptsize$\pm$1.414} & -- \\" in after
    assert r"m & -- & 1.000 \\" in after
