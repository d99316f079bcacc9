from __future__ import annotations

import math

from saywhy.reports import arrange, findings
from saywhy.types import MetricResult

from .conftest import result


def test_random_is_the_last_column_and_families_stay_together() -> None:
    methods, rows = arrange(
        [
            result("sufficiency", "random", 0.1, family="f"),
            result("truth", "lime", 0.1, family="p"),
            result("log-odds", "lime", 0.1, family="f"),
        ]
    )
    assert methods == ("lime", "random")
    assert [row.name for row in rows] == ["sufficiency", "log-odds", "truth"]
    assert [cell.result is None for cell in rows[0].cells] == [True, False]


def test_variants_get_rows_of_their_own_and_are_named_by_what_differs() -> None:
    shared = {"aopc": "mean"}
    _, rows = arrange(
        [
            result("sufficiency", "lime", 0.1, variant={**shared, "score": "eraser"}, erasure="delete"),
            result("sufficiency", "lime", 0.2, variant={**shared, "score": "normalised"}, erasure="delete"),
            result("truth", "lime", 0.1, variant=shared, erasure="pad"),
        ]
    )
    assert [row.title for row in rows] == ["sufficiency (score eraser)", "sufficiency (score normalised)", "truth"]


def test_seeds_are_not_overwritten() -> None:
    _, rows = arrange([result("truth", "lime", 0.1, seed=0), result("truth", "lime", 0.2, seed=1)])
    assert [row.detail for row in rows] == ["seed 0", "seed 1"]


def test_best_follows_the_direction() -> None:
    _, (up, down) = arrange(
        [result("a", m, v) for m, v in (("x", 0.1), ("y", 0.5))]
        + [result("b", m, v, higher=False) for m, v in (("x", 0.1), ("y", 0.5))]
    )
    assert [c.best for c in up.cells] == [False, True]
    assert [c.best for c in down.cells] == [True, False]
    assert not any(c.close for c in up.cells + down.cells)


def test_nothing_is_best_alone_and_nan_never_wins() -> None:
    _, (alone,) = arrange([result("a", "x", 0.1)])
    assert not alone.cells[0].best
    _, (row,) = arrange([result("a", "x", math.nan), result("a", "y", 0.1), result("a", "z", 0.0)])
    assert [c.best for c in row.cells] == [False, True, False]


def test_findings_say_who_is_no_better_than_random() -> None:
    _, rows = arrange(
        [
            result("truth", "good", 0.9),
            result("truth", "near", 0.89),
            result("truth", "weak", 0.22),
            result("truth", "random", 0.2),
        ]
    )
    assert findings(rows) == [
        ("truth", "good leads with 0.900, close to near; random gets 0.200. weak is not clearly better than random.")
    ]
    _, rows = arrange([result("sufficiency", m, v, higher=False) for m, v in (("a", 0.3), ("b", 0.4), ("random", 0.1))])
    assert findings(rows) == [("sufficiency", "random itself is best with 0.100: no method beats chance.")]


def test_results_of_the_model_are_not_in_the_table() -> None:
    assert arrange([result("accuracy", "", 0.9)]) == ((), ())


def test_methods_are_compared_with_random_example_by_example() -> None:
    hard = [0.1 * i for i in range(10)]

    def made(method: str, gain: float) -> MetricResult:
        values = tuple(h + gain for h in hard)
        mean = sum(values) / len(values)
        wide = {"n": 10, "values": values, "method": method}
        return MetricResult("truth", mean, mean - 0.2, mean + 0.2, **wide)  # type: ignore[arg-type]

    # The intervals overlap because examples differ, but every example is better by the same amount.
    _, rows = arrange([made("better", 0.05), made("same", 0.0), made("random", 0.0)])
    ((_, said),) = findings(rows)
    assert said.endswith("same is not clearly better than random.")
